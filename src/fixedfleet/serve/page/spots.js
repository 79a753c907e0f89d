// Finds the customer or the leg of a tour at a spot of the map. The functions get
// spotOf(customer), which returns the spot of a customer on the screen.

import { largestDot, radiusOf } from "./picture.js";

const DEPOT = 8; // the radius of the depot, in pixels

/* Return the customer (0 for the depot) whose dot is within reach of a spot, or null. */
export function customerAt(spot, scene, size, spotOf, reach) {
  const dot = largestDot(scene, size);
  let [nearest, least] = [null, Infinity];
  for (let customer = 0; customer < scene.points.length; customer += 1) {
    const { x, y } = spotOf(customer);
    const radius = customer ? radiusOf(scene, customer, dot) : DEPOT;
    const gap = Math.hypot(x - spot.x, y - spot.y) - radius;
    if (gap < least) [nearest, least] = [customer, gap];
  }
  return least <= reach ? nearest : null;
}

/*
 * Return the leg of a tour that is nearest to a spot, or null if none is within reach. A leg is
 * {slot, place, before, behind}: the tour, the position of the leg in it, and its two ends.
 */
export function legAt(spot, tours, spotOf, reach) {
  let [nearest, least] = [null, reach];
  for (const { slot, stops } of tours) {
    const way = [0, ...stops, 0];
    const spots = way.map(spotOf);
    for (let place = 0; place < way.length - 1; place += 1) {
      const gap = distanceToSegment(spot, spots[place], spots[place + 1]);
      if (gap >= least) continue;
      least = gap;
      nearest = { slot, place, before: way[place], behind: way[place + 1] };
    }
  }
  return nearest;
}

function distanceToSegment(spot, from, to) {
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  const square = dx * dx + dy * dy;
  const along = square ? ((spot.x - from.x) * dx + (spot.y - from.y) * dy) / square : 0;
  const share = Math.min(1, Math.max(0, along));
  return Math.hypot(spot.x - from.x - share * dx, spot.y - from.y - share * dy);
}
