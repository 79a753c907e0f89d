// The same driver in the same area: a new plan gives each tour the number, the colour and the
// name of the tour of the last plan with which it shares most customers.

const PLACE = "fixedfleet-drivers"; // in the browser's store

/* Note who serves whom in the tours that are shown. */
export function rememberDrivers(tours, { stops }) {
  const noted = tours.map((tour) => ({
    name: tour.name,
    customers: tour.stops.map((customer) => stops[customer - 1].name),
  }));
  try {
    localStorage.setItem(PLACE, JSON.stringify(noted));
  } catch {
    // A browser without a store forgets the drivers.
  }
}

function remembered() {
  try {
    return JSON.parse(localStorage.getItem(PLACE)) ?? [];
  } catch {
    return [];
  }
}

/*
 * Return tours in the order and with the names of the last plan, as far as they share
 * customers; names are those of all vehicles.
 */
export function likeLastTime(tours, instance, names, before = remembered()) {
  const partner = partners(tours, instance, before);
  const order = Array(tours.length).fill(null);
  const rest = [];
  tours.forEach((tour, i) => {
    const place = partner.get(i);
    if (place !== undefined && place < order.length) order[place] = i;
    else rest.push(i);
  });
  const placed = order.map((i) => i ?? rest.shift());
  const free = [...names];
  const take = (name) => {
    const at = free.indexOf(name);
    return at === -1 ? null : free.splice(at, 1)[0];
  };
  const last = placed.map((i) => before[partner.get(i)]?.name ?? "");
  if (instance.types?.some(({ name }) => name)) {
    return withVehicles(placed.map((i) => tours[i]), last, instance.types);
  }
  const own = last.map(take);
  return placed.map((i, at) => ({ ...tours[i], name: own[at] ?? free.shift() ?? "" }));
}

// Return tours that have exchanged vehicles which differ in their names only: each has the
// name of last time, if it is free.
function withVehicles(tours, last, types) {
  const kinds = types.map(({ name: _, count: __, ...kind }) => JSON.stringify(kind));
  const free = types.flatMap(({ count }, type) => Array(count).fill(type));
  const take = (fits) => {
    const at = free.findIndex(fits);
    return at === -1 ? null : free.splice(at, 1)[0];
  };
  const own = tours.map((tour, i) =>
    take((type) => last[i] && types[type].name === last[i] && kinds[type] === kinds[tour.type]),
  );
  return tours.map((tour, i) => {
    const type =
      own[i] ?? take((one) => one === tour.type) ?? take((one) => kinds[one] === kinds[tour.type]);
    return { ...tour, type: type ?? tour.type, name: types[type ?? tour.type].name };
  });
}

// Return which earlier tour each tour continues: those that share most customers first.
function partners(tours, { stops }, before) {
  const earlier = before.map(({ customers }) => new Set(customers));
  const pairs = tours.flatMap((tour, i) =>
    earlier.map((customers, j) => {
      const shared = tour.stops.filter((one) => customers.has(stops[one - 1].name)).length;
      return { i, j, shared };
    }),
  );
  pairs.sort((a, b) => b.shared - a.shared || Math.abs(a.i - a.j) - Math.abs(b.i - b.j));
  const [found, used] = [new Map(), new Set()];
  for (const { i, j, shared } of pairs) {
    if (!shared || found.has(i) || used.has(j)) continue;
    found.set(i, j);
    used.add(j);
  }
  return found;
}
