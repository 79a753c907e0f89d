// The verdict: whether the fleet suffices, why, and the smallest fleet that does.

import { byId, make, show } from "./elements.js";
import { t } from "./language.js";
import { count, sentence } from "./numbers.js";
import { fromServer } from "./sentences.js";

const vehicles = (number) => count(number, "vehicle");

/*
 * Show a verdict, or nothing if it is null. onFleet(vehicles) is called when the user
 * accepts the fleet that is offered.
 */
export function showVerdict(verdict, onFleet) {
  const element = byId("form-verdict");
  show(element, verdict !== null);
  if (verdict === null) return;
  const { vehicles: fleet } = verdict;
  element.className = `verdict ${verdict.status}`;
  const title = make("strong", { text: headline(verdict, fleet) });
  const why = sentence(fromServer(verdict.reason));
  // If vehicles differ, their number says little. The server then says what would suffice.
  const advice = verdict.advice ? ` ${sentence(fromServer(verdict.advice))}` : bound(verdict, fleet);
  const parts = [make("p", {}, title, ` ${why}${advice}`)];
  const isEnough = verdict.status === "feasible" || Boolean(verdict.advice);
  const offered = isEnough ? null : offer(verdict, fleet);
  if (offered !== null) {
    const text = t`Plan with ${vehicles(offered)}`;
    const button = make("button", { type: "button", class: "accept", text });
    button.addEventListener("click", () => onFleet(offered));
    parts.push(button);
  }
  element.replaceChildren(...parts);
}

function headline({ status, upper_bound: upper, advice }, fleet) {
  if (status === "feasible") return suffices(fleet);
  if (status === "undecided") return t`Not known whether ${vehicles(fleet)} can carry this.`;
  if (upper === null && !advice) return t`No number of vehicles suffices.`;
  return fleet === 1 ? t`1 vehicle is not enough.` : t`${vehicles(fleet)} are not enough.`;
}

const suffices = (fleet) =>
  fleet === 1 ? t`1 vehicle suffices.` : t`${vehicles(fleet)} suffice.`;

function bound({ status, smallest, upper_bound: upper }, fleet) {
  if (status === "feasible") {
    if (smallest === null) return "";
    return smallest === fleet && fleet > 1 ? ` ${t`Fewer are not enough.`}` : "";
  }
  if (smallest !== null) return ` ${t`The smallest fleet that suffices: ${smallest}.`}`;
  return upper === null ? "" : ` ${t`${vehicles(upper)} are certainly enough.`}`;
}

/* Return the smallest fleet that is known to suffice, if it is larger than this one. */
export function offer({ smallest, upper_bound: upper }, fleet) {
  const enough = smallest ?? upper;
  return enough === null || enough <= fleet ? null : enough;
}
