// Instances and tours as the page uses them, made from the server's documents.

const GEOGRAPHIC = ["great_circle", "geo"];

export const unitOf = ({ metric }) => (GEOGRAPHIC.includes(metric) ? "km" : "");

/*
 * Return an instance with its places: x is the longitude and y the latitude, in decimal
 * degrees, where the instance is geographic; both are null without coordinates.
 */
export function instanceOf(document) {
  const { name, vehicles, capacity, metric, names, demands, customers } = document;
  const stops = demands.map((demand, i) => ({
    index: i + 1,
    name: names?.[i] ?? `${i + 1}`,
    demand,
    ...placeOf(customers?.[i], metric),
  }));
  return {
    name,
    vehicles,
    capacity,
    customers: demands.length,
    total_demand: demands.reduce((sum, demand) => sum + demand, 0),
    geographic: GEOGRAPHIC.includes(metric),
    unit: unitOf(document),
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
  return tours.map(({ customers, load, length }) => ({ stops: customers, load, length }));
}

/* Whether a result has a plan that serves every customer. */
export const servesAll = (result) => result !== null && result.tours !== null;
