// The plan in a few figures: its cost, its fleet, and the state of the search.

import { drawChart } from "./chart.js";
import { byId, show, write } from "./elements.js";
import { servesAll, toursOf } from "./instance.js";
import { age, count, figures, lengthOf, limitOf, percent } from "./numbers.js";

const GOOD = 1.1; // a plan that is at most so many times as long as the best is a good one

/* Return the improvements from the first good plan on: the first plans are no plans yet. */
export function goodPart(trace) {
  const best = trace.at(-1)?.[1];
  const first = trace.findIndex(([, cost]) => cost <= GOOD * best);
  return first === -1 ? trace : trace.slice(first);
}

export class Summary {
  #trace = [];
  #unit = "";
  #limit = 0;
  #start = null; // when the search began, on this machine's clock; null if none runs
  #timer = null;
  #lost = false; // whether the connection to the server is broken

  begin(unit, limit) {
    this.#trace = [];
    this.#unit = unit;
    this.#limit = limit;
    say({ cost: "–", "cost-unit": unit, "cost-of": "", gain: "", edited: "" });
    show(byId("chart"), true);
    this.#lost = false;
    this.status("Sent to the server");
    this.#draw(0);
  }

  status(text) {
    write(byId("status"), text);
  }

  /* Say that the connection is lost, until something is heard again. */
  lose() {
    this.#lost = true;
    this.status("The connection to the server is lost: trying again");
  }

  regain() {
    if (!this.#lost) return;
    this.#lost = false;
    this.status("Connected again");
  }

  /* Note that the search began so many seconds ago. */
  runsSince(since) {
    const start = performance.now() - 1000 * since;
    this.#start = this.#start === null ? start : Math.min(start, this.#start);
    this.#timer ??= setInterval(() => this.#tick(), 100);
    this.#tick();
  }

  improve(since, cost, used, fleet) {
    const last = this.#trace.at(-1);
    if (cost !== null && (!last || cost < last[1])) this.#trace.push([since, cost]);
    this.runsSince(since);
    this.#figures(cost, used, fleet);
  }

  finish(plan) {
    this.#stop();
    const { result } = plan;
    const tours = toursOf(result);
    this.#limit = plan.request.time_limit;
    this.#trace = result?.trace ?? [];
    this.#lost = false;
    this.status(ending(plan));
    write(byId("edited"), "");
    if (!tours.length) {
      say({ cost: "No plan", "cost-unit": "", "cost-of": "", gain: "" });
      show(byId("chart"), false);
      return;
    }
    const served = tours.reduce((sum, tour) => sum + tour.length, 0);
    this.#figures(result.cost ?? served, tours.length, result.vehicles_planned_for);
    if (!servesAll(result)) write(byId("gain"), "for the customers served");
    else if (result.objective === "cost-v") this.#split(result);
    show(byId("chart"), goodPart(this.#trace).length > 1);
    this.#draw(plan.seconds ?? this.#trace.at(-1)?.[0] ?? 0);
  }

  /* Show the cost of the tours that the user has changed, beside the plan's. */
  edit({ edited, result }) {
    this.#figures(edited.cost, edited.vehicles_used, result.vehicles_planned_for);
    const more = edited.cost - (result.cost ?? edited.cost);
    const text = lengthOf(Math.abs(more), this.#unit, 3);
    const change = more > 0 ? `${text} more than the plan found` : `${text} less`;
    const same = Math.abs(more) < 5e-7;
    write(byId("edited"), same ? "Changed by you" : `Changed by you: ${change}`);
  }

  fail() {
    this.#stop();
    this.status("Failed");
  }

  #split({ length, vehicle_cost: each, vehicles_used: used }) {
    const fleet = `${used} × ${figures(each, 4)} for vehicles`;
    write(byId("gain"), `${lengthOf(length, this.#unit)} of way and ${fleet}`);
  }

  #figures(cost, used, fleet) {
    const first = goodPart(this.#trace)[0]?.[1];
    const gain = first > 0 && cost !== null ? 1 - cost / first : 0;
    say({
      cost: cost === null ? "–" : figures(cost, 5),
      "cost-unit": cost === null ? "" : this.#unit,
      "cost-of": `${used} of ${count(fleet, "vehicle")}`,
      gain: gain > 0.0005 ? `${percent(gain)} below the first good plan` : "",
    });
  }

  #tick() {
    const shown = Math.min((performance.now() - this.#start) / 1000, this.#limit);
    if (this.#lost) return; // the page does not know whether the search goes on
    this.status(`Planning: ${age(shown)} of ${limitOf(this.#limit)}`);
    this.#draw(shown);
  }

  #draw(now) {
    drawChart(goodPart(this.#trace), { now, limit: this.#limit, unit: this.#unit });
  }

  #stop() {
    clearInterval(this.#timer);
    this.#timer = null;
    this.#start = null;
  }
}

// Write texts into the elements with these ids.
function say(texts) {
  for (const [id, text] of Object.entries(texts)) write(byId(id), text);
}

function ending({ status, seconds, result }) {
  const after = seconds ? ` after ${age(seconds)}` : "";
  if (status === "cancelled") {
    return `Stopped${after}: ${result ? "the best plan so far" : "before there was a plan"}`;
  }
  return status === "failed" ? `Failed${after}` : `Finished${after}`;
}
