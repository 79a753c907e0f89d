// The list of earlier plans, newest first.

import { ask } from "./api.js";
import { byId, make, show, write } from "./elements.js";
import { count, dateOf, lengthOf } from "./numbers.js";

const PAGE = 6; // plans that are added at a time

/* List the newest plans, with a button for more. */
export async function listEarlier() {
  byId("earlier-list").replaceChildren();
  byId("earlier-more").onclick = () => add();
  await add();
}

async function add() {
  const list = byId("earlier-list");
  const last = list.lastElementChild?.dataset.plan;
  const before = last ? `&before=${encodeURIComponent(last)}` : "";
  const plans = await ask(`plans?limit=${PAGE + 1}${before}`);
  list.append(...plans.slice(0, PAGE).map(itemOf));
  show(byId("earlier-more"), plans.length > PAGE);
  show(byId("earlier"), list.children.length > 0);
}

/* Show the cost of a plan in the list after the user has changed the plan. */
export function renewCost(id, cost, unit) {
  const items = [...byId("earlier-list").children];
  const item = items.find((one) => one.dataset.plan === id);
  if (item) write(item.querySelector(".earlier-length"), lengthOf(cost, unit));
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
