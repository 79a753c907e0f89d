// The form: vehicles, capacity, seconds, the cost of a vehicle, whether to prove the plan,
// names and units. What the user types is kept for the next file and the next visit.

import { byId, show, warn, write } from "./elements.js";
import { amount, percent, readNumber, typedNumber } from "./numbers.js";

const NUMBERS = ["vehicles", "capacity", "time_limit", "vehicle_cost"];
const TEXTS = ["unit", "length_unit", "vehicle_names"];
const KEPT = ["vehicles", "capacity", ...TEXTS];
const PLACE = "fixedfleet-fleet"; // in the browser's store

/*
 * Call onPlan() when the form is sent, onChange() when the fleet has been edited, and
 * onNames(names) when the names of the vehicles have been.
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
  for (const name of ["vehicles", "capacity", "unit"]) {
    byId(name).addEventListener("input", onChange);
  }
  byId("length_unit").addEventListener("change", onChange);
  byId("vehicle_names").addEventListener("change", () => onNames(names()));
  for (const name of TEXTS) byId(name).value = kept()[name] ?? byId(name).value;
}

/* Return what was typed; a field that is empty or wrong is null. The server checks it. */
export function values() {
  const typed = Object.fromEntries(NUMBERS.map((name) => [name, numberIn(name)]));
  typed.vehicle_cost ??= 0;
  return { ...typed, prove: byId("prove").checked };
}

/* Return the names of the units, as the server takes them. */
export function units({ geographic }) {
  const lengths = geographic ? { length_unit: byId("length_unit").value } : {};
  const unit = byId("unit").value.trim();
  return unit ? { ...lengths, unit } : lengths;
}

/* Return the names of the vehicles; a vehicle without a name has an empty line. */
export function names() {
  const text = byId("vehicle_names").value.trimEnd();
  return text ? text.split("\n").map((line) => line.trim()) : [];
}

/* Return the day of the tours, as 2026-03-12; empty if none is chosen. */
export const date = () => byId("date").value;

export function fill(known) {
  for (const name of NUMBERS) {
    const value = known[name];
    if (value !== undefined) byId(name).value = value === null ? "" : typedNumber(value);
  }
  for (const name of ["unit", "length_unit", "date"]) {
    if (known[name]) byId(name).value = known[name];
  }
  if (known.prove !== undefined) byId("prove").checked = known.prove;
  if (known.vehicle_names?.some(Boolean)) {
    byId("vehicle_names").value = known.vehicle_names.join("\n");
  }
}

/* Fill in the fleet of a file; what the file does not say stays as the user typed it. */
export function fillFrom({ vehicles, capacity, demandUnit, unit }) {
  const before = kept();
  fill({
    vehicles: vehicles ?? before.vehicles ?? null,
    capacity: capacity ?? before.capacity ?? null,
    unit: demandUnit,
    length_unit: unit,
  });
}

export function enable({ geographic }) {
  byId("plan").disabled = false;
  byId("fleet-fields").disabled = false;
  byId("length_unit").disabled = !geographic;
}

/* Say on the button that only the tours that are not locked are planned. */
export function setLocked(tours) {
  write(byId("plan"), tours ? "Plan the other tours" : "Plan");
}

/* Show how full the vehicles would be, if their capacity is known. */
export function weigh(instance) {
  const { vehicles, capacity } = values();
  const room = vehicles * capacity;
  const share = room > 0 ? instance.total_demand / room : null;
  show(byId("filling"), share !== null);
  if (share === null) return;
  byId("filling-bar").style.setProperty("--fill", Math.min(1, share));
  byId("filling-bar").classList.toggle("over", share > 1);
  const all = amount(room, byId("unit").value.trim());
  write(
    byId("filling-text"),
    `${amount(instance.total_demand)} of ${all}: ${percent(share)} full`,
  );
}

export function clearErrors() {
  for (const name of NUMBERS) mark(name, "");
  warn("form-error", "");
}

/* Return whether all fields are numbers; mark the first that is not. */
export function isReadable() {
  const bad = NUMBERS.find((name) => errorIn(name));
  if (bad) fail({ field: bad, message: errorIn(bad) });
  return !bad;
}

/* Show an error beside the field it names, or below the button. */
export function fail(error, { focus = true } = {}) {
  const { field } = error;
  if (!NUMBERS.includes(field)) {
    warn("form-error", error.message);
    return;
  }
  // The name of the field is above it already.
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
    localStorage.setItem(PLACE, JSON.stringify({ vehicles, capacity, ...texts }));
  } catch {
    // A browser without a store forgets the fleet.
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
