// Keeps the colours of the tours while the plan changes.

/*
 * Return the slot of each new tour: that of the earlier tour that shares most customers with it.
 * A slot is a number from 0 that determines the colour of a tour and its place in the list. If
 * the plans have little in common, the slots are 0, 1, 2, … in the order of the new tours.
 */
export function keepSlots(before, tours) {
  const slotOf = new Map();
  for (const { slot, stops } of before) {
    for (const customer of stops) slotOf.set(customer, slot);
  }
  const slots = new Array(tours.length).fill(-1);
  const taken = new Set([undefined]); // the slot of customers who had no tour
  let kept = 0;
  for (const [tour, slot, shared] of bySharing(tours, slotOf)) {
    if (slots[tour] === -1 && !taken.has(slot)) {
      slots[tour] = slot;
      taken.add(slot);
      kept += shared;
    }
  }
  if (kept < slotOf.size / 2) return tours.map((_, tour) => tour);
  let free = 0;
  return slots.map((slot) => {
    if (slot !== -1) return slot;
    while (taken.has(free)) free += 1;
    taken.add(free);
    return free;
  });
}

// Return triples [tour, earlier slot, number of shared customers], the largest number first.
function bySharing(tours, slotOf) {
  const pairs = tours.flatMap((stops, tour) => {
    const shared = Map.groupBy(stops, (customer) => slotOf.get(customer));
    return [...shared].map(([slot, customers]) => [tour, slot, customers.length]);
  });
  return pairs.sort((a, b) => b[2] - a[2]);
}
