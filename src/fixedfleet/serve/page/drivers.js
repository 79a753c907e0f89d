// Keeps the same driver in the same area. Each tour of a new plan gets the number, the colour
// and the name of the tour in the last plan with which it shares most customers.

const PLACE = "fixedfleet-drivers"; // the key in the browser's local storage

/* Remember which customers each driver serves in the tours that are shown. */
export function rememberDrivers(tours, { stops }) {
  const noted = tours.map((tour) => ({
    name: tour.name,
    customers: tour.stops.map((customer) => stops[customer - 1].name),
  }));
  try {
    localStorage.setItem(PLACE, JSON.stringify(noted));
  } catch {
    // Without local storage, the drivers are forgotten.
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
 * Return the tours in the order of the last plan and with its names, as far as they share
 * customers with it. names has the names of all vehicles.
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

// Return a Map from each tour to the earlier tour that it continues, by their positions. The
// pairs that share most customers are chosen first.
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
