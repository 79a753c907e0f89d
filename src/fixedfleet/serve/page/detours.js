// How much longer a tour becomes with one more stop, measured in straight lines.

const RADIUS = { km: 6371.0088, mi: 3958.7613 }; // of the earth

/*
 * Return {place, more}: the best position of a customer in a tour, and how much longer the tour
 * becomes. Return null if the instance has no coordinates.
 */
export function bestDetour(instance, stops, customer) {
  const places = [instance.depot, ...instance.stops];
  if (places.some(({ x }) => x === null)) return null;
  const gap = instance.geographic ? onGlobe(RADIUS[instance.unit] ?? RADIUS.km) : inPlane;
  const way = [0, ...stops.filter((stop) => stop !== customer), 0].map((stop) => places[stop]);
  const here = places[customer];
  let best = { place: 0, more: Infinity };
  for (let i = 0; i < way.length - 1; i += 1) {
    const more = gap(way[i], here) + gap(here, way[i + 1]) - gap(way[i], way[i + 1]);
    if (more < best.more) best = { place: i, more };
  }
  return best;
}

const inPlane = (a, b) => Math.hypot(a.x - b.x, a.y - b.y);

function onGlobe(radius) {
  const turn = Math.PI / 180;
  return (a, b) => {
    const [dx, dy] = [((a.x - b.x) * turn) / 2, ((a.y - b.y) * turn) / 2];
    const across = Math.cos(a.y * turn) * Math.cos(b.y * turn) * Math.sin(dx) ** 2;
    return 2 * radius * Math.asin(Math.min(1, Math.sqrt(Math.sin(dy) ** 2 + across)));
  };
}
