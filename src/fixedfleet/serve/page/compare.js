// One vehicle more or less: plans for M − 1, M + 1 and M + 2 vehicles, and a slider that
// chooses the plan to show. All of them have the time that the user's plan had. A second
// plan for M vehicles, with another seed, shows how much chance changes the cost.

import { ask, drop } from "./api.js";
import { byId, make, show, write } from "./elements.js";
import { servesAll, unitOf } from "./instance.js";
import { count, lengthOf, limitOf } from "./numbers.js";
import { sleep, watch } from "./watch.js";

const AT_ONCE = 10; // seconds; plans that take longer are compared if the user asks
const AROUND = [1, -1, 2]; // the most interesting first
const NOISE = 2; // a difference of so many times that of two seeds is still chance
const BUSY = [429, 503];

export class Comparison {
  #onShow;
  #slider = byId("fleet-slider");
  #plans = new Map(); // by fleet: a finished plan, "waiting", or "impossible"
  #base = null;
  #twin = null; // the plan for the same fleet with another seed, when it is finished
  #stopper = null;

  /* onShow(plan) is called with the plan that the user chooses. */
  constructor(onShow) {
    this.#onShow = onShow;
    this.#slider.addEventListener("input", () => this.#choose(Number(this.#slider.value)));
  }

  clear() {
    this.#stopper?.abort();
    this.#plans.clear();
    this.#base = null;
    this.#twin = null;
    byId("options").replaceChildren();
    show(byId("compare"), false);
  }

  /* Compare a plan that has just been finished, or offer to if that takes long. */
  consider(plan, bodyOf) {
    if (timeOf(plan) <= AT_ONCE) this.begin(plan, bodyOf);
    else this.offer(plan, bodyOf);
  }

  /* Offer the comparison by a button. */
  offer(plan, bodyOf) {
    this.clear();
    if (!isComparable(plan)) return;
    this.#reveal({ started: false });
    write(byId("compare-note"), `4 plans, ${limitOf(timeOf(plan))} each`);
    byId("compare-start").onclick = () => {
      this.begin(plan, bodyOf);
      this.#slider.focus();
    };
  }

  /*
   * Compare a finished plan with others; bodyOf({vehicles, seed, time_limit}) returns what
   * to ask for.
   */
  begin(plan, bodyOf) {
    this.clear();
    if (!isComparable(plan)) return;
    this.#base = plan;
    const fleet = plan.result.vehicles_planned_for;
    const fleets = [-1, 0, 1, 2].map((more) => fleet + more).filter((m) => m >= 1);
    for (const m of fleets) this.#plans.set(m, m === fleet ? plan : "waiting");
    // If M vehicles do not suffice, fewer do not either.
    if (!servesAll(plan.result) && fleet > 1) this.#plans.set(fleet - 1, "impossible");
    Object.assign(this.#slider, { min: fleets[0], max: fleets.at(-1), value: fleet });
    this.#slider.classList.toggle("three", fleets.length === 3);
    write(byId("compare-note"), `${limitOf(timeOf(plan))} each`);
    this.#reveal({ started: true });
    this.#stopper = new AbortController();
    const { seed } = plan.request;
    const body = (vehicles, other) =>
      bodyOf({ vehicles, seed: seed + other, time_limit: timeOf(plan) });
    this.#run(fleet, body, this.#stopper.signal);
    this.#draw();
  }

  #reveal({ started }) {
    show(byId("compare"), true);
    show(byId("compare-start"), !started);
    show(this.#slider, started);
  }

  // One plan after the other, because the server has other clients.
  async #run(fleet, bodyOf, signal) {
    try {
      if (servesAll(this.#base.result)) {
        this.#twin = await this.#plan(bodyOf(fleet, 1), signal);
      }
    } catch (error) {
      if (error.name === "AbortError") return;
      write(byId("compare-note"), `No comparison: ${error.message}.`);
    }
    for (const m of AROUND.map((more) => fleet + more)) {
      if (this.#plans.get(m) !== "waiting") continue;
      try {
        this.#plans.set(m, await this.#plan(bodyOf(m, 0), signal));
      } catch (error) {
        if (error.name === "AbortError") return;
        this.#plans.delete(m);
        write(byId("compare-note"), `No comparison with ${m}: ${error.message}.`);
      }
      this.#draw();
    }
  }

  async #plan(body, signal) {
    const { id } = await patiently(() => ask("plans", { method: "POST", json: body }), signal);
    const cancel = () => drop(id);
    if (signal.aborted) {
      cancel(); // the request was under way, and nobody waits for it any more
      throw signal.reason;
    }
    signal.addEventListener("abort", cancel, { once: true });
    try {
      const last = await watch(id, { onEvent: () => {}, signal });
      if (last.name === "failed") throw new Error(last.data.error);
      return last.data;
    } finally {
      signal.removeEventListener("abort", cancel);
    }
  }

  #choose(fleet) {
    const best = this.#bestWithin(fleet);
    this.#mark(fleet);
    const own = this.#plans.get(fleet);
    if (best) this.#onShow(best);
    else if (own?.result) this.#onShow(own);
  }

  // A plan with fewer vehicles is also valid for more, and may be the shorter one. The
  // user's own plan is the better one unless the difference is more than chance.
  #bestWithin(fleet) {
    const base = this.#base;
    const isOwn = base.result.vehicles_planned_for <= fleet && servesAll(base.result);
    let best = isOwn && this.#settled(fleet) ? base : null;
    for (const [m, plan] of this.#plans) {
      if (m > fleet || !servesAll(plan.result ?? null) || !this.#settled(fleet)) continue;
      if (best === null || this.#difference(plan, best) < 0) best = plan;
    }
    return best;
  }

  #settled(fleet) {
    return typeof this.#plans.get(fleet) === "object";
  }

  // Return by how much a plan costs more than another, 0 if that may be chance.
  #difference(plan, other) {
    const { cost } = this.#base.result;
    const chance = servesAll(this.#twin?.result ?? null)
      ? NOISE * Math.abs(cost - this.#twin.result.cost)
      : 0;
    const difference = plan.result.cost - other.result.cost;
    return Math.abs(difference) <= chance + 5e-7 ? 0 : difference;
  }

  #draw() {
    const options = [...this.#plans.keys()].sort((a, b) => a - b);
    const columns = options.map((fleet) => {
      const { cost, change } = this.#words(fleet);
      // Only for the pointer: the keyboard uses the slider.
      const button = make(
        "button",
        { type: "button", tabindex: -1, class: "option", "data-fleet": fleet },
        make("span", { class: "option-fleet", text: `${fleet}` }),
        make("span", { class: "option-cost", text: cost }),
        make("span", { class: "option-change", text: change }),
      );
      button.addEventListener("click", () => {
        this.#slider.value = fleet;
        this.#choose(fleet);
      });
      return make("li", {}, button);
    });
    byId("options").replaceChildren(...columns);
    this.#mark(Number(this.#slider.value));
  }

  #mark(fleet) {
    for (const button of byId("options").querySelectorAll(".option")) {
      button.classList.toggle("chosen", Number(button.dataset.fleet) === fleet);
    }
    const { cost, change } = this.#words(fleet);
    const text = [cost, change].filter(Boolean).join(", ");
    this.#slider.setAttribute("aria-valuetext", `${count(fleet, "vehicle")}: ${text}`);
  }

  #words(fleet) {
    const plan = this.#plans.get(fleet);
    if (plan === undefined) return { cost: "–", change: "" };
    if (plan === "waiting") return { cost: "…", change: "" };
    const best = plan === "impossible" ? null : this.#bestWithin(fleet);
    if (best === null) return { cost: "not enough", change: "" };
    const { instance, result } = this.#base;
    const cost = lengthOf(best.result.cost, unitOf(instance));
    if (fleet === result.vehicles_planned_for || !servesAll(result)) {
      return { cost, change: "" };
    }
    return { cost, change: changeOf(this.#difference(best, this.#base), unitOf(instance)) };
  }
}

// If one customer needs more than a vehicle, no number of vehicles suffices.
const isComparable = ({ result, verdict }) =>
  result !== null && verdict?.upper_bound !== null;

// Return the seconds that a plan was searched for; one that was stopped had fewer.
function timeOf({ status, seconds, request }) {
  const limit = request.time_limit;
  return status === "cancelled" ? Math.min(limit, Math.max(0.1, seconds)) : limit;
}

function changeOf(difference, unit) {
  if (difference === 0) return "no change";
  const sign = difference < 0 ? "−" : "+";
  return `${sign}${lengthOf(Math.abs(difference), unit, 3)}`;
}

// Send a request again when the server is full, at the time that it says.
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
