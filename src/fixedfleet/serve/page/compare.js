// Compares a plan for M vehicles with plans for M − 1, M + 1 and M + 2 vehicles. Buttons choose
// the plan to show. Each search has as much time as the user's plan had. A second plan for M
// vehicles, with another seed, shows how much of a difference is chance. It is not needed if
// the user's plan is proven to be optimal.

import { ask, drop } from "./api.js";
import { byId, make, show, write } from "./elements.js";
import { servesAll, unitOf } from "./instance.js";
import { t } from "./language.js";
import { count, lengthOf, limitOf } from "./numbers.js";
import { sleep, watch } from "./watch.js";

const AT_ONCE = 10; // seconds; plans that take longer are compared only if the user asks
const AROUND = [1, -1, 2]; // vehicles more than M, the most interesting number first
const NOISE = 2; // a difference counts as chance up to this multiple of that of two seeds
const BUSY = [429, 503];

export class Comparison {
  #onShow;
  #plans = new Map(); // by number of vehicles: a finished plan, "waiting" or "impossible"
  #base = null; // the user's plan
  #twin = null; // the finished plan for the same fleet with another seed
  #stopper = null;

  /* onShow(plan) is called with the plan that the user chooses. */
  constructor(onShow) {
    this.#onShow = onShow;
    byId("options").addEventListener("change", (event) => {
      this.#choose(Number(event.target.value));
    });
  }

  clear() {
    this.#stopper?.abort();
    this.#plans.clear();
    this.#twin = null;
    byId("options").replaceChildren();
    show(byId("compare"), false);
  }

  /* Compare a new plan at once if that is quick. Otherwise, offer a button for it. */
  consider(plan, { isNew }) {
    if (isNew && timeOf(plan) <= AT_ONCE) {
      this.begin(plan);
      return;
    }
    this.clear();
    this.#reveal(plan, t`4 plans, ${limitOf(timeOf(plan))} each`, { started: false });
    byId("compare-start").onclick = () => {
      this.begin(plan);
      byId("options").querySelector(":checked").focus();
    };
  }

  /* Compare a finished plan with others. */
  begin(plan) {
    this.clear();
    if (!this.#reveal(plan, t`${limitOf(timeOf(plan))} each`, { started: true })) return;
    this.#base = plan;
    const fleet = plan.result.vehicles_planned_for;
    const fleets = [-1, 0, 1, 2].map((more) => fleet + more).filter((m) => m >= 1);
    for (const m of fleets) this.#plans.set(m, m === fleet ? plan : "waiting");
    // If M vehicles do not suffice, fewer do not either.
    if (!servesAll(plan.result) && fleet > 1) this.#plans.set(fleet - 1, "impossible");
    byId("options").replaceChildren(...fleets.map((m) => optionOf(m, m === fleet)));
    this.#draw();
    this.#stopper = new AbortController();
    this.#run(plan, fleet, this.#stopper.signal);
  }

  // Return whether a plan can be compared, and show the section of the page if it can. It
  // cannot if one customer needs more than a vehicle carries, because then no number of
  // vehicles suffices, nor if there are vehicle types.
  #reveal({ instance, result, verdict }, note, { started }) {
    const alike = !instance.vehicle_types;
    const comparable = result !== null && verdict?.upper_bound !== null && alike;
    write(byId("compare-note"), note);
    show(byId("compare"), comparable);
    show(byId("compare-start"), !started);
    return comparable;
  }

  // Request one plan after the other, because the server has other clients.
  async #run(plan, fleet, signal) {
    const { vehicle_cost, capacity, vehicle_names, seed } = plan.request;
    const { locked, taken_out, prove } = plan.request;
    const values = { vehicle_cost, capacity, vehicle_names, locked, taken_out, prove };
    const wishes = { ...values, plan: plan.id, time_limit: timeOf(plan) };
    Object.assign(wishes, { listed: false, wait: 0 });
    try {
      if (servesAll(plan.result) && !plan.result.is_optimal) {
        this.#twin = await makePlan({ ...wishes, vehicles: fleet, seed: seed + 1 }, signal);
      }
    } catch (error) {
      if (error.name === "AbortError") return;
      write(byId("compare-note"), t`No comparison: ${error.message}.`);
    }
    for (const m of AROUND.map((more) => fleet + more)) {
      if (this.#plans.get(m) !== "waiting") continue;
      try {
        this.#plans.set(m, await makePlan({ ...wishes, vehicles: m, seed }, signal));
      } catch (error) {
        if (error.name === "AbortError") return;
        this.#plans.delete(m);
        write(byId("compare-note"), t`No comparison with ${m}: ${error.message}.`);
      }
      this.#draw();
    }
  }

  #choose(fleet) {
    const own = this.#plans.get(fleet);
    const plan = this.#bestWithin(fleet) ?? (own?.result ? own : null);
    if (plan) this.#onShow(plan);
  }

  // Return the best plan with at most this many vehicles. A plan with fewer vehicles is also
  // valid for a larger fleet, and may be shorter. The user's own plan is preferred if the
  // difference may be chance.
  #bestWithin(fleet) {
    if (!this.#plans.get(fleet)?.result) return null;
    const plans = [this.#base, ...this.#plans.values()].filter(
      ({ result }) =>
        result && servesAll(result) && result.vehicles_planned_for <= fleet,
    );
    const better = (best, plan) => (this.#difference(plan, best) < 0 ? plan : best);
    return plans.length ? plans.reduce(better) : null;
  }

  // Return how much more a plan costs than another one; 0 if the difference may be chance.
  #difference(plan, other) {
    const { cost } = this.#base.result;
    const chance = servesAll(this.#twin?.result ?? null)
      ? NOISE * Math.abs(cost - this.#twin.result.cost)
      : 0;
    const difference = plan.result.cost - other.result.cost;
    return Math.abs(difference) <= chance + 5e-7 ? 0 : difference;
  }

  #draw() {
    for (const option of byId("options").children) {
      const button = option.querySelector("input");
      const [cost, change] = this.#words(Number(button.value));
      write(option.querySelector(".option-cost"), cost);
      write(option.querySelector(".option-change"), change);
      const text = [cost, change].filter(Boolean).join(", ");
      button.ariaLabel = `${count(Number(button.value), "vehicle")}: ${text}`;
    }
  }

  // Return the cost with a fleet, and how it differs from the user's plan.
  #words(fleet) {
    const plan = this.#plans.get(fleet);
    if (plan === undefined) return ["–", ""];
    if (plan === "waiting") return ["…", ""];
    const best = this.#bestWithin(fleet);
    if (best === null) return [t`not enough`, ""];
    const { instance, result } = this.#base;
    const cost = lengthOf(best.result.cost, unitOf(instance));
    if (fleet === result.vehicles_planned_for || !servesAll(result)) return [cost, ""];
    return [cost, changeOf(this.#difference(best, this.#base), unitOf(instance))];
  }
}

function optionOf(fleet, checked) {
  return make(
    "label",
    { class: "option" },
    make("input", { type: "radio", name: "fleet", value: fleet, class: "unseen", checked }),
    make("span", { class: "option-fleet", text: `${fleet}` }),
    make("span", { class: "option-cost" }),
    make("span", { class: "option-change" }),
  );
}

// Request a plan and return it when it is finished. If the signal aborts the wait, cancel it.
async function makePlan(json, signal) {
  const { id } = await patiently(() => ask("plans", { method: "POST", json }), signal);
  try {
    const last = await watch(id, { onEvent: () => {}, signal });
    if (last.name === "failed") throw new Error(last.data.error);
    return last.data;
  } catch (error) {
    if (error.name === "AbortError") drop(id);
    throw error;
  }
}

// Return the time limit of a plan; if it was stopped, the seconds that its search had.
function timeOf({ status, seconds, request }) {
  const limit = request.time_limit;
  return status === "cancelled" ? Math.min(limit, Math.max(0.1, seconds)) : limit;
}

function changeOf(difference, unit) {
  if (difference === 0) return t`no change`;
  const sign = difference < 0 ? "−" : "+";
  return `${sign}${lengthOf(Math.abs(difference), unit, 3)}`;
}

// Send a request; if the server is full, send it again after the time that the server states.
async function patiently(send, signal) {
  for (;;) {
    try {
      return await send();
    } catch (error) {
      if (!BUSY.includes(error.status)) throw error;
      await sleep(error.retryAfter ?? 2, signal);
    }
  }
}
