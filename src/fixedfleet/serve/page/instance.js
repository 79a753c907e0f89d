// Turns the server's documents into instances and tours as the page uses them.

import { t } from "./language.js";
import { amount } from "./numbers.js";
import { windowOf } from "./times.js";

const GEOGRAPHIC = ["great_circle", "geo", "road"];
// Headings of the columns of an address, in the order in which it is written. On a driver's
// sheet, the address is one text.
const ADDRESS = [
  /^(stra(ß|ss)e|str|adresse|anschrift|street|address|hausnummer|haus-?nr)\b/i,
  /^(plz|postleitzahl|zip|postcode|post ?code|postal code)\b/i,
  /^(ort|stadt|town|city|place)\b/i,
];

/* Return the unit of lengths. */
export const unitOf = ({ metric, length_unit: unit }) =>
  unit || (GEOGRAPHIC.includes(metric) ? "km" : "");

/* Return what to write after a length: whether it is by road or in a straight line. */
export function wayOf({ geographic, detour, byRoad }) {
  if (byRoad) return t`by road`;
  if (!geographic) return "";
  return detour === 1 ? t`in a straight line` : t`in a straight line, times ${amount(detour)}`;
}

/*
 * Return the instance of a document. If it is geographic, the x of a place is the longitude and
 * y the latitude, in decimal degrees. If it has no coordinates, x and y are null.
 */
export function instanceOf(document) {
  const { name, metric, names, demands, customers } = document;
  const types = document.vehicle_types ?? null; // {name, count, capacity, shift or null}
  const sizes = types?.map(({ capacity }) => capacity);
  const labels = (names ?? demands.map((_, i) => `${i + 1}`)).map(String);
  const same = Map.groupBy(labels, (label) => label);
  const { address } = splitColumns(document.columns ?? {});
  // Customers with the same name are distinguished by their addresses. If the addresses are the
  // same, too, they are distinguished by their numbers.
  const byAddress = Map.groupBy(labels.keys(), (i) => `${labels[i]}, ${address(i + 1)}`);
  const labelOf = (i) => {
    if (same.get(labels[i]).length === 1) return labels[i];
    const label = `${labels[i]}, ${address(i + 1)}`;
    const told = address(i + 1) && byAddress.get(label).length === 1;
    return told ? label : `${labels[i]} (${i + 1})`;
  };
  const stops = demands.map((demand, i) => ({
    index: i + 1,
    name: labelOf(i),
    ownName: labels[i],
    demand,
    window: document.windows ? windowOf(document.windows[i]) : "",
    ...placeOf(customers?.[i], metric),
  }));
  return {
    name,
    vehicles: types ? types.reduce((sum, { count }) => sum + count, 0) : document.vehicles,
    capacity: types ? Math.max(...sizes) : document.capacity, // the largest
    types,
    // Whether times are times of day: windows or shifts say when the day begins.
    hasClock: Boolean(document.windows) || (types ?? []).some(({ shift }) => shift?.[0] > 0),
    detour: document.detour ?? 1,
    byRoad: metric === "road",
    customers: demands.length,
    total_demand: demands.reduce((sum, demand) => sum + demand, 0),
    geographic: GEOGRAPHIC.includes(metric),
    unit: unitOf(document),
    demandUnit: document.unit ?? "",
    columns: document.columns ?? {}, // texts of depot and customers, by heading
    depot: { name: document.depot_name, ...placeOf(document.depot, metric) },
    stops,
  };
}

function placeOf(point, metric) {
  if (!point) return { x: null, y: null };
  const [first, second] = metric === "geo" ? point.map(toDecimal) : point;
  return GEOGRAPHIC.includes(metric) ? { x: second, y: first } : { x: first, y: second };
}

// TSPLIB writes degrees and minutes as DDD.MM.
function toDecimal(value) {
  const degrees = Math.trunc(value);
  return degrees + ((value - degrees) * 5) / 3;
}

/* Return the tours of a result. If customers are unserved, they are those of its partial plan. */
export function toursOf(result) {
  const tours = result?.tours ?? result?.partial?.tours ?? [];
  return tours.map(({ customers, load, length, vehicle_type: type = null, times = null }) => ({
    stops: customers,
    load,
    length,
    type, // the index of its vehicle type; null if all vehicles are alike
    times, // {departure, stops, end, is_late}; null if they are not known
  }));
}

/* Return the capacity of the vehicle of a tour. */
export const capacityOf = ({ types, capacity }, { type }) => types?.[type]?.capacity ?? capacity;

/* Return whether the load of a tour exceeds the capacity of its vehicle. */
export function isOverloaded(instance, tour) {
  const capacity = capacityOf(instance, tour);
  return Boolean(capacity) && tour.load > capacity * (1 + 1e-9);
}

/* Return whether two lists have the same tours {stops}, in any order. */
export function sameTours(some, others) {
  const stops = (tours) => tours.map((tour) => `${tour.stops}`).sort().join(";");
  return stops(some) === stops(others);
}

/*
 * Return the tours of a finished plan as {stops, load, length, name, locked}. If the dispatcher
 * has changed the plan, they are the changed tours.
 */
export function currentTours({ result, edited, request, instance }) {
  const tours = edited ? toursOf(edited) : toursOf(result);
  const types = instance?.vehicle_types;
  const names = types?.some(({ name }) => name)
    ? tours.map(({ type }) => types[type].name)
    : (edited?.vehicle_names ?? request?.vehicle_names ?? []);
  const locked = edited?.locked ?? (request?.locked ?? []).map((_, i) => i + 1);
  return tours.map((tour, i) => ({
    ...tour,
    name: names[i] ?? "",
    locked: locked.includes(i + 1),
  }));
}

/* Return the customers that the dispatcher took out of all tours of a plan. */
export const takenOut = ({ edited, request }) =>
  edited?.taken_out ?? request?.taken_out ?? [];

/*
 * Return the customers that a finished plan does not serve: the dispatcher took them out, or the
 * fleet is too small.
 */
export function unservedIn({ edited, result, request }) {
  if (edited) return edited.unserved;
  return servesAll(result) ? (request?.taken_out ?? []) : result.unserved;
}

/* Return whether a result has a plan that serves every customer. */
export const servesAll = (result) => result !== null && result.tours !== null;

/*
 * Return {address, others}. address(customer) returns the street, postcode and town of a
 * customer. others are the remaining columns as [heading, texts]. Columns without any text are
 * left out.
 */
export function splitColumns(columns) {
  const filled = Object.entries(columns).filter(([, texts]) => texts.slice(1).some(Boolean));
  const kindOf = ([head]) => ADDRESS.findIndex((kind) => kind.test(head.trim()));
  const address = (customer) => {
    const of = (...kinds) =>
      kinds
        .flatMap((kind) => filled.filter((column) => kindOf(column) === kind))
        .map(([, texts]) => texts[customer])
        .filter(Boolean)
        .join(" ");
    return [of(0), of(1, 2)].filter(Boolean).join(", ");
  };
  return { address, others: filled.filter((column) => kindOf(column) === -1) };
}
