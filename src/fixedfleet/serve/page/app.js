// The page: it takes the customers, asks for a plan, follows it, shows it and changes it.

import { ask, drop, planPath, send } from "./api.js";
import { askForColumns, hideColumns, rememberedColumns } from "./columns.js";
import { Comparison } from "./compare.js";
import { focusDoubts, hideDoubts, isUndecided, showDoubts } from "./doubts.js";
import { linkFiles, savePicture } from "./downloads.js";
import { likeLastTime, rememberDrivers } from "./drivers.js";
import * as earlier from "./earlier.js";
import * as editor from "./editor.js";
import { byId, show, warn, write } from "./elements.js";
import { listenForNames } from "./find.js";
import * as form from "./fleet.js";
import { instanceOf, servesAll, toursOf } from "./instance.js";
import { count, lengthOf } from "./numbers.js";
import { printSheets } from "./sheets.js";
import * as source from "./source.js";
import * as summary from "./summary.js";
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

const view = new PlanView({
  onMove: move,
  onLock: editor.toggleLock,
  onName: editor.nameTour,
});
const comparison = new Comparison(showFinished);
let customers = null; // the customers, as send() takes them
let fileName = ""; // name of the file that was read
let running = null; // {id, stopper} of the plan that is being made
let check = null; // the stopper of the newest check of the fleet
let told = 0;
let turns = 0; // counts the user's requests: answers to earlier ones are ignored

async function start() {
  listen();
  const id = planInAddress();
  try {
    const { max_bytes: largest, ...tiles } = await ask("settings");
    source.limit(largest);
    if (tiles.tiles) view.showStreets(tiles);
    const listed = Promise.all([source.listExamples(), earlier.listEarlier()]);
    if (id) await reopen(id);
    await listed;
  } catch (error) {
    source.fail(error.message);
    if (error.status === 404) putPlan(null);
  }
  document.documentElement.classList.add("ready");
}

function listen() {
  source.listen(load);
  editor.listen({
    onChange: showChange,
    onSaved: showSaved,
    onError: (error) => warn("edit-error", error.message),
    onConflict: () => show(byId("conflict"), true),
  });
  byId("take-theirs").addEventListener("click", () => settle(takeTheirs));
  byId("keep-mine").addEventListener("click", () => settle(editor.keepMine));
  window.addEventListener("focus", editor.isOutdated);
  earlier.listen({
    onRenamed: (id, name) => {
      if (id === view.plan?.id) view.instance = { ...view.instance, name };
    },
    onDeleted: (id) => {
      if (id === planInAddress()) location.hash = ""; // loads the page again
    },
  });
  form.listen({ onPlan: makePlan, onChange: weighSoon, onNames: rename });
  byId("cancel").addEventListener("click", stop);
  byId("undo").addEventListener("click", editor.undo);
  byId("redo").addEventListener("click", editor.redo);
  byId("restore").addEventListener("click", editor.restore);
  byId("print").addEventListener("click", print);
  byId("picture").addEventListener("click", keepPicture);
  document.addEventListener("keydown", hearKey);
  printSheets(printed);
  listenForNames(view);
  window.addEventListener("hashchange", () => location.reload());
}

// Customers

/*
 * Read customers. decided has the rows that could not be read and about which the user has
 * decided; it is null if nothing was shown yet.
 */
async function load(given, { title, decided = null }) {
  const turn = (turns += 1);
  let read;
  try {
    read = await send("instances", given, {});
  } catch (error) {
    if (turn === turns) cannotRead(given, title, error);
    return;
  }
  if (turn !== turns) return;
  check?.abort();
  giveUp();
  putPlan(null);
  fileName = title;
  const instance = takeInstance(given, read);
  askAbout(read, instance, decided);
  form.fillFrom(instance);
  showVerdict(read.verdict, planWith);
  if (!read.verdict) checkFleet(0);
  form.weigh(instance);
  say(`${count(instance.customers, "customer")} read`);
  const { vehicles: fleet, capacity: room } = form.values();
  const empty = fleet === null ? "vehicles" : room === null ? "capacity" : "plan";
  if (isUndecided()) focusDoubts();
  else byId(empty).focus({ preventScroll: true });
  byId("map").scrollIntoView({ block: "nearest" });
}

// Say why a file was not read. If the server does not know its sheet or its columns, the
// user does.
function cannotRead(given, title, { message, table }) {
  if (!table) {
    hideColumns();
    source.fail(message);
    return;
  }
  const again = (chosen) => load({ ...given, ...chosen }, { title });
  const known = given.columns || !table.headings.length;
  const remembered = known ? null : rememberedColumns(table);
  if (remembered) {
    again({ columns: remembered });
    return;
  }
  if (table.headings.length) source.fail("not all columns of this table are recognised");
  else if (table.depots.length) source.fail("no row without a demand: which is the depot?");
  else source.fail("several sheets of this file have customers");
  askForColumns(table, given.sheet, again);
}

// Let the user decide about doubtful rows, and read the customers again as decided. After
// that, only what was typed and still cannot be read is asked again.
function askAbout(read, instance, decided) {
  const isNew = ({ row }) => row !== null && !decided.has(row);
  const doubts = decided ? read.doubts.filter(isNew) : read.doubts;
  showDoubts({ ...read, doubts }, instance, {
    onDecided: (made) => {
      const typed = new Set(made.corrections.map((word) => Number(word.split(":")[0])));
      const left = read.doubts.map(({ row }) => row).filter((row) => !typed.has(row));
      const again = { ...customers };
      for (const [part, values] of Object.entries(made)) {
        if (values.length) again[part] = [...(again[part] ?? []), ...values];
      }
      if (made.columns.length) again.columns = made.columns;
      load(again, { title: fileName, decided: new Set([...(decided ?? []), ...left]) });
    },
    onKept: () => byId("plan").focus({ preventScroll: true }),
  });
}

// Show the instance of a document, and note what to send for it.
function takeInstance(given, document) {
  const instance = instanceOf(document.instance);
  customers = given;
  hideColumns();
  source.describe(instance, document.notes, fileName);
  form.clearErrors();
  form.enable(instance);
  form.setLocked(0);
  comparison.clear();
  editor.close();
  show(byId("restore"), false);
  hideDoubts();
  view.showInstance(instance);
  return instance;
}

// The customers, by number, whom the dispatcher took out of the plan that is shown.
function takenOut() {
  return view.unserved.filter(editor.isOut);
}

// Show how full the vehicles would be with all customers but those that are taken out.
function weigh() {
  const { stops, total_demand: total } = view.instance;
  const out = takenOut().reduce((sum, customer) => sum + stops[customer - 1].demand, 0);
  form.weigh({ ...view.instance, total_demand: total - out });
}

function weighSoon() {
  weigh();
  byId("form-verdict").classList.add("outdated");
  checkFleet(TYPING);
}

// Ask the server whether the fleet in the form suffices, unless the user types on.
async function checkFleet(pause) {
  check?.abort();
  check = new AbortController();
  const { signal } = check;
  try {
    await sleep(pause / 1000, signal);
    const { vehicles, capacity } = form.values();
    const known = vehicles && capacity;
    const out = takenOut();
    const fleet = out.length ? { vehicles, capacity, leave_out: out } : { vehicles, capacity };
    const read = known && (await send("instances", customers, fleet, signal));
    showVerdict(read ? read.verdict : null, planWith);
  } catch (error) {
    if (error.name === "AbortError") return;
    showVerdict(null, planWith);
    form.fail(error, { focus: false });
  }
}

// Plans

function planWith(vehicles) {
  form.fill({ vehicles });
  weigh();
  showVerdict(null, planWith);
  makePlan();
}

async function makePlan() {
  form.clearErrors();
  if (!form.isReadable()) return;
  if (isUndecided()) {
    form.fail({ message: "first decide about the doubtful rows above" });
    focusDoubts();
    return;
  }
  check?.abort();
  giveUp();
  comparison.clear();
  const turn = (turns += 1);
  byId("plan").disabled = true;
  try {
    const plan = await send("plans", customers, wishes());
    if (turn !== turns) {
      drop(plan.id);
      return;
    }
    putPlan(plan.id);
    customers = { plan: plan.id };
    editor.close();
    show(byId("restore"), false);
    view.begin(plan);
    say("Planning has begun");
    // On a phone the figures are below the map: scroll to show both.
    if (byId("summary").getBoundingClientRect().top > window.innerHeight) {
      byId("map").scrollIntoView({ block: "start" });
    }
    follow(plan.id);
  } catch (error) {
    form.fail(error);
  } finally {
    byId("plan").disabled = false;
  }
}

// Return what to ask for. The locked tours come first, and so do their vehicles' names.
function wishes() {
  const locked = editor.lockedTours();
  const names = locked.map((tour) => tour.name);
  const others = form.names().filter((name) => !name || !names.includes(name));
  const asked = {
    ...form.values(),
    ...form.units(view.instance),
    vehicle_names: [...names, ...others],
    date: form.date() || null,
    name: fileName.replace(/\.\w+$/, ""),
    wait: 0,
  };
  if (locked.length) asked.locked = locked.map((tour) => tour.stops);
  const out = takenOut();
  if (out.length) asked.taken_out = out;
  return asked;
}

async function follow(id) {
  const stopper = new AbortController();
  setRunning({ id, stopper });
  try {
    const last = await watch(id, {
      onEvent: hear,
      onBroken: lose,
      onOpen: summary.regain,
      signal: stopper.signal,
    });
    setRunning(null);
    if (last.name === "done") finish(last.data, { isNew: true });
  } catch (error) {
    if (error.name === "AbortError") return;
    setRunning(null);
    view.fail(error.message);
  }
}

// The button "Stop" replaces "Plan" while a plan is being made.
function setRunning(plan) {
  running = plan;
  const [on, off] = running ? ["cancel", "plan"] : ["plan", "cancel"];
  const focused = document.activeElement === byId(off);
  show(byId(on), true);
  show(byId(off), false);
  if (focused) byId(on).focus();
}

// End the search: the stream of events then ends with the best plan so far.
async function stop() {
  summary.beginStop();
  byId("cancel").disabled = true;
  try {
    await ask(planPath(running.id), { method: "DELETE" });
  } catch (error) {
    // 409: it has finished a moment before.
    if (error.status !== 409) form.fail(error);
  } finally {
    byId("cancel").disabled = false;
  }
}

// Cancel the plan that is being made, because the user wants another.
function giveUp() {
  if (!running) return;
  running.stopper.abort();
  drop(running.id);
  setRunning(null);
}

function lose() {
  summary.lose();
  say("The connection to the server is lost");
}

function hear(name, data) {
  if (name === "queued") {
    summary.status(
      data.position ? `Waiting: ${count(data.position, "plan")} before yours` : "Waiting",
    );
  } else if (name === "verdict") {
    showVerdict(data, planWith);
  } else if (name === "improved") {
    view.improve(data);
    if (data.cost !== null && performance.now() - told > TELLING) {
      told = performance.now();
      say(`Best cost ${lengthOf(data.cost, view.instance.unit)}`);
    }
  } else if (name === "failed") {
    view.fail(data.error);
    say("The plan failed");
  }
}

function finish(plan, { isNew }) {
  showFinished(plan);
  if (isNew && plan.result !== null) {
    editor.arrange(likeLastTime(view.tours, view.instance, form.names()));
    rememberDrivers(view.tours, view.instance);
  }
  if (plan.verdict) showVerdict(plan.verdict, planWith);
  say(outcome(plan));
  comparison.consider(plan, { isNew });
  earlier.listEarlier().catch(() => {});
}

function showFinished(plan) {
  show(byId("conflict"), false);
  view.finish(plan);
  linkFiles(plan.id, view.instance);
  if (plan.result === null) return;
  editor.open(plan, view.tours, form.names());
  view.setNames(form.names().filter(Boolean));
  showTools();
}

function outcome({ result }) {
  if (result === null) return "No plan";
  const tours = count(toursOf(result).length, "tour");
  const { unit } = view.instance;
  if (servesAll(result)) {
    const proof = summary.proofOf(result);
    const cost = lengthOf(result.cost, unit);
    return `Finished: ${tours}, ${cost}${proof ? `. ${proof}` : ""}`;
  }
  const unserved = count(result.unserved.length, "customer");
  return `The fleet is too small: ${tours}, ${unserved} left out`;
}

async function reopen(id) {
  const plan = await ask(planPath(id));
  if (!plan.instance) throw new Error(plan.error); // its record is damaged
  const instance = takeInstance({ plan: id }, plan);
  const { unit, demandUnit } = instance;
  form.fill({ ...plan.request, unit: demandUnit, length_unit: unit });
  if (plan.edited) form.fill({ vehicle_names: plan.edited.vehicle_names });
  form.weigh(instance);
  showVerdict(plan.verdict, planWith);
  view.begin(plan);
  if (plan.status === "queued" || plan.status === "running") {
    follow(id);
  } else {
    finish(plan, { isNew: false });
    if (plan.error) view.fail(plan.error);
  }
  // On a phone the map is below the form and the list of plans.
  if (byId("map").getBoundingClientRect().top > window.innerHeight) {
    byId("map").scrollIntoView({ block: "start" });
  }
}

// Changes by the user

function move(customer, slot, place) {
  if (!editor.isOpen()) return;
  const focused = document.activeElement?.closest("#tour-list") !== null;
  const tour = view.tours.find((one) => one.slot === slot);
  const best = () => editor.bestPlace(tour?.stops ?? [], customer, view.scene?.points);
  editor.move(customer, slot, place ?? best());
  if (focused) view.focusStop(customer);
}

function showChange(tours) {
  warn("edit-error", "");
  view.change(tours);
  showTools();
}

function showSaved(edited) {
  warn("edit-error", "");
  show(byId("conflict"), false);
  view.measured(edited);
  rememberDrivers(view.tours, view.instance);
  const { unit } = view.instance;
  earlier.listEarlier().catch(() => {});
  showTools();
  const said = [lengthOf(edited.length, unit), ...edited.faults];
  say(`Changed: ${said.join(", ")}`);
}

// The names in the form are those of the plan that is shown: tour 1 has the first.
function rename(names) {
  view.setNames(names.filter(Boolean));
  if (editor.isOpen()) editor.nameAll(names);
}

// Choose between two versions of a plan.
async function settle(choose) {
  try {
    await choose();
    show(byId("conflict"), false);
  } catch (error) {
    warn("edit-error", error.message);
  }
}

async function takeTheirs() {
  showFinished(await editor.theirs());
}

function showTools() {
  byId("undo").disabled = !editor.canUndo();
  byId("redo").disabled = !editor.canRedo();
  show(byId("restore"), editor.isChanged());
  form.setLocked(editor.lockedTours().length);
  weigh();
}

function hearKey(event) {
  const typing = event.target.closest?.("input, textarea, dialog");
  if (!(event.ctrlKey || event.metaKey) || typing || !editor.isOpen()) return;
  const key = event.key.toLowerCase();
  if (key === "y" || (key === "z" && event.shiftKey)) editor.redo();
  else if (key === "z") editor.undo();
  else return;
  event.preventDefault();
}

// Saving and printing

// A plan that somebody else has changed is not printed before the user has seen it.
async function print() {
  if (!(await editor.isOutdated())) window.print();
}

function planTitle() {
  return view.instance.name || fileName || "Plan";
}

async function keepPicture() {
  try {
    await savePicture(view.scene, planTitle());
    warn("download-error", "");
  } catch (error) {
    warn("download-error", error.message);
  }
}

function printed() {
  const { plan, tours, unserved, instance, scene } = view;
  const date = form.date() || plan?.created;
  return plan && { tours, unserved, instance, scene, title: planTitle(), date };
}

function say(text) {
  write(byId("announcer"), text);
}

start();
