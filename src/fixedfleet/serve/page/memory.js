// What this tab remembers over a reload: the text that its newest plan was made from.

const KEY = "fixedfleet-source";

export function remember(id, source) {
  try {
    sessionStorage.setItem(KEY, JSON.stringify({ id, source }));
  } catch {
    // Storage may be full or forbidden; the plan itself is with the server.
  }
}

/* The source of a plan: as remembered, else as far as its own document says it. */
export function recall(plan) {
  const kept = JSON.parse(sessionStorage.getItem(KEY) ?? "null");
  return kept?.id === plan.id ? kept.source : rebuild(plan.instance);
}

// Coordinates of TSPLIB's kind come converted and a matrix not at all: null for these.
function rebuild(instance) {
  const { metric } = instance;
  if (metric !== "euclidean" && metric !== "great_circle") return null;
  const point = ({ x, y }) => (instance.geographic ? [y, x] : [x, y]);
  const file = {
    name: instance.name,
    metric,
    rounding: instance.rounding,
    depot: point(instance.depot),
    depot_name: instance.depot.name,
    customers: instance.stops.map(point),
    demands: instance.stops.map((stop) => stop.demand),
    names: instance.stops.map((stop) => stop.name),
  };
  return { text: JSON.stringify(file), format: "json", title: instance.name };
}
