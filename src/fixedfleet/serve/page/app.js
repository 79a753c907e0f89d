// The page from start to end: customers in, a plan asked for, followed and shown.

import { planInAddress, putPlan, takeToken } from "./address.js";
import { ServerError, ask } from "./api.js";
import { Comparison } from "./compare.js";
import { downloadFile, downloadPicture } from "./downloads.js";
import { byId, show, write } from "./elements.js";
import { FleetForm } from "./fleet.js";
import { recall, remember } from "./memory.js";
import { count, lengthOf, sentence } from "./numbers.js";
import { clearSheets, makeSheets } from "./sheets.js";
import { Source } from "./source.js";
import { showVerdict } from "./verdict.js";
import { PlanView } from "./view.js";
import { watch } from "./watch.js";

const TYPING = 350; // milliseconds without a key before the fleet is weighed again
const TELLING = 4000; // between two improvements told to a screen reader

class Page {
  #source = new Source((source) => this.#load(source));
  #form = new FleetForm({ onPlan: () => this.#plan(), onChange: () => this.#weighSoon() });
  #view = new PlanView((vehicles) => this.#planWith(vehicles));
  #comparison = new Comparison((plan) => this.#view.finish(plan));
  #given = null; // {text, format, title}: what the customers were read from
  #running = null; // {id, stopper} of the plan that is being followed
  #typing = null;
  #weighing = null;
  #told = 0;
  #turn = 0; // counts what the reader asked for: answers to what came before are late

  async start() {
    takeToken();
    this.#follow();
    const id = planInAddress();
    const listed = this.#source.listExamples();
    try {
      if (id) await this.#reopen(id);
      await listed;
    } catch (error) {
      this.#source.fail(error.message);
      if (error.status === 404) putPlan(null);
    }
    document.documentElement.classList.add("ready");
  }

  #follow() {
    byId("cancel").addEventListener("click", () => this.#cancel());
    byId("print").addEventListener("click", () => window.print());
    byId("picture").addEventListener("click", () => this.#try(() => this.#savePicture()));
    for (const button of document.querySelectorAll("[data-download]")) {
      const format = button.dataset.download;
      button.addEventListener("click", () =>
        this.#try(() => downloadFile(this.#view.plan.id, format, this.#title())),
      );
    }
    window.addEventListener("beforeprint", () => this.#makeSheets());
    window.addEventListener("afterprint", () => {
      document.body.classList.remove("has-sheets");
      clearSheets();
    });
    window.addEventListener("hashchange", () => location.reload());
  }

  // Customers

  async #load(given) {
    const turn = (this.#turn += 1);
    const { text, format, vehicles, capacity } = given;
    let instance;
    try {
      instance = await ask("instances", {
        method: "POST",
        json: { text, format, vehicles, capacity },
      });
    } catch (error) {
      if (turn === this.#turn) this.#source.fail(error.message);
      return;
    }
    if (turn !== this.#turn) return;
    this.#stopWeighing();
    this.#stop();
    putPlan(null);
    this.#take(given, instance);
    this.#form.fill({ vehicles: instance.vehicles, capacity: instance.capacity });
    this.#showVerdict(instance.verdict);
    this.#form.weigh(instance);
    this.#say(`${count(instance.customers, "customer")} read`);
    const empty = ["vehicles", "capacity"].find((name) => instance[name] === null);
    byId(empty ?? "plan").focus({ preventScroll: true });
    byId("map").scrollIntoView({ block: "nearest" });
  }

  #take(given, instance) {
    this.#given = given;
    this.#source.describe(instance, given?.title);
    this.#form.clearErrors();
    this.#form.enable(given !== null);
    this.#comparison.clear();
    this.#view.showInstance(instance, { offers: given !== null });
  }

  #weighSoon() {
    this.#stopWeighing();
    this.#form.weigh(this.#view.instance);
    byId("form-verdict").classList.add("outdated");
    this.#typing = setTimeout(() => this.#weigh(), TYPING);
  }

  #stopWeighing() {
    clearTimeout(this.#typing);
    this.#weighing?.abort();
  }

  // Ask whether the fleet as typed suffices.
  async #weigh() {
    this.#weighing = new AbortController();
    const { text, format } = this.#given;
    const { vehicles, capacity } = this.#form.values();
    if (!vehicles || !capacity) {
      this.#showVerdict(null);
      return;
    }
    try {
      const json = { text, format, vehicles, capacity };
      const { signal } = this.#weighing;
      const instance = await ask("instances", { method: "POST", json, signal });
      this.#showVerdict(instance.verdict);
    } catch (error) {
      if (error.name === "AbortError") return;
      this.#showVerdict(null);
      this.#form.fail(error, { focus: false });
    }
  }

  #showVerdict(verdict) {
    // Customers that were not read in this tab cannot be sent again for another fleet.
    const onFleet = this.#given ? (vehicles) => this.#planWith(vehicles) : null;
    showVerdict(byId("form-verdict"), verdict, verdict?.vehicles, onFleet);
  }

  // Plans

  #planWith(vehicles) {
    this.#form.fill({ vehicles });
    this.#form.weigh(this.#view.instance);
    this.#showVerdict(null);
    this.#plan();
  }

  #bodyFor(values) {
    const { text, format } = this.#given;
    return { text, format, ...values, wait: 0 };
  }

  async #plan() {
    this.#form.clearErrors();
    if (!this.#form.isReadable()) return;
    this.#stopWeighing();
    this.#stop();
    this.#comparison.clear();
    const turn = (this.#turn += 1);
    byId("plan").disabled = true;
    try {
      const json = this.#bodyFor(this.#form.values());
      const plan = await ask("plans", { method: "POST", json });
      if (turn !== this.#turn) {
        drop(plan.id);
        return;
      }
      putPlan(plan.id);
      remember(plan.id, this.#given);
      this.#view.begin(plan);
      this.#say("Planning has begun");
      // On a phone the figures lie below the map: bring both into sight.
      if (byId("summary").getBoundingClientRect().top > window.innerHeight) {
        byId("map").scrollIntoView({ block: "start" });
      }
      this.#watch(plan.id, { compare: true });
    } catch (error) {
      this.#form.fail(error);
    } finally {
      byId("plan").disabled = false;
    }
  }

  async #watch(id, { compare }) {
    const stopper = new AbortController();
    this.#setRunning({ id, stopper });
    try {
      const last = await watch(id, {
        onEvent: (name, data) => this.#hear(name, data),
        onBroken: () => this.#view.status.status("The connection broke: trying again"),
        signal: stopper.signal,
      });
      this.#setRunning(null);
      if (last.name === "done") this.#finish(last.data, compare);
    } catch (error) {
      if (error.name === "AbortError") return;
      this.#setRunning(null);
      this.#view.fail(error.message);
    }
  }

  // "Stop" takes the place of "Plan" while there is something to stop.
  #setRunning(running) {
    this.#running = running;
    const [on, off] = running ? ["cancel", "plan"] : ["plan", "cancel"];
    const focused = document.activeElement === byId(off);
    show(byId(on), true);
    show(byId(off), false);
    if (focused) byId(on).focus();
  }

  #hear(name, data) {
    const view = this.#view;
    if (name === "queued") {
      view.status.status(
        data.position ? `Waiting: ${count(data.position, "plan")} before yours` : "Waiting",
      );
    } else if (name === "verdict") {
      this.#showVerdict(data);
    } else if (name === "improved") {
      view.improve(data);
      if (performance.now() - this.#told > TELLING) {
        this.#told = performance.now();
        this.#say(`Best cost ${lengthOf(data.cost, view.instance.unit)}`);
      }
    } else if (name === "failed") {
      view.fail(data.error);
      this.#say("The plan failed");
    }
  }

  #finish(plan, compare) {
    this.#view.finish(plan);
    if (plan.verdict) this.#showVerdict(plan.verdict);
    this.#say(this.#outcome(plan));
    if (!this.#given) return;
    const { objective, vehicle_cost, capacity, seed } = plan.request;
    const values = { objective, vehicle_cost, capacity, seed };
    const bodyOf = (vehicles) => this.#bodyFor({ ...values, vehicles });
    if (compare) this.#comparison.begin(plan, bodyOf);
    else this.#comparison.offer(plan, bodyOf);
  }

  #outcome({ result }) {
    if (result === null) return "No plan";
    const tours = count(result.tours.length, "tour");
    const { unit } = this.#view.instance;
    if (result.feasible) return `Finished: ${tours}, ${lengthOf(result.cost, unit)}`;
    const unserved = count(result.unserved.length, "customer");
    return `The fleet is too small: ${tours}, ${unserved} left out`;
  }

  async #cancel() {
    if (!this.#running) return;
    try {
      // The stream tells the rest: it ends with the best plan so far.
      await ask(pathOf(this.#running.id), { method: "DELETE" });
    } catch (error) {
      // 409: it finished by itself a moment before.
      if (!(error instanceof ServerError && error.status === 409)) {
        this.#form.fail(error);
      }
    }
  }

  // Leave the plan in the making for another.
  #stop() {
    if (!this.#running) return;
    const { id, stopper } = this.#running;
    stopper.abort();
    this.#setRunning(null);
    drop(id);
  }

  async #reopen(id) {
    const plan = await ask(pathOf(id));
    this.#take(recall(plan), plan.instance);
    this.#form.fill(plan.request);
    this.#form.weigh(plan.instance);
    this.#showVerdict(plan.verdict);
    this.#view.begin(plan);
    if (plan.status === "queued" || plan.status === "running") {
      this.#watch(id, { compare: true });
    } else {
      this.#finish(plan, false);
      if (plan.error) this.#view.fail(plan.error);
    }
  }

  // Taking it along

  #title() {
    return this.#view.instance.name || this.#given?.title || "Plan";
  }

  async #savePicture() {
    const { scene, tours, instance, plan } = this.#view;
    if (!scene) throw new Error("these customers have no coordinates to draw");
    const { feasible, unserved } = plan.result;
    const length = tours.reduce((sum, tour) => sum + tour.length, 0);
    const parts = [count(tours.length, "tour"), lengthOf(length, instance.unit)];
    if (!feasible) parts.push(`${count(unserved.length, "customer")} left out`);
    const about = { subtitle: parts.join(", "), capacity: instance.capacity };
    await downloadPicture(scene, tours, { title: this.#title(), ...about });
  }

  async #try(action) {
    show(byId("download-error"), false);
    try {
      await action();
    } catch (error) {
      write(byId("download-error"), sentence(error.message));
      show(byId("download-error"), true);
    }
  }

  #makeSheets() {
    const { tours, instance, scene, plan } = this.#view;
    document.body.classList.toggle("has-sheets", plan !== null && tours.length > 0);
    if (plan !== null) makeSheets(tours, instance, scene);
  }

  #say(text) {
    write(byId("announcer"), text);
  }
}

// Cancel a plan that nobody will look at any more.
function drop(id) {
  ask(pathOf(id), { method: "DELETE" }).catch(() => {});
}

const pathOf = (id) => `plans/${encodeURIComponent(id)}`;

new Page().start();
