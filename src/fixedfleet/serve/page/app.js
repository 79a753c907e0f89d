// The page: it takes the customers, asks for a plan, follows it, shows it and changes it.

import { planInAddress, putPlan } from "./address.js";
import { ServerError, ask, drop, planPath, send } from "./api.js";
import { Comparison } from "./compare.js";
import { Doubts } from "./doubts.js";
import { downloadPicture, linkFiles } from "./downloads.js";
import { listEarlier } from "./earlier.js";
import { Editor, bestPlace } from "./editor.js";
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
  #source = new Source((given, about) => this.#load(given, about));
  #form = new FleetForm({ onPlan: () => this.#plan(), onChange: () => this.#weighSoon() });
  #doubts = new Doubts({
    onLeaveOut: (customers) => this.#leaveOut(customers),
    onGoOn: () => this.#view.markDoubtful([]),
  });
  #view = new PlanView({
    onFleet: (vehicles) => this.#planWith(vehicles),
    onMove: (customer, slot, place) => this.#move(customer, slot, place),
    onLock: (slot) => this.#editor.toggleLock(slot),
  });
  #editor = new Editor({
    onChange: (tours) => this.#showChange(tours),
    onSaved: (edited) => this.#showSaved(edited),
    onError: (error) => this.#warn("edit-error", error.message),
  });
  #comparison = new Comparison((plan) => this.#showFinished(plan));
  #given = null; // the customers, as send() takes them
  #name = ""; // name of the file that was read
  #running = null; // {id, stopper} of the plan that is being followed
  #typing = null;
  #weighing = null;
  #told = 0;
  #turn = 0; // counts the user's requests: answers to earlier ones are ignored

  async start() {
    this.#follow();
    const id = planInAddress();
    try {
      const { max_bytes: largest, ...tiles } = await ask("settings");
      this.#source.limit(largest);
      if (tiles.tiles) this.#view.showStreets(tiles);
      const listed = Promise.all([this.#source.listExamples(), listEarlier()]);
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
    byId("undo").addEventListener("click", () => this.#editor.undo());
    byId("redo").addEventListener("click", () => this.#editor.redo());
    byId("print").addEventListener("click", () => window.print());
    byId("picture").addEventListener("click", () => this.#try(() => this.#savePicture()));
    document.addEventListener("keydown", (event) => this.#hearKey(event));
    window.addEventListener("beforeprint", () => this.#makeSheets());
    window.addEventListener("afterprint", () => {
      document.body.classList.remove("has-sheets");
      clearSheets();
    });
    window.addEventListener("hashchange", () => location.reload());
  }

  // Customers

  async #load(given, { title, vehicles, capacity, decided = false }) {
    const turn = (this.#turn += 1);
    let read;
    try {
      read = await send("instances", given, { vehicles, capacity });
    } catch (error) {
      if (turn === this.#turn) this.#source.fail(error.message);
      return;
    }
    if (turn !== this.#turn) return;
    this.#stopWeighing();
    this.#stop();
    putPlan(null);
    this.#name = title;
    const instance = this.#take(given, read);
    if (!decided) this.#view.markDoubtful(this.#doubts.show(read.doubts));
    this.#form.fillFrom(instance);
    this.#showVerdict(read.verdict);
    if (!read.verdict) this.#weigh();
    this.#form.weigh(instance);
    this.#say(`${count(instance.customers, "customer")} read`);
    const { vehicles: fleet, capacity: room } = this.#form.values();
    const empty = fleet === null ? "vehicles" : room === null ? "capacity" : "plan";
    if (this.#doubts.undecided) this.#doubts.focus();
    else byId(empty).focus({ preventScroll: true });
    byId("map").scrollIntoView({ block: "nearest" });
  }

  // Read the customers again, without those whose data is doubtful.
  #leaveOut(customers) {
    const given = { ...this.#given, leave_out: customers };
    this.#load(given, { title: this.#name, decided: true });
  }

  // Show the instance of a document, and note what to send for it.
  #take(given, document) {
    const instance = instanceOf(document.instance);
    this.#given = given;
    this.#source.describe(instance, document.notes, this.#name);
    this.#form.clearErrors();
    this.#form.enable(instance);
    this.#form.setLocked(0);
    this.#comparison.clear();
    this.#editor.close();
    this.#doubts.clear();
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
      const fleet = { vehicles, capacity };
      const { verdict } = await send("instances", this.#given, fleet, this.#weighing.signal);
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
    if (this.#doubts.undecided) {
      this.#form.fail({ message: "first decide about the doubtful rows above" });
      this.#doubts.focus();
      return;
    }
    this.#stopWeighing();
    this.#stop();
    this.#comparison.clear();
    const turn = (this.#turn += 1);
    byId("plan").disabled = true;
    try {
      const plan = await send("plans", this.#given, this.#wishes());
      if (turn !== this.#turn) {
        drop(plan.id);
        return;
      }
      putPlan(plan.id);
      this.#given = { plan: plan.id };
      this.#editor.close();
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

  // Return what to ask for. The locked tours come first, and so do their vehicles' names.
  #wishes() {
    const locked = this.#editor.locked;
    const names = locked.map((tour) => tour.name);
    const others = this.#form.names().filter((name) => !names.includes(name));
    const wishes = {
      ...this.#form.values(),
      ...this.#form.units(this.#view.instance),
      vehicle_names: [...names, ...others],
      name: this.#name.replace(/\.\w+$/, ""),
      wait: 0,
    };
    if (locked.length) wishes.locked = locked.map((tour) => tour.stops);
    return wishes;
  }

  async #watch(id, { compare }) {
    const stopper = new AbortController();
    this.#setRunning({ id, stopper });
    try {
      const last = await watch(id, {
        onEvent: (name, data) => this.#hear(name, data),
        onBroken: () => this.#lose(),
        onOpen: () => this.#view.status.regain(),
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

  #lose() {
    this.#view.status.lose();
    this.#say("The connection to the server is lost");
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
    const { objective, vehicle_cost, capacity, locked, vehicle_names } = plan.request;
    const values = { plan: plan.id, objective, vehicle_cost, capacity, locked, vehicle_names };
    const bodyOf = (wishes) => ({ ...values, ...wishes, listed: false, wait: 0 });
    if (compare) this.#comparison.consider(plan, bodyOf);
    else this.#comparison.offer(plan, bodyOf);
    listEarlier().catch(() => {});
  }

  #showFinished(plan) {
    this.#view.finish(plan);
    linkFiles(plan.id);
    if (plan.result === null) return;
    this.#editor.open(plan, this.#view.tours, this.#form.names());
    this.#showTools();
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
    const { unit, demandUnit } = instance;
    this.#form.fill({ ...plan.request, unit: demandUnit, length_unit: unit });
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

  // Changes by the user

  #move(customer, slot, place) {
    if (!this.#editor.isOpen) return;
    const focused = document.activeElement?.closest("#tour-list") !== null;
    const tour = this.#view.tours.find((one) => one.slot === slot);
    const best = () => bestPlace(tour?.stops ?? [], customer, this.#view.scene?.points);
    this.#editor.move(customer, slot, place ?? best());
    if (focused) this.#view.focusStop(customer);
  }

  #showChange(tours) {
    this.#warn("edit-error", "");
    this.#view.change(tours);
    this.#showTools();
  }

  #showSaved(edited) {
    this.#warn("edit-error", "");
    this.#view.measured(edited);
    const said = [lengthOf(edited.length, this.#view.instance.unit), ...edited.faults];
    this.#say(`Changed: ${said.join(", ")}`);
  }

  #showTools() {
    byId("undo").disabled = !this.#editor.canUndo;
    byId("redo").disabled = !this.#editor.canRedo;
    this.#form.setLocked(this.#editor.locked.length);
  }

  #hearKey(event) {
    const typing = event.target.closest?.("input, textarea, dialog");
    if (!(event.ctrlKey || event.metaKey) || typing || !this.#editor.isOpen) return;
    const key = event.key.toLowerCase();
    if (key === "y" || (key === "z" && event.shiftKey)) this.#editor.redo();
    else if (key === "z") this.#editor.undo();
    else return;
    event.preventDefault();
  }

  // Saving and printing

  #title() {
    return this.#view.instance.name || this.#name || "Plan";
  }

  async #savePicture() {
    const { scene, tours, instance, unserved } = this.#view;
    if (!scene) throw new Error("these customers have no coordinates to draw");
    const length = tours.reduce((sum, tour) => sum + tour.length, 0);
    const parts = [count(tours.length, "tour"), lengthOf(length, instance.unit)];
    if (unserved.length) parts.push(`${count(unserved.length, "customer")} left out`);
    const { capacity, demandUnit } = instance;
    const about = { title: this.#title(), subtitle: parts.join(", "), capacity, demandUnit };
    await downloadPicture(scene, tours, about);
  }

  async #try(action) {
    this.#warn("download-error", "");
    try {
      await action();
    } catch (error) {
      this.#warn("download-error", error.message);
    }
  }

  #makeSheets() {
    const { tours, instance, scene, plan } = this.#view;
    document.body.classList.toggle("has-sheets", plan !== null && tours.length > 0);
    const { created } = plan ?? {};
    if (plan !== null) makeSheets(tours, instance, scene, { title: this.#title(), created });
  }

  #warn(id, message) {
    write(byId(id), message && sentence(message));
    show(byId(id), Boolean(message));
  }

  #say(text) {
    write(byId("announcer"), text);
  }
}

new Page().start();
