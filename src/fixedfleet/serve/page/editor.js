// The dispatcher's changes to a plan: moved stops and locked tours, with undo and redo.
// The server measures the changed tours and stores them.

import { ask, planPath } from "./api.js";
import { byId, show, warn } from "./elements.js";
import { currentTours, sameTours, takenOut, toursOf } from "./instance.js";
import { t } from "./language.js";
import { count } from "./numbers.js";
import { sleep } from "./watch.js";

const PAUSE = 2; // seconds before a change is sent again to a server that does not answer

/*
 * Return tours {slot, stops, name, locked, type} with a customer at a position in a tour.
 *
 * The slot says which tour it is. If no tour has this slot, the customer gets a tour of its own.
 * If the slot is null, the customer is left out. Tours without stops disappear.
 */
function withStop(before, customer, slot, place) {
  const others = before.map((tour) => ({
    ...tour,
    stops: tour.stops.filter((stop) => stop !== customer),
  }));
  if (slot !== null) {
    const tour = others.find((one) => one.slot === slot);
    if (tour) tour.stops.splice(place, 0, customer);
    else others.push({ slot, stops: [customer], name: "", locked: false, type: null });
  }
  return others.filter(({ stops }) => stops.length > 0);
}

/*
 * Return the position in a tour where a customer makes the smallest detour on the map. Without
 * points, return the last position. points begin with the depot.
 */
export function bestPlace(stops, customer, points) {
  const way = [0, ...stops.filter((stop) => stop !== customer), 0];
  if (!points) return way.length - 2;
  const gap = (a, b) => Math.hypot(points[a].x - points[b].x, points[a].y - points[b].y);
  let [best, least] = [0, Infinity];
  for (let i = 0; i < way.length - 1; i += 1) {
    const detour =
      gap(way[i], customer) + gap(customer, way[i + 1]) - gap(way[i], way[i + 1]);
    if (detour < least) [best, least] = [i, detour];
  }
  return best;
}

const revisionOf = ({ edited }) => edited?.revision ?? 0;

let plan = null; // null if no plan is edited
let tours = []; // {slot, stops, name, locked, type}
let out = []; // customers that the dispatcher took out of all tours
let vehicleNames = [];
let [past, future] = [[], []];
let saving = false;
// Plan → its newest {tours, out}, until the server has stored them. They have isRefused if
// somebody else has changed the plan and the user has not decided yet.
const unsaved = new Map();
// Plan → what was sent without an answer. The server may have stored it, so it is sent again
// before anything newer: otherwise it would be taken for a change by somebody else.
const unanswered = new Map();
let report; // see listen

/*
 * Call onChange(tours) at once when tours are changed, onSaved(edited) when the server has
 * measured them, onError(error) if it has not, and onConflict() if somebody else has changed the
 * plan. If the server refuses tours of a plan that is no longer edited, this is said below the
 * list of plans.
 */
export function listen({ onChange, onSaved, onError, onConflict }) {
  report = { onChange, onSaved, onError, onConflict };
}

/*
 * Begin to edit the tours of a finished plan, as found on the server. If the user has changed them
 * and the server has not stored that yet, edit the changed tours, and call onChange with them. If
 * it has not because somebody else has changed the plan, call onConflict, too.
 * names has the names of all vehicles.
 */
export function open(finished, found, names) {
  close();
  [plan, vehicleNames] = [finished, names];
  tours = found.map((tour) => ({ ...keptOf(tour), slot: tour.slot }));
  out = takenOut(finished);
  if (!isUnsaved()) return;
  ({ tours, out } = unsaved.get(plan));
  report.onChange(tours);
  if (isRefused()) report.onConflict();
}

const keptOf = ({ stops, name, locked, type }) => ({ stops, name, locked, type });

// Return the vehicle types of the plan that is edited; null if all vehicles are alike.
const types = () => plan?.instance.vehicle_types ?? null;

// Return the index of a vehicle type with an unused vehicle; null if all vehicles have tours.
function freeType(among) {
  const used = (type) => among.filter((tour) => tour.type === type).length;
  const free = types().findIndex(({ count }, type) => used(type) < count);
  return free === -1 ? null : free;
}

export function close() {
  plan = null;
  [tours, out, past, future] = [[], [], [], []];
}

export const isOpen = () => plan !== null;
export const isUnsaved = () => unsaved.has(plan);
const isRefused = () => unsaved.get(plan)?.isRefused === true;
export const canUndo = () => past.length > 0;
export const canRedo = () => future.length > 0;
export const lockedTours = () => tours.filter((tour) => tour.locked);
export const isOut = (customer) => out.includes(customer);

/* Move a customer to a position in a tour; see withStop. */
export function move(customer, slot, place) {
  const moved = withStop(tours, customer, slot, place);
  const used = new Set(moved.map((tour) => tour.name));
  for (const tour of moved) {
    if (tour.slot !== slot || tours.some((one) => one.slot === slot)) continue;
    if (types()) {
      tour.type = freeType(moved);
      tour.name = types()[tour.type]?.name ?? "";
    } else {
      tour.name = vehicleNames.find((name) => !used.has(name)) ?? "";
    }
  }
  const others = out.filter((one) => one !== customer);
  change(moved, slot === null ? [...others, customer] : others);
}

/* Lock a tour, or unlock it. */
export function toggleLock(slot) {
  change(
    tours.map((tour) => (tour.slot === slot ? { ...tour, locked: !tour.locked } : tour)),
    out,
  );
}

/* Put the tours of a new plan into another order, perhaps with other names. */
export function arrange(arranged) {
  const same = arranged.every(({ slot, name }, i) => slot === i && name === tours[i].name);
  if (same) return;
  const found = arranged.map((tour, slot) => ({ ...keptOf(tour), slot }));
  set({ tours: found, out });
}

/* Name the vehicle of a tour. If another tour has this name, the two tours swap names. */
export function nameTour(slot, name) {
  const { name: own, type: ownType } = tours.find((tour) => tour.slot === slot);
  const kind = types()?.findIndex((type) => type.name === name) ?? -1;
  if (kind !== -1) {
    // The tour gets a vehicle of this type: a free one, or it swaps with another tour.
    const others = tours.filter((tour) => tour.type === kind);
    const other = others.length < types()[kind].count ? null : others[0].slot;
    const swapped = (tour) => {
      if (tour.slot === slot) return { ...tour, name, type: kind };
      return tour.slot === other ? { ...tour, name: own, type: ownType } : tour;
    };
    change(tours.map(swapped), out);
    return;
  }
  const renamed = (tour) => {
    if (tour.slot === slot) return { ...tour, name };
    return name && tour.name === name ? { ...tour, name: own } : tour;
  };
  change(tours.map(renamed), out);
}

/* Name all vehicles, in the order of tours. */
export function nameAll(names) {
  vehicleNames = names;
  if (types()) return; // vehicles have the names of their types
  const same = tours.every((tour, i) => tour.name === (names[i] ?? ""));
  if (same) return;
  change(tours.map((tour, i) => ({ ...tour, name: names[i] ?? "" })), out);
}

export function undo() {
  if (canUndo()) step(past, future);
}

export function redo() {
  if (canRedo()) step(future, past);
}

/* Return whether the tours differ from those that the search found. */
export function isChanged() {
  return plan !== null && !sameTours(tours, toursOf(plan.result));
}

/* Return to the tours that the search found. The user can undo this. */
export function restore() {
  const found = currentTours({ ...plan, edited: null });
  change(found.map((tour, slot) => ({ ...keptOf(tour), slot })), [
    ...(plan.request.taken_out ?? []),
  ]);
}

/*
 * Return whether somebody else has changed the tours on the server. If the server cannot be
 * reached, the answer is false.
 */
export async function isOutdated() {
  if (!plan || isUnsaved()) return isRefused();
  const asked = plan;
  const now = await ask(planPath(asked.id)).catch(() => asked);
  const changed = asked === plan && !isUnsaved() && revisionOf(now) !== revisionOf(asked);
  if (changed) report.onConflict();
  return changed;
}

/* Return the plan as somebody else has changed it; null if it is no longer edited. */
export async function theirs() {
  const asked = plan;
  await askAgain(asked);
  unsaved.delete(asked);
  return asked === plan ? asked : null;
}

/* Replace the tours that somebody else has changed by the tours of this page. */
export async function keepMine() {
  const [asked, mine] = [plan, { tours, out }];
  await askAgain(asked);
  if (asked === plan) set({ tours, out });
  else store(asked, mine);
}

async function askAgain(asked) {
  asked.edited = (await ask(planPath(asked.id))).edited;
  unanswered.delete(asked);
}

function step(from, to) {
  to.push({ tours, out });
  set(from.pop());
}

function change(changed, without) {
  past.push({ tours, out });
  future = [];
  set({ tours: changed, out: without });
}

function set(changed) {
  ({ tours, out } = changed);
  report.onChange(tours);
  store(plan, { tours, out });
}

function store(edited, changed) {
  unsaved.set(edited, changed);
  if (!saving) save();
}

/* Return whether a change is lost if the page is left now. */
export function wouldLose() {
  return unsaved.size > 0;
}

// Send one request at a time, and of each plan only the newest tours and what has no answer. A
// plan is saved also when it is no longer edited.
async function save() {
  saving = true;
  const next = () => [...unsaved].find(([, newest]) => !newest.isRefused);
  for (let waiting = next(); waiting; waiting = next()) {
    const [edited, newest] = waiting;
    const sent = unanswered.get(edited) ?? newest;
    const { tours: wanted, out: without } = sent;
    const isNewest = () => unsaved.get(edited) === sent;
    const json = {
      tours: wanted.map((tour) => tour.stops),
      locked: wanted.flatMap((tour, i) => (tour.locked ? [i + 1] : [])),
      vehicle_names: wanted.map((tour) => tour.name),
      ...(edited.instance.vehicle_types && { vehicle_types: wanted.map(({ type }) => type) }),
      taken_out: without,
      revision: revisionOf(edited),
    };
    try {
      edited.edited = await ask(`${planPath(edited.id)}/tours`, { method: "PUT", json });
      unanswered.delete(edited);
      if (!isNewest()) continue;
      unsaved.delete(edited);
      if (edited === plan) report.onSaved(edited.edited);
    } catch (error) {
      // The server refuses what is wrong. What it could not do now is sent again.
      if (error.status === 0 || error.status >= 500) {
        if (unsaved.has(edited)) unanswered.set(edited, sent);
        if (edited === plan) report.onError(error);
        await postpone(edited);
        continue;
      }
      unanswered.delete(edited);
      if (isNewest()) refuse(edited, error); // else the newest tours have an answer of their own
    }
  }
  saving = false;
}

// The server has refused the newest tours of a plan. They are kept if the user can decide.
function refuse(edited, error) {
  if (error.field === "revision") unsaved.get(edited).isRefused = true;
  else unsaved.delete(edited);
  if (edited !== plan) tellLost(edited, error);
  else if (isRefused()) report.onConflict();
  else report.onError(error);
}

// Wait a moment. Then all other plans are saved before this one.
async function postpone(edited) {
  const newest = unsaved.get(edited);
  if (unsaved.delete(edited)) unsaved.set(edited, newest);
  await sleep(PAUSE);
}

// Say that the server has refused the tours of a plan that is no longer edited.
function tellLost({ instance }, { field, message }) {
  const name = instance.name || count(instance.demands.length, "customer");
  const isTheirs = field === "revision";
  const why = isTheirs ? t`Somebody else has changed this plan meanwhile.` : message;
  show(byId("earlier"), true);
  warn("earlier-error", `${name}: ${why}`);
}
