// The page: it takes the customers, asks for a plan, follows it and shows it.

import { planInAddress, putPlan } from "./address.js";
import { ServerError, ask, drop, planPath } from "./api.js";
import { Comparison } from "./compare.js";
import { downloadPicture, linkFiles } from "./downloads.js";
import { byId, show, write } from "./elements.js";
import { FleetForm } from "./fleet.js";
import { instanceOf, servesAll, toursOf } from "./instance.js";
import { count, lengthOf, sentence } from "./numbers.js";
import { clearSheets, makeSheets } from "./sheets.js";
import { Source } from "./source.js";
import { showVerdict } from "./verdict.js";
import { PlanView } from "./view.js";
import { watch } from "./watch.js";

const TYPING = 350; // milliseconds without a key before the fleet is checked again
const TELLING = 4000; // milliseconds between two announcements to a screen reader

class Page {
  #source = new Source((source) => this.#load(source));
  #form = new FleetForm({ onPlan: () => this.#plan(), onChange: () => this.#weighSoon() });
  #view = new PlanView((vehicles) => this.#planWith(vehicles));
  #comparison = new Comparison((plan) => this.#showFinished(plan));
  #given = null; // what to send for the customers: {text, format}, or {plan: id}
  #name = ""; // name of the file that was read
  #running = null; // {id, stopper} of the plan that is being followed
  #typing = null;
  #weighing = null;
  #told = 0;
  #turn = 0; // counts the user's requests: answers to earlier ones are ignored

  async start() {
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
    window.addEventListener("beforeprint", () => this.#makeSheets());
    window.addEventListener("afterprint", () => {
      document.body.classList.remove("has-sheets");
      clearSheets();
    });
    window.addEventListener("hashchange", () => location.reload());
  }

  // Customers

  async #load({ text, format, vehicles, capacity, title }) {
    const turn = (this.#turn += 1);
    let read;
    try {
      const json = { text, format, vehicles, capacity };
      read = await ask("instances", { method: "POST", json });
    } catch (error) {
      if (turn === this.#turn) this.#source.fail(error.message);
      return;
    }
    if (turn !== this.#turn) return;
    this.#stopWeighing();
    this.#stop();
    putPlan(null);
    this.#name = title;
    const instance = this.#take({ text, format }, read);
    this.#form.fill({ vehicles: instance.vehicles, capacity: instance.capacity });
    this.#showVerdict(read.verdict);
    this.#form.weigh(instance);
    this.#say(`${count(instance.customers, "customer")} read`);
    const empty = ["vehicles", "capacity"].find((name) => instance[name] === null);
    byId(empty ?? "plan").focus({ preventScroll: true });
    byId("map").scrollIntoView({ block: "nearest" });
  }

  // Show the instance of a document, and note what to send for it.
  #take(given, document) {
    const instance = instanceOf(document.instance);
    this.#given = given;
    this.#source.describe(instance, document.notes, this.#name);
    this.#form.clearErrors();
    this.#form.enable();
    this.#comparison.clear();
    this.#view.showInstance(instance);
    return instance;
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

  // Ask whether the fleet in the form suffices.
  async #weigh() {
    this.#weighing = new AbortController();
    const { vehicles, capacity } = this.#form.values();
    if (!vehicles || !capacity) {
      this.#showVerdict(null);
      return;
    }
    try {
      const json = { ...this.#given, vehicles, capacity };
      const { signal } = this.#weighing;
      const { verdict } = await ask("instances", { method: "POST", json, signal });
      this.#showVerdict(verdict);
    } catch (error) {
      if (error.name === "AbortError") return;
      this.#showVerdict(null);
      this.#form.fail(error, { focus: false });
    }
  }

  #showVerdict(verdict) {
    const onFleet = (vehicles) => this.#planWith(vehicles);
    showVerdict(byId("form-verdict"), verdict, verdict?.vehicles, onFleet);
  }

  // Plans

  #planWith(vehicles) {
    this.#form.fill({ vehicles });
    this.#form.weigh(this.#view.instance);
    this.#showVerdict(null);
    this.#plan();
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
      const json = { ...this.#given, ...this.#form.values(), wait: 0 };
      const plan = await ask("plans", { method: "POST", json });
      if (turn !== this.#turn) {
        drop(plan.id);
        return;
      }
      putPlan(plan.id);
      this.#given = { plan: plan.id };
      this.#view.begin(plan);
      this.#say("Planning has begun");
      // On a phone the figures are below the map: scroll to show both.
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

  // "Stop" replaces "Plan" while a plan is running.
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
    this.#showFinished(plan);
    if (plan.verdict) this.#showVerdict(plan.verdict);
    this.#say(this.#outcome(plan));
    const { objective, vehicle_cost, capacity, seed } = plan.request;
    const values = { plan: plan.id, objective, vehicle_cost, capacity, seed, wait: 0 };
    const bodyOf = (vehicles) => ({ ...values, vehicles });
    if (compare) this.#comparison.begin(plan, bodyOf);
    else this.#comparison.offer(plan, bodyOf);
  }

  #showFinished(plan) {
    this.#view.finish(plan);
    linkFiles(plan.id);
  }

  #outcome({ result }) {
    if (result === null) return "No plan";
    const tours = count(toursOf(result).length, "tour");
    const { unit } = this.#view.instance;
    if (servesAll(result)) return `Finished: ${tours}, ${lengthOf(result.cost, unit)}`;
    const unserved = count(result.unserved.length, "customer");
    return `The fleet is too small: ${tours}, ${unserved} left out`;
  }

  async #cancel() {
    if (!this.#running) return;
    try {
      // The stream then ends with the best plan so far.
      await ask(planPath(this.#running.id), { method: "DELETE" });
    } catch (error) {
      // 409: it has finished a moment before.
      if (!(error instanceof ServerError && error.status === 409)) {
        this.#form.fail(error);
      }
    }
  }

  // Give up the running plan, because the user wants another.
  #stop() {
    if (!this.#running) return;
    const { id, stopper } = this.#running;
    stopper.abort();
    this.#setRunning(null);
    drop(id);
  }

  async #reopen(id) {
    const plan = await ask(planPath(id));
    if (!plan.instance) throw new Error(plan.error); // its record is damaged
    const instance = this.#take({ plan: id }, plan);
    this.#form.fill(plan.request);
    this.#form.weigh(instance);
    this.#showVerdict(plan.verdict);
    this.#view.begin(plan);
    if (plan.status === "queued" || plan.status === "running") {
      this.#watch(id, { compare: true });
    } else {
      this.#finish(plan, false);
      if (plan.error) this.#view.fail(plan.error);
    }
  }

  // Saving and printing

  #title() {
    return this.#view.instance.name || this.#name || "Plan";
  }

  async #savePicture() {
    const { scene, tours, instance, plan } = this.#view;
    if (!scene) throw new Error("these customers have no coordinates to draw");
    const { unserved } = plan.result;
    const length = tours.reduce((sum, tour) => sum + tour.length, 0);
    const parts = [count(tours.length, "tour"), lengthOf(length, instance.unit)];
    if (unserved.length) parts.push(`${count(unserved.length, "customer")} left out`);
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

new Page().start();
