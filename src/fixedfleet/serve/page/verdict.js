// The verdict: whether the fleet suffices, why, and the smallest fleet that does.

import { byId, make, show } from "./elements.js";
import { amount, count, sentence } from "./numbers.js";

const vehicles = (number) => count(number, "vehicle");

// The server writes amounts as 20617.7; the page writes all numbers alike.
const AMOUNTS = /\b(\d+(?:\.\d+)?)( of |, but the fleet carries )(\d+(?:\.\d+)?)\b/g;
const localised = (text) =>
  text.replace(AMOUNTS, (_, load, between, room) => {
    return amount(Number(load)) + between + amount(Number(room));
  });

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
  const parts = [make("p", {}, title, ` ${sentence(localised(verdict.reason))}${bound(verdict, fleet)}`)];
  const offered = verdict.status === "feasible" ? null : offer(verdict, fleet);
  if (offered !== null) {
    const text = `Plan with ${vehicles(offered)}`;
    const button = make("button", { type: "button", class: "accept", text });
    button.addEventListener("click", () => onFleet(offered));
    parts.push(button);
  }
  element.replaceChildren(...parts);
}

function headline({ status, upper_bound: upper }, fleet) {
  if (status === "feasible") return `${sentence(`${vehicles(fleet)} ${does(fleet)}`)}`;
  if (status === "undecided") return `Not known whether ${vehicles(fleet)} ${does(fleet)}.`;
  if (upper === null) return "No number of vehicles suffices.";
  return `${vehicles(fleet)} ${fleet === 1 ? "is" : "are"} not enough.`;
}

const does = (number) => (number === 1 ? "suffices" : "suffice");

function bound({ status, smallest, upper_bound: upper }, fleet) {
  if (status === "feasible") {
    if (smallest === null) return "";
    return smallest === fleet && fleet > 1 ? " Fewer are not enough." : "";
  }
  if (smallest !== null) return ` The smallest fleet that suffices: ${smallest}.`;
  return upper === null ? "" : ` ${sentence(`${vehicles(upper)} certainly ${does(upper)}`)}`;
}

/* Return the smallest fleet that is known to suffice, if it is larger than this one. */
export function offer({ smallest, upper_bound: upper }, fleet) {
  const enough = smallest ?? upper;
  return enough === null || enough <= fleet ? null : enough;
}
