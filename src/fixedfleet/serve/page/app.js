// The page: it takes the customers, asks for a plan, follows it, shows it and changes it.

import { ask, drop, planPath, send } from "./api.js";
import { Comparison } from "./compare.js";
import { focusDoubts, hideDoubts, isUndecided, showDoubts } from "./doubts.js";
import { linkFiles, savePicture } from "./downloads.js";
import { listEarlier } from "./earlier.js";
import { Editor, bestPlace } from "./editor.js";
import { byId, show, warn, write } from "./elements.js";
import { FleetForm } from "./fleet.js";
import { instanceOf, servesAll, toursOf } from "./instance.js";
import { count, lengthOf } from "./numbers.js";
import { printSheets } from "./sheets.js";
import { Source } from "./source.js";
import { showVerdict } from "./verdict.js";
import { PlanView } from "./view.js";
import { sleep, watch } from "./watch.js";

const TELLING = 4000; // milliseconds between two announcements to a screen reader
const TYPING = 350; // milliseconds without a key before the fleet is checked

// The plan in the page's address, #plan=ID, so that a bookmark shows it again. The entry in
// the history is replaced, so that "back" leaves the page.
const planInAddress = () => new URLSearchParams(location.hash.slice(1)).get("plan");
const putPlan = (id) =>
  history.replaceState(null, "", id === null ? location.pathname : `#plan=${id}`);

class Page {
  #source = new Source((given, about) => this.#load(given, about));
  #form = new FleetForm({ onPlan: () => this.#plan(), onChange: () => this.#weighSoon() });
  #view = new PlanView({
    onMove: (customer, slot, place) => this.#move(customer, slot, place),
    onLock: (slot) => this.#editor.toggleLock(slot),
  });
  #editor = new Editor({
    onChange: (tours) => this.#showChange(tours),
    onSaved: (edited) => this.#showSaved(edited),
    onError: (error) => warn("edit-error", error.message),
  });
  #comparison = new Comparison((plan) => this.#showFinished(plan));
  #given = null; // the customers, as send() takes them
  #name = ""; // name of the file that was read
  #running = null; // {id, stopper} of the plan that is being made
  #check = null; // the stopper of the newest check of the fleet
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
    byId("cancel").addEventListener("click", () => this.#stop());
    byId("undo").addEventListener("click", () => this.#editor.undo());
    byId("redo").addEventListener("click", () => this.#editor.redo());
    byId("print").addEventListener("click", () => window.print());
    byId("picture").addEventListener("click", () => this.#savePicture());
    document.addEventListener("keydown", (event) => this.#hearKey(event));
    printSheets(() => this.#printed());
    window.addEventListener("hashchange", () => location.reload());
  }

  // Customers

  async #load(given, { title, decided = false }) {
    const turn = (this.#turn += 1);
    let read;
    try {
      read = await send("instances", given, {});
    } catch (error) {
      if (turn === this.#turn) this.#source.fail(error.message);
      return;
    }
    if (turn !== this.#turn) return;
    this.#check?.abort();
    this.#giveUp();
    putPlan(null);
    this.#name = title;
    const instance = this.#take(given, read);
    if (!decided) showDoubts(read.doubts, (customers) => this.#leaveOut(customers));
    this.#form.fillFrom(instance);
    this.#showVerdict(read.verdict);
    if (!read.verdict) this.#checkFleet(0);
    this.#form.weigh(instance);
    this.#say(`${count(instance.customers, "customer")} read`);
    const { vehicles: fleet, capacity: room } = this.#form.values();
    const empty = fleet === null ? "vehicles" : room === null ? "capacity" : "plan";
    if (isUndecided()) focusDoubts();
    else byId(empty).focus({ preventScroll: true });
    byId("map").scrollIntoView({ block: "nearest" });
  }

  // The customers are read again if the user leaves doubtful ones out.
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
    hideDoubts();
    this.#view.showInstance(instance);
    return instance;
  }

  #weighSoon() {
    this.#form.weigh(this.#view.instance);
    byId("form-verdict").classList.add("outdated");
    this.#checkFleet(TYPING);
  }

  // Ask the server whether the fleet in the form suffices, unless the user types on.
  async #checkFleet(pause) {
    this.#check?.abort();
    this.#check = new AbortController();
    const { signal } = this.#check;
    try {
      await sleep(pause / 1000, signal);
      const { vehicles, capacity } = this.#form.values();
      const known = vehicles && capacity;
      const read = known && (await send("instances", this.#given, { vehicles, capacity }, signal));
      this.#showVerdict(read ? read.verdict : null);
    } catch (error) {
      if (error.name === "AbortError") return;
      this.#showVerdict(null);
      this.#form.fail(error, { focus: false });
    }
  }

  #showVerdict(verdict) {
    showVerdict(verdict, (vehicles) => this.#planWith(vehicles));
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
    if (isUndecided()) {
      this.#form.fail({ message: "first decide about the doubtful rows above" });
      focusDoubts();
      return;
    }
    this.#check?.abort();
    this.#giveUp();
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
      this.#watch(plan.id);
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

  async #watch(id) {
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
      if (last.name === "done") this.#finish(last.data, { isNew: true });
    } catch (error) {
      if (error.name === "AbortError") return;
      this.#setRunning(null);
      this.#view.fail(error.message);
    }
  }

  // The button "Stop" replaces "Plan" while a plan is being made.
  #setRunning(running) {
    this.#running = running;
    const [on, off] = running ? ["cancel", "plan"] : ["plan", "cancel"];
    const focused = document.activeElement === byId(off);
    show(byId(on), true);
    show(byId(off), false);
    if (focused) byId(on).focus();
  }

  // End the search: the stream of events then ends with the best plan so far.
  async #stop() {
    try {
      await ask(planPath(this.#running.id), { method: "DELETE" });
    } catch (error) {
      // 409: it has finished a moment before.
      if (error.status !== 409) this.#form.fail(error);
    }
  }

  // Cancel the plan that is being made, because the user wants another.
  #giveUp() {
    if (!this.#running) return;
    this.#running.stopper.abort();
    drop(this.#running.id);
    this.#setRunning(null);
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

  #finish(plan, { isNew }) {
    this.#showFinished(plan);
    if (plan.verdict) this.#showVerdict(plan.verdict);
    this.#say(this.#outcome(plan));
    this.#comparison.consider(plan, { isNew });
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
      this.#watch(id);
    } else {
      this.#finish(plan, { isNew: false });
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
    warn("edit-error", "");
    this.#view.change(tours);
    this.#showTools();
  }

  #showSaved(edited) {
    warn("edit-error", "");
    this.#view.measured(edited);
    const { unit } = this.#view.instance;
    listEarlier().catch(() => {});
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
      await savePicture(this.#view.scene, this.#title());
      warn("download-error", "");
    } catch (error) {
      warn("download-error", error.message);
    }
  }

  #printed() {
    const { plan, tours, instance, scene } = this.#view;
    return plan && { tours, instance, scene, title: this.#title(), created: plan.created };
  }

  #say(text) {
    write(byId("announcer"), text);
  }
}

new Page().start();
