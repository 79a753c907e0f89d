// The dialogue that moves a stop to another tour or another place.

import { bestDetour } from "./detours.js";
import { byId, make, write } from "./elements.js";
import { capacityOf } from "./instance.js";
import { t } from "./language.js";
import { amount, count, lengthOf, nameOf } from "./numbers.js";

const [NEW, OUT, BEST] = ["new", "out", "best"];

/*
 * Ask where a customer should go. Return {slot, place}: the tour, or null to leave the customer
 * out, and the position in it, or null for the best one. If the user gives up, return undefined.
 */
export function askForPlace(customer, { instance, tours, unserved }) {
  const [dialog, where, place] = [byId("move"), byId("move-tour"), byId("move-place")];
  const stop = instance.stops[customer - 1];
  const own = tours.find(({ stops }) => stops.includes(customer));
  write(byId("move-name"), nameOf(stop));
  write(byId("move-demand"), t`Demand ${amount(stop.demand, instance.demandUnit)}`);
  where.replaceChildren(...choices(stop, { instance, tours, unserved, own }));
  where.value = own ? `${own.slot}` : where.options[0].value;
  const listPlaces = () => {
    const tour = tours.find(({ slot }) => `${slot}` === where.value);
    const others = tour?.stops.filter((one) => one !== customer) ?? [];
    const numbers = tour ? [...others.keys(), others.length] : [];
    place.replaceChildren(
      make("option", { value: BEST, text: t`the best place` }),
      ...numbers.map((at) => make("option", { value: at, text: t`stop ${at + 1}` })),
    );
    place.disabled = !tour;
  };
  listPlaces();
  where.onchange = listPlaces;
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.onclose = () => {
      if (dialog.returnValue !== "move") resolve(undefined);
      else resolve({ slot: slotOf(where.value, tours), place: placeOf(place.value) });
      dialog.returnValue = "";
    };
  });
}

function choices(stop, { instance, tours, unserved, own }) {
  const open = tours.filter(({ locked }) => !locked);
  const known = open.map((tour) => {
    const { slot, number, name, load, stops } = tour;
    const room = capacityOf(instance, tour) - load - (slot === own?.slot ? 0 : stop.demand);
    const more = bestDetour(instance, stops, stop.index)?.more ?? null;
    return { slot, number, name, room, more, fits: room >= -1e-9 };
  });
  // Tours with room for the customer come first, and among these the shortest detour.
  known.sort((a, b) => b.fits - a.fits || (a.more ?? 0) - (b.more ?? 0));
  const options = known.map(({ slot, number, name, room, more, fits }) => {
    const who = name ? `${number}, ${name}` : `${number}`;
    const about = instance.byRoad ? "≈ " : ""; // the detour is measured in straight lines
    const way = more === null ? "" : `${about}+${lengthOf(more, instance.unit, 3)}, `;
    const left = fits ? t`${amount(room, instance.demandUnit)} left` : t`too full`;
    return make("option", { value: slot, text: t`Tour ${who} (${way}${left})` });
  });
  if (tours.length < instance.vehicles) {
    const idle = count(instance.vehicles - tours.length, "vehicle");
    options.push(make("option", { value: NEW, text: t`A new tour (${idle} unused)` }));
  }
  if (!unserved.includes(stop.index)) {
    options.push(make("option", { value: OUT, text: t`No tour: leave it out` }));
  }
  return options;
}

function slotOf(value, tours) {
  if (value === OUT) return null;
  return value === NEW ? freeSlot(tours) : Number(value);
}

const placeOf = (value) => (value === BEST ? null : Number(value));

// Return the smallest slot that no tour has.
function freeSlot(tours) {
  let slot = 0;
  while (tours.some((tour) => tour.slot === slot)) slot += 1;
  return slot;
}
