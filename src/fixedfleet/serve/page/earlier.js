// The list of earlier plans, newest first. Each can be renamed and deleted.

import { ask, planPath } from "./api.js";
import { byId, make, show, warn } from "./elements.js";
import { t } from "./language.js";
import { count, dateOf, lengthOf } from "./numbers.js";

const PAGE = 6; // the number of plans that are listed at a time
const STATES = {
  queued: t`waiting`,
  running: t`planning`,
  done: t`no plan`,
  cancelled: t`stopped`,
  failed: t`failed`,
};

let report; // see listen

/* Call onRenamed(id, name) and onDeleted(id) when the user has changed a plan of the list. */
export function listen({ onRenamed, onDeleted }) {
  report = { onRenamed, onDeleted };
  byId("earlier-list").addEventListener("click", ({ target }) => {
    const button = target.closest("[data-menu]");
    if (button) openMenu(button.closest("li").dataset.plan, button.dataset.menu);
  });
}

/* List the newest plans, with a button for more. */
export async function listEarlier() {
  const plans = await newest("");
  byId("earlier-list").replaceChildren(...plans);
  show(byId("earlier"), plans.length > 0);
  byId("earlier-more").onclick = async () => {
    const last = byId("earlier-list").lastElementChild.dataset.plan;
    warn("earlier-error", "");
    try {
      byId("earlier-list").append(...(await newest(`&before=${encodeURIComponent(last)}`)));
    } catch (error) {
      warn("earlier-error", error.message);
    }
  };
}

async function newest(before) {
  const plans = await ask(`plans?limit=${PAGE + 1}${before}`);
  show(byId("earlier-more"), plans.length > PAGE);
  return plans.slice(0, PAGE).map(itemOf);
}

function itemOf({ id, name, created, customers, vehicles, ...plan }) {
  const shown = name || count(customers, "customer");
  const about = `${dateOf(created)} · ${count(vehicles, "vehicle")}`;
  const link = make(
    "a",
    { href: `#plan=${encodeURIComponent(id)}`, class: "earlier-plan" },
    make("span", { class: "earlier-name", text: shown }),
    make("span", { class: "earlier-length", text: outcomeOf(plan) }),
    make("time", { class: "muted", datetime: created, text: about }),
  );
  const label = { "aria-label": t`Rename or delete ${shown}`, title: t`Rename or delete` };
  const menu = { type: "button", class: "quiet plan-more", "data-menu": name, text: "⋮", ...label };
  return make("li", { "data-plan": id }, link, make("button", menu));
}

function outcomeOf({ status, cost, unit, unserved }) {
  if (unserved) return t`${unserved} left out`;
  if (cost !== null) return lengthOf(cost, unit);
  return STATES[status] ?? status;
}

function openMenu(id, name) {
  const dialog = byId("plan-menu");
  byId("plan-name").value = name;
  warn("plan-menu-error", "");
  const act = async (request, tell) => {
    try {
      await request();
      dialog.close();
      tell();
      await listEarlier();
    } catch (error) {
      warn("plan-menu-error", error.message);
    }
  };
  byId("plan-rename").onclick = () => {
    const json = { name: byId("plan-name").value.trim() };
    act(
      () => ask(planPath(id), { method: "PATCH", json }),
      () => report.onRenamed(id, json.name),
    );
  };
  byId("plan-delete").onclick = () =>
    act(
      () => ask(`${planPath(id)}?forget=true`, { method: "DELETE" }),
      () => report.onDeleted(id),
    );
  dialog.showModal();
}
