// Places for the numbers of stops, so that no number covers another.

const STEPS = 12; // directions that are tried around a stop
const RINGS = 8;

/*
 * Return a spot {x, y} for the label of each stop: on the stop if there is room, otherwise
 * beside it. Labels are discs with this radius. If the map is too crowded, labels may overlap.
 */
export function placeLabels(stops, radius) {
  const placed = [];
  const isFree = (spot) =>
    placed.every((other) => Math.hypot(spot.x - other.x, spot.y - other.y) >= 2 * radius);
  for (const stop of stops) {
    placed.push(candidates(stop, radius).find(isFree) ?? { x: stop.x, y: stop.y });
  }
  return placed;
}

function candidates({ x, y }, radius) {
  const spots = [{ x, y }];
  for (let ring = 1; ring <= RINGS; ring += 1) {
    for (let step = 0; step < STEPS; step += 1) {
      const [angle, away] = [(2 * Math.PI * step) / STEPS, (1 + ring) * radius];
      spots.push({ x: x + away * Math.cos(angle), y: y + away * Math.sin(angle) });
    }
  }
  return spots;
}
