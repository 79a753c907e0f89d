// The page: it reads customers, requests a plan, follows its events, shows it and changes it.

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
import { t, translatePage } from "./language.js";
import { count, lengthOf, percent } from "./numbers.js";
import { fromServer } from "./sentences.js";
import { printSheets } from "./sheets.js";
import * as source from "./source.js";
import * as summary from "./summary.js";
import { showVerdict } from "./verdict.js";
import { PlanView } from "./view.js";
import { sleep, watch } from "./watch.js";

const TELLING = 4000; // milliseconds between two announcements to a screen reader
const TYPING = 350; // milliseconds without a key before the fleet is checked

// The page's address names the plan, #plan=ID, so that a bookmark shows it again. It may also
// name a tour: #plan=ID&tour=3. The entry in the history is replaced, so that "back" leaves the
// page.
const inAddress = (name) => new URLSearchParams(location.hash.slice(1)).get(name);
const planInAddress = () => inAddress("plan");
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
let running = null; // {id, stopper} of the running plan; stopper is an AbortController
let check = null; // the AbortController of the newest check of the fleet
let tooSmall = false; // whether the fleet of the running plan is proven too small
let told = 0; // when the last announcement to a screen reader was made
let settings = {}; // of the server
let turns = 0; // counts the user's requests, so that answers to earlier ones are ignored

async function start() {
  translatePage();
  listen();
  const id = planInAddress();
  try {
    settings = await ask("settings");
    source.prepare(settings);
    if (settings.tiles) view.showStreets(settings);
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
  form.listen({ onPlan: () => makePlan(), onChange: weighSoon, onNames: rename });
  byId("cancel").addEventListener("click", stop);
  byId("straight-lines").addEventListener("click", () => makePlan({ roads: false }));
  byId("undo").addEventListener("click", editor.undo);
  byId("redo").addEventListener("click", editor.redo);
  byId("restore").addEventListener("click", editor.restore);
  byId("print").addEventListener("click", print);
  byId("picture").addEventListener("click", keepPicture);
  document.addEventListener("keydown", hearKey);
  printSheets(printed);
  listenForNames(view);
  window.addEventListener("hashchange", () => location.reload());
  window.addEventListener("beforeunload", (event) => {
    if (editor.wouldLose()) event.preventDefault();
  });
}

// Customers

/*
 * Read customers. decided has the doubtful rows about which the user has already decided; it is
 * null if no doubts have been shown yet.
 */
async function load(given, { title, decided = null }) {
  const turn = (turns += 1);
  // Until the new customers are read, a plan would be for the customers that are still shown.
  byId("plan").disabled = true;
  let read = null;
  while (!read) {
    try {
      read = await readTable(given);
    } catch (error) {
      if (turn !== turns) return;
      if (!error.progress) {
        byId("plan").disabled = !view.instance;
        cannotRead(given, title, error);
        return;
      }
      source.tell(error.message); // addresses are being looked up
      await sleep(error.retryAfter ?? 1);
    }
    if (turn !== turns) return;
  }
  source.tell("");
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
  say(t`${count(instance.customers, "customer")} read`);
  const { vehicles, capacity } = form.values();
  const missing = vehicles === null ? "vehicles" : capacity === null ? "capacity" : "plan";
  const empty = form.fleet(instance) ? "plan" : missing;
  if (isUndecided()) focusDoubts();
  else byId(empty).focus({ preventScroll: true });
  byId("map").scrollIntoView({ block: "nearest" });
}

// Read customers. The server considers time windows and shifts only if there is a speed. So a
// table that has them is read again with the speed of the form.
async function readTable(given) {
  const read = await send("instances", given, {});
  const { metric } = read.instance;
  if (!read.doubts.some(({ kind }) => kind === "windows")) return read;
  return send("instances", given, form.times(instanceOf({ metric, demands: [] })));
}

// Say why a file was not read. If the server does not recognise the sheet, the columns or the
// depot, ask the user.
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
  if (table.headings.length) source.fail(t`not all columns of this table are recognised`);
  else if (table.depots.length) source.fail(t`no row without a demand: which is the depot?`);
  else source.fail(t`several sheets of this file have customers`);
  askForColumns(table, given.sheet, again);
}

// Let the user decide about doubtful rows, and read the customers again as decided. After that,
// ask again only about rows in which the user typed something that still cannot be read.
function askAbout(read, instance, decided) {
  const isNew = ({ row }) => row !== null && !decided.has(row);
  const doubts = decided ? read.doubts.filter(isNew) : read.doubts;
  view.mark(doubts.flatMap(({ customers: found }) => found));
  showDoubts({ ...read, doubts }, instance, {
    onPlace: (address, take) =>
      view.askForPlace((place) => {
        take(place);
        if (address) keepPlace(address, place);
      }),
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
    onKept: () => {
      view.mark([]);
      byId("plan").focus({ preventScroll: true });
    },
  });
}

// Let the server store the place of an address. If it does not, only this table has the place.
function keepPlace(address, { x, y }) {
  const json = { address, latitude: y, longitude: x };
  ask("places", { method: "PUT", json }).catch(() => {});
}

// Show the instance of a document, and remember what to send when a plan of it is requested.
function takeInstance(given, document) {
  const instance = instanceOf(document.instance);
  customers = given;
  hideColumns();
  source.describe(instance, document.notes, fileName);
  form.clearErrors();
  form.enable(instance, settings);
  form.setLocked(0);
  comparison.clear();
  stopEditing();
  hideDoubts();
  view.showInstance(instance);
  return instance;
}

function stopEditing() {
  editor.close();
  show(byId("restore"), false);
  show(byId("conflict"), false);
}

// Return the numbers of the customers that the dispatcher took out of the plan that is shown.
function takenOut() {
  return view.unserved.filter(editor.isOut);
}

// Show how full the vehicles would be with all customers except those that are taken out.
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

// Ask the server whether the fleet in the form suffices. The pause, in milliseconds, comes
// first, because the user may go on typing: then only the last check is sent.
async function checkFleet(pause) {
  check?.abort();
  check = new AbortController();
  const { signal } = check;
  try {
    await sleep(pause / 1000, signal);
    const fleet = form.fleet(view.instance);
    const out = takenOut();
    const asked = out.length ? { ...fleet, leave_out: out } : fleet;
    const read = fleet && (await send("instances", customers, asked, signal));
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

async function makePlan({ roads = null } = {}) {
  form.clearErrors();
  if (!form.isReadable()) return;
  if (isUndecided()) {
    form.fail({ message: t`first decide about the doubtful rows above` });
    focusDoubts();
    return;
  }
  check?.abort();
  giveUp();
  comparison.clear();
  const turn = (turns += 1);
  byId("plan").disabled = true;
  try {
    const plan = await send("plans", customers, { ...wishes(), ...(roads !== null && { roads }) });
    if (turn !== turns) {
      drop(plan.id);
      return;
    }
    putPlan(plan.id);
    customers = { plan: plan.id };
    stopEditing();
    show(byId("straight-lines"), false);
    view.begin(plan);
    say(t`Planning has begun`);
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

// Return the options of the plan to request. Locked tours are the first tours of the plan, so
// the names of their vehicles come first, too.
function wishes() {
  const locked = editor.lockedTours();
  const names = locked.map((tour) => tour.name);
  const others = form.names().filter((name) => !name || !names.includes(name));
  const { vehicles, capacity, ...values } = form.values();
  const fleet = form.fleet(view.instance) ?? { vehicles, capacity };
  const asked = {
    ...values,
    ...fleet,
    ...form.units(view.instance),
    vehicle_names: fleet.vehicle_types ? [] : [...names, ...others],
    date: form.date() || null,
    name: fileName.replace(/\.\w+$/, ""),
    wait: 0,
  };
  if (locked.length) asked.locked = locked.map((tour) => tour.stops);
  if (locked.length && fleet.vehicle_types) {
    asked.locked_types = locked.map((tour) => tour.type);
  }
  const out = takenOut();
  if (out.length) asked.taken_out = out;
  return asked;
}

async function follow(id) {
  const stopper = new AbortController();
  setRunning({ id, stopper });
  tooSmall = false;
  try {
    const last = await watch(id, {
      onEvent: hear,
      onBroken: lose,
      onOpen: summary.regain,
      signal: stopper.signal,
    });
    setRunning(null);
    if (last.name === "done") finish(last.data, { isNew: true });
    else show(byId("straight-lines"), settings.roads && view.instance.byRoad);
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

// Stop the search. The stream of events then ends with the best plan so far.
async function stop() {
  summary.beginStop();
  byId("cancel").disabled = true;
  try {
    await ask(planPath(running.id), { method: "DELETE" });
  } catch (error) {
    // 409 means that the plan finished a moment before.
    if (error.status !== 409) form.fail(error);
  } finally {
    byId("cancel").disabled = false;
  }
}

// Cancel the running plan, because the user wants another one.
function giveUp() {
  if (!running) return;
  running.stopper.abort();
  drop(running.id);
  setRunning(null);
}

function lose() {
  summary.lose();
  say(t`The connection to the server is lost`);
}

function hear(name, data) {
  if (name === "queued") {
    summary.tell(
      data.position ? t`Waiting: ${count(data.position, "plan")} before yours` : t`Waiting`,
    );
  } else if (name === "preparing") {
    summary.prepare();
  } else if (name === "roads") {
    // The last answer is not the last wait: the search may have to be compiled.
    if (data.done === data.total) summary.prepare();
    else summary.tell(t`Asking for roads: ${percent(data.done / data.total)}`);
  } else if (name === "verdict") {
    showVerdict(data, planWith);
    tooSmall = data.status === "impossible";
  } else if (name === "searching") {
    summary.search({ partly: tooSmall });
  } else if (name === "improved") {
    view.improve(data);
    if (data.cost !== null && performance.now() - told > TELLING) {
      told = performance.now();
      say(t`Best cost ${lengthOf(data.cost, view.instance.unit)}`);
    }
  } else if (name === "failed") {
    view.fail(fromServer(data.error));
    say(t`The plan failed`);
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
  const types = view.instance.types?.map(({ name }) => name);
  view.setNames((types ?? form.names()).filter(Boolean));
  showTools();
  if (!editor.isUnsaved()) findLinks(); // else once the tours are saved
}

// Request the links of the tours that are shown, and their lines along roads. If the server does
// not answer, there are no links, and tours are drawn as straight lines.
async function findLinks() {
  const { plan, tours, instance } = view;
  if (!instance.geographic) return;
  const [links, lines] = await Promise.all([
    ask(`${planPath(plan.id)}/links`).catch(() => []),
    instance.byRoad ? ask(`${planPath(plan.id)}/lines`).catch(() => null) : null,
  ]);
  if (tours !== view.tours) return; // the user has changed them meanwhile
  view.setLinks(links, lines?.tours ?? []);
}

function outcome({ result }) {
  if (result === null) return t`No plan`;
  const tours = count(toursOf(result).length, "tour");
  const { unit } = view.instance;
  if (servesAll(result)) {
    const proof = summary.proofOf(result);
    const cost = lengthOf(result.cost, unit);
    return [t`Finished: ${tours}, ${cost}`, proof].filter(Boolean).join(". ");
  }
  const unserved = count(result.unserved.length, "customer");
  return t`The fleet is too small: ${tours}, ${unserved} left out`;
}

async function reopen(id) {
  const plan = await ask(planPath(id));
  if (!plan.instance) throw new Error(fromServer(plan.error)); // its record is damaged
  const instance = takeInstance({ plan: id }, plan);
  const { unit, demandUnit } = instance;
  form.fill({ ...plan.request, unit: demandUnit, length_unit: unit });
  if (plan.edited && !plan.instance.vehicle_types) {
    form.fill({ vehicle_names: plan.edited.vehicle_names });
  }
  form.weigh(instance);
  showVerdict(plan.verdict, planWith);
  view.begin(plan);
  if (plan.status === "queued" || plan.status === "running") {
    follow(id);
  } else {
    finish(plan, { isNew: false });
    if (plan.error) view.fail(fromServer(plan.error));
    view.pick(Number(inAddress("tour")));
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
  findLinks();
  const { unit } = view.instance;
  earlier.listEarlier().catch(() => {});
  showTools();
  const said = [lengthOf(edited.length, unit), ...edited.faults.map(fromServer)];
  say(t`Changed: ${said.join(", ")}`);
}

// Give the names in the form to the vehicles of the plan that is shown, in the order of tours.
function rename(names) {
  view.setNames(names.filter(Boolean));
  if (editor.isOpen()) editor.nameAll(names);
}

// Keep one of two versions of a plan: the user's own, or the one of somebody else.
async function settle(choose) {
  try {
    await choose();
    show(byId("conflict"), false);
  } catch (error) {
    warn("edit-error", error.message);
  }
}

async function takeTheirs() {
  const plan = await editor.theirs();
  if (plan) showFinished(plan);
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

// Print the plan, unless somebody else has changed it: then the user must see the change first.
async function print() {
  if (!(await editor.isOutdated())) window.print();
}

function planTitle() {
  return view.instance.name || fileName || t`Plan of tours`;
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
