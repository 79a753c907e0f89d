// The list of earlier plans, newest first.

import { ask } from "./api.js";
import { byId, make, show } from "./elements.js";
import { count, dateOf, lengthOf } from "./numbers.js";

const PAGE = 6; // plans that are added at a time

/* List the newest plans, with a button for more. */
export async function listEarlier() {
  const plans = await newest("");
  byId("earlier-list").replaceChildren(...plans);
  show(byId("earlier"), plans.length > 0);
  byId("earlier-more").onclick = async () => {
    const last = byId("earlier-list").lastElementChild.dataset.plan;
    byId("earlier-list").append(...(await newest(`&before=${encodeURIComponent(last)}`)));
  };
}

async function newest(before) {
  const plans = await ask(`plans?limit=${PAGE + 1}${before}`);
  show(byId("earlier-more"), plans.length > PAGE);
  return plans.slice(0, PAGE).map(itemOf);
}

function itemOf({ id, name, status, created, customers, cost, unit }) {
  const length = cost === null ? stateOf(status) : lengthOf(cost, unit);
  const link = make(
    "a",
    { href: `#plan=${encodeURIComponent(id)}`, class: "earlier-plan" },
    make("span", { class: "earlier-name", text: name || count(customers, "customer") }),
    make("span", { class: "earlier-length", text: length }),
    make("time", { class: "muted", datetime: created, text: dateOf(created) }),
  );
  return make("li", { "data-plan": id }, link);
}

const stateOf = (status) => ({ done: "no plan", cancelled: "stopped" })[status] ?? status;
