// Instances and tours as the page uses them, made from the server's documents.

import { t } from "./language.js";
import { amount } from "./numbers.js";
import { windowOf } from "./times.js";

const GEOGRAPHIC = ["great_circle", "geo", "road"];
// Columns that make an address, in its order; together they are one column of a sheet.
const ADDRESS = [
  /^(stra(ß|ss)e|str|adresse|anschrift|street|address|hausnummer|haus-?nr)\b/i,
  /^(plz|postleitzahl|zip|postcode|post ?code|postal code)\b/i,
  /^(ort|stadt|town|city|place)\b/i,
];

/* Return the unit of lengths. */
export const unitOf = ({ metric, length_unit: unit }) =>
  unit || (GEOGRAPHIC.includes(metric) ? "km" : "");

/* Return what to say behind a length: whether it is that of a road. */
export function wayOf({ geographic, detour, byRoad }) {
  if (byRoad) return t`by road`;
  if (!geographic) return "";
  return detour === 1 ? t`in a straight line` : t`in a straight line, times ${amount(detour)}`;
}

/*
 * Return an instance with its places: x is the longitude and y the latitude, in decimal
 * degrees, where the instance is geographic; both are null without coordinates.
 */
export function instanceOf(document) {
  const { name, metric, names, demands, customers } = document;
  const types = document.vehicle_types ?? null; // {name, count, capacity, shift or null}
  const sizes = types?.map(({ capacity }) => capacity);
  const labels = (names ?? demands.map((_, i) => `${i + 1}`)).map(String);
  const same = Map.groupBy(labels, (label) => label);
  const { address } = splitColumns(document.columns ?? {});
  // Customers with the same name are told apart by their addresses, else by their numbers.
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
    // Whether times are times of day: someone has said when the day begins.
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

/* Return the tours of a result; if customers are unserved, those of its partial plan. */
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

/* Return what the vehicle of a tour carries. */
export const capacityOf = ({ types, capacity }, { type }) => types?.[type]?.capacity ?? capacity;

/* Whether a tour carries more than its vehicle can. */
export function isOverloaded(instance, tour) {
  const capacity = capacityOf(instance, tour);
  return Boolean(capacity) && tour.load > capacity * (1 + 1e-9);
}

/* Whether two lists have the same tours {stops}, in any order. */
export function sameTours(some, others) {
  const stops = (tours) => tours.map((tour) => `${tour.stops}`).sort().join(";");
  return stops(some) === stops(others);
}

/*
 * Return the tours of a finished plan as {stops, load, length, name, locked}: those that
 * the dispatcher has changed, else those that were found.
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

/* Return the customers whom a finished plan leaves out, by hand or for want of room. */
export function unservedIn({ edited, result, request }) {
  if (edited) return edited.unserved;
  return servesAll(result) ? (request?.taken_out ?? []) : result.unserved;
}

/* Whether a result has a plan that serves every customer. */
export const servesAll = (result) => result !== null && result.tours !== null;

/*
 * Return the address(customer) of street, postcode and town, and the other further columns as
 * [heading, texts]. Columns without any text are left out.
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
