// The note beside a customer on the map: name, demand, place in the tour.

import { byId, make, show } from "./elements.js";
import { t } from "./language.js";
import { amount, nameOf } from "./numbers.js";

const GAP = 16;

/* Show the note about a place at a spot of the map. If place is null, hide the note. */
export function showTip(place, spot) {
  const tip = byId("tip");
  show(tip, place !== null);
  if (place === null) return;
  tip.replaceChildren(
    make("strong", { text: place.name }),
    ...place.lines.map((text) => make("span", { text })),
  );
  const [map, box] = [byId("map").getBoundingClientRect(), tip.getBoundingClientRect()];
  const within = (at, most) => Math.max(4, Math.min(at, most - 4));
  const right = spot.x + GAP + box.width < map.width;
  const x = right ? spot.x + GAP : spot.x - GAP - box.width;
  const left = within(x, map.width - box.width);
  const top = within(spot.y - box.height / 2, map.height - box.height);
  tip.style.transform = `translate(${left}px, ${top}px)`;
}

/* Return the note about a customer, or about the depot (0); null for null. */
export function describePlace(customer, instance, tours, unserved) {
  if (customer === null) return null;
  if (customer === 0) return { name: instance.depot.name, lines: [t`The depot`] };
  const stop = instance.stops[customer - 1];
  const lines = [t`Demand ${amount(stop.demand, instance.demandUnit)}`];
  const tour = tours.find(({ stops }) => stops.includes(customer));
  if (tour) {
    const place = tour.stops.indexOf(customer) + 1;
    lines.push(t`Stop ${place} of ${tour.stops.length} in tour ${tour.number}`);
  } else if (unserved.includes(customer)) {
    lines.push(t`Left out`);
  }
  if (stop.window) lines.push(t`Delivery ${stop.window}`);
  for (const texts of Object.values(instance.columns)) {
    if (texts[customer]) lines.push(texts[customer]);
  }
  return { name: nameOf(stop), lines };
}
