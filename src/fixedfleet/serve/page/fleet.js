// The form: vehicles, capacity, times, seconds, the cost of a vehicle, whether to prove the
// plan, and units. What the user types is kept for the next file and the next visit.

import { byId, show, warn, write } from "./elements.js";
import { t } from "./language.js";
import { amount, percent, readNumber, typedNumber } from "./numbers.js";
import { clock, readClock } from "./times.js";
import * as table from "./vehicles.js";

const DAY = ["service_minutes", "longest", "speed", "detour"]; // fields about times and speed
const NUMBERS = ["vehicles", "capacity", "time_limit", "vehicle_cost", ...DAY];
const TEXTS = ["unit", "length_unit", "start", ...DAY];
const KEPT = ["vehicles", "capacity", ...TEXTS];
const PLACE = "fixedfleet-fleet"; // the key in the browser's local storage

/*
 * Call onPlan() when the form is sent, onChange() when the fleet has been edited, and
 * onNames(names) when the names of the vehicles have been edited.
 */
export function listen({ onPlan, onChange, onNames }) {
  byId("fleet-form").addEventListener("submit", (event) => {
    event.preventDefault();
    onPlan();
  });
  for (const name of NUMBERS) {
    byId(name).addEventListener("input", () => mark(name, ""));
    byId(name).addEventListener("change", () => mark(name, errorIn(name)));
  }
  for (const name of KEPT) byId(name).addEventListener("input", keep);
  for (const name of ["vehicles", "capacity", "unit", "start", ...DAY]) {
    byId(name).addEventListener("input", onChange);
  }
  byId("start").addEventListener("change", () => markStart());
  byId("length_unit").addEventListener("change", onChange);
  const changed = () => {
    keep();
    followTable();
    onChange();
  };
  table.listen({ onChange: changed, onNames: () => onNames(names()) });
  for (const name of TEXTS) byId(name).value = kept()[name] ?? byId(name).value;
  table.fill(kept().table ?? []);
  followTable();
}

// If the table has vehicle types, it states the number of vehicles and perhaps the capacities.
// The fields for these can then not be edited.
function followTable() {
  const types = table.types(null);
  byId("vehicles").readOnly = types !== null;
  byId("capacity").readOnly = types !== null && types.every(({ capacity }) => capacity);
  if (types) byId("vehicles").value = types.reduce((sum, { count }) => sum + count, 0);
}

/* Return the typed values. A field that is empty or wrong is null. The server checks them. */
export function values() {
  const typed = Object.fromEntries(NUMBERS.map((name) => [name, numberIn(name)]));
  const { vehicles, capacity, time_limit, vehicle_cost } = typed;
  return { vehicles, capacity, time_limit, vehicle_cost: vehicle_cost ?? 0, prove: byId("prove").checked };
}

/*
 * Return the fleet and its times, in the form in which they are sent to the server. The fleet is
 * the number of vehicles and their capacity, or the vehicle types in the table. Return null if
 * it is not known yet.
 */
export function fleet(instance) {
  const { vehicles, capacity } = values();
  const types = table.types(capacity);
  if (types?.some((type) => !type.capacity)) return null;
  if (!types && !(vehicles && capacity)) return null;
  const size = types ? { vehicle_types: types } : { vehicles, capacity };
  return { ...size, ...times(instance) };
}

/*
 * Return minutes per stop, shift, speed and detour. If the instance has no latitudes and
 * longitudes, the speed is left out unless minutes or a shift are given.
 */
export function times({ geographic }) {
  const [minutes, hours, speed, detour] = DAY.map(numberIn);
  const typed = readClock(byId("start").value);
  const start = Number.isNaN(typed) ? null : typed; // 0 is midnight
  const given = { service_minutes: minutes, detour };
  if (geographic || minutes !== null || hours !== null) given.speed = speed;
  if (start !== null || hours !== null) {
    const from = start ?? 0;
    given.shift = [from, hours === null ? 24 * 60 : from + 60 * hours];
  }
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null));
}

/* Return the units of demands and lengths, in the form in which they are sent to the server. */
export function units({ geographic }) {
  const lengths = geographic ? { length_unit: byId("length_unit").value } : {};
  const unit = byId("unit").value.trim();
  return unit ? { ...lengths, unit } : lengths;
}

/* Return the names of the vehicles. The name of a vehicle without one is an empty text. */
export const names = () => table.names();

/* Return the day of the tours, such as 2026-03-12; an empty text if none is chosen. */
export const date = () => byId("date").value;

export function fill(known) {
  for (const name of NUMBERS) {
    const value = known[name];
    if (value !== undefined) byId(name).value = value === null ? "" : typedNumber(value);
  }
  for (const name of ["unit", "length_unit", "date"]) {
    if (known[name]) byId(name).value = known[name];
  }
  if (known.shift) {
    const [from, to] = known.shift;
    byId("start").value = from ? clock(from) : "";
    byId("longest").value = to < 24 * 60 || !from ? typedNumber((to - from) / 60) : "";
  }
  if (known.prove !== undefined) byId("prove").checked = known.prove;
  if (known.vehicle_types?.length) {
    table.fillTypes(known.vehicle_types);
    byId("vehicle-table").open = true;
  } else if (known.vehicle_names?.some(Boolean)) {
    table.fill(known.vehicle_names.map((name) => ({ name })));
  }
  followTable();
}

/* Fill in the fleet of a file. What the file does not state stays as the user typed it. */
export function fillFrom({ vehicles, capacity, demandUnit, unit, types }) {
  const before = kept();
  fill({
    vehicle_types: types,
    vehicles: vehicles ?? before.vehicles ?? null,
    capacity: (types ? null : capacity) ?? before.capacity ?? null,
    unit: demandUnit,
    length_unit: unit,
  });
}

export function enable({ geographic }, { roads }) {
  show(byId("straight"), !(geographic && roads));
  byId("plan").disabled = false;
  byId("fleet-fields").disabled = false;
  byId("length_unit").disabled = !geographic;
}

/* If tours are locked, say on the button that only the other tours are planned. */
export function setLocked(tours) {
  write(byId("plan"), tours ? t`Plan the other tours` : t`Plan`);
}

/* Show how full the vehicles would be, if their capacity is known. */
export function weigh(instance) {
  const { vehicles, capacity } = values();
  const types = table.types(capacity) ?? [{ count: vehicles, capacity }];
  const room = types.reduce((sum, type) => sum + type.count * type.capacity, 0);
  const share = room > 0 ? instance.total_demand / room : null;
  show(byId("filling"), share !== null);
  if (share === null) return;
  byId("filling-bar").style.setProperty("--fill", Math.min(1, share));
  byId("filling-bar").classList.toggle("over", share > 1);
  const all = amount(room, byId("unit").value.trim());
  const load = amount(instance.total_demand);
  write(byId("filling-text"), t`${load} of ${all}: ${percent(share)} full`);
}

export function clearErrors() {
  for (const name of NUMBERS) mark(name, "");
  mark("start", "");
  warn("form-error", "");
}

/* Return whether all fields can be read. Show an error at the first one that cannot. */
export function isReadable() {
  const bad = NUMBERS.find((name) => errorIn(name));
  if (bad) fail({ field: bad, message: errorIn(bad) });
  return !bad && markStart() && table.isReadable();
}

// Return whether the departure is a time of day. If it is not, show an error.
function markStart() {
  const wrong = Number.isNaN(readClock(byId("start").value));
  mark("start", wrong ? t`not a time: write it like 8:30` : "");
  return !wrong;
}

/* Show an error beside the field that it names; if it names none, below the button. */
export function fail(error, { focus = true } = {}) {
  const { field } = error;
  if (!NUMBERS.includes(field)) {
    warn("form-error", error.message);
    return;
  }
  // The name of the field is left out of the message, because it is above the field already.
  mark(field, error.message.replace(`${field}: `, ""));
  if (focus) byId(field).focus();
}

function mark(name, message) {
  warn(`${name}-error`, message);
  byId(name).ariaInvalid = message ? "true" : null;
}

function keep() {
  const { vehicles, capacity } = values();
  const texts = Object.fromEntries(TEXTS.map((name) => [name, byId(name).value]));
  try {
    const all = { vehicles, capacity, ...texts, table: table.texts() };
    localStorage.setItem(PLACE, JSON.stringify(all));
  } catch {
    // Without local storage, the fleet is forgotten.
  }
}

function kept() {
  try {
    return JSON.parse(localStorage.getItem(PLACE)) ?? {};
  } catch {
    return {};
  }
}

const numberIn = (name) => readNumber(byId(name).value).value ?? null;
const errorIn = (name) => readNumber(byId(name).value).error ?? "";
