// The plan in a few figures: its cost, its fleet, and the state of the search.

import { CostChart } from "./chart.js";
import { byId, show, write } from "./elements.js";
import { servesAll, toursOf } from "./instance.js";
import { count, figures, lengthOf, percent, age, limitOf } from "./numbers.js";

export class Summary {
  #chart = new CostChart(byId("chart"));
  #trace = [];
  #unit = "";
  #limit = 0;
  #start = null; // when the search began, on this machine's clock; null if none runs
  #timer = null;

  begin(unit, limit) {
    this.#trace = [];
    this.#unit = unit;
    this.#limit = limit;
    write(byId("cost"), "–");
    write(byId("cost-unit"), unit);
    write(byId("cost-of"), "");
    write(byId("gain"), "");
    show(byId("chart"), true);
    this.status("Sent to the server");
    this.#draw(0);
  }

  status(text) {
    write(byId("status"), text);
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
    this.status(ending(plan));
    if (!tours.length) {
      this.#nothing();
      return;
    }
    const served = tours.reduce((sum, tour) => sum + tour.length, 0);
    this.#figures(result.cost ?? served, tours.length, result.vehicles_planned_for);
    if (!servesAll(result)) write(byId("gain"), "for the customers served");
    else if (result.objective === "cost-v") this.#split(result);
    show(byId("chart"), this.#trace.length > 0);
    this.#draw(plan.seconds ?? this.#trace.at(-1)?.[0] ?? 0);
  }

  fail() {
    this.#stop();
    this.status("Failed");
  }

  #nothing() {
    for (const id of ["cost", "cost-unit", "cost-of", "gain"]) write(byId(id), "");
    write(byId("cost"), "No plan");
    show(byId("chart"), false);
  }

  #split({ length, vehicle_cost: each, vehicles_used: used }) {
    const fleet = `${used} × ${figures(each, 4)} for vehicles`;
    write(byId("gain"), `${lengthOf(length, this.#unit)} of way and ${fleet}`);
  }

  #figures(cost, used, fleet) {
    write(byId("cost"), cost === null ? "–" : figures(cost, 5));
    write(byId("cost-unit"), cost === null ? "" : this.#unit);
    write(byId("cost-of"), `${used} of ${count(fleet, "vehicle")}`);
    const first = this.#trace[0]?.[1];
    const gain = first > 0 && cost !== null ? 1 - cost / first : 0;
    write(byId("gain"), gain > 0.0005 ? `${percent(gain)} below the first plan` : "");
  }

  #tick() {
    const shown = Math.min((performance.now() - this.#start) / 1000, this.#limit);
    this.status(`Planning: ${age(shown)} of ${limitOf(this.#limit)}`);
    this.#draw(shown);
  }

  #draw(now) {
    this.#chart.draw(this.#trace, { now, limit: this.#limit, unit: this.#unit });
  }

  #stop() {
    clearInterval(this.#timer);
    this.#timer = null;
    this.#start = null;
  }
}

function ending({ status, seconds, result }) {
  const after = seconds ? ` after ${age(seconds)}` : "";
  if (status === "cancelled") {
    return `Stopped${after}: ${result ? "the best plan so far" : "before there was a plan"}`;
  }
  return status === "failed" ? `Failed${after}` : `Finished${after}`;
}
