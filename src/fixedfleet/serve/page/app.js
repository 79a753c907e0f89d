// The page: it takes the customers, asks for a plan, follows it, shows it and changes it.

import { planInAddress, putPlan } from "./address.js";
import { ask, drop, planPath, send } from "./api.js";
import { Comparison } from "./compare.js";
import { Doubts } from "./doubts.js";
import { linkFiles, savePicture } from "./downloads.js";
import { listEarlier, renewCost } from "./earlier.js";
import { Editor, bestPlace } from "./editor.js";
import { byId, show, write } from "./elements.js";
import { FleetForm } from "./fleet.js";
import { fleetCheck } from "./fleet_check.js";
import { instanceOf, servesAll, toursOf } from "./instance.js";
import { count, lengthOf, sentence } from "./numbers.js";
import { RunningPlan } from "./running.js";
import { printSheets } from "./sheets.js";
import { Source } from "./source.js";
import { showVerdict } from "./verdict.js";
import { PlanView } from "./view.js";

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
  #check = fleetCheck({
    question: () => ({ given: this.#given, ...this.#form.values() }),
    onVerdict: (verdict) => this.#showVerdict(verdict),
    onError: (error) => this.#form.fail(error, { focus: false }),
  });
  #running = new RunningPlan();
  #comparison = new Comparison((plan) => this.#showFinished(plan));
  #given = null; // the customers, as send() takes them
  #name = ""; // name of the file that was read
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
    byId("cancel").addEventListener("click", () => {
      this.#running.stop().catch((error) => this.#form.fail(error));
    });
    byId("undo").addEventListener("click", () => this.#editor.undo());
    byId("redo").addEventListener("click", () => this.#editor.redo());
    byId("print").addEventListener("click", () => window.print());
    byId("picture").addEventListener("click", () => this.#savePicture());
    document.addEventListener("keydown", (event) => this.#hearKey(event));
    printSheets(() => this.#printed());
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
    this.#check.stop();
    this.#running.giveUp();
    putPlan(null);
    this.#name = title;
    const instance = this.#take(given, read);
    if (!decided) this.#view.markDoubtful(this.#doubts.show(read.doubts));
    this.#form.fillFrom(instance);
    this.#showVerdict(read.verdict);
    if (!read.verdict) this.#check.now();
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
    this.#form.weigh(this.#view.instance);
    byId("form-verdict").classList.add("outdated");
    this.#check.soon();
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
    this.#check.stop();
    this.#running.giveUp();
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
    try {
      const last = await this.#running.follow(id, {
        onEvent: (name, data) => this.#hear(name, data),
        onBroken: () => this.#lose(),
        onOpen: () => this.#view.status.regain(),
      });
      if (last?.name === "done") this.#finish(last.data, compare);
    } catch (error) {
      this.#view.fail(error.message);
    }
  }

  #lose() {
    this.#view.status.lose();
    this.#say("The connection to the server is lost");
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
    const { unit } = this.#view.instance;
    renewCost(this.#view.plan.id, edited.cost, unit);
    const said = [lengthOf(edited.length, unit), ...edited.faults];
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
    try {
      await savePicture(this.#view, this.#title());
      this.#warn("download-error", "");
    } catch (error) {
      this.#warn("download-error", error.message);
    }
  }

  #printed() {
    const { plan, tours, instance, scene } = this.#view;
    return plan && { tours, instance, scene, title: this.#title(), created: plan.created };
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
