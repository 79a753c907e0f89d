// The dispatcher's changes to a plan: moved stops and locked tours, with undo and redo.
// The server measures and keeps every change.

import { ask, planPath } from "./api.js";
import { sleep } from "./watch.js";

const PAUSE = 2; // seconds before a change is sent again to a server that is away

/*
 * Return tours {slot, stops, name, locked} with a customer at a place in a tour.
 *
 * With a slot that no tour has, the customer gets a tour of its own; with the slot null, it
 * is left out. Tours without stops disappear.
 */
export function withStop(tours, customer, slot, place) {
  const others = tours.map((tour) => ({
    ...tour,
    stops: tour.stops.filter((stop) => stop !== customer),
  }));
  if (slot !== null) {
    const tour = others.find((one) => one.slot === slot);
    if (tour) tour.stops.splice(place, 0, customer);
    else others.push({ slot, stops: [customer], name: "", locked: false });
  }
  return others.filter(({ stops }) => stops.length > 0);
}

/*
 * Return the place in a tour where a customer makes the smallest detour on the map; the last
 * place without a map. points begin with the depot.
 */
export function bestPlace(stops, customer, points) {
  const way = [0, ...stops.filter((stop) => stop !== customer), 0];
  if (!points) return way.length - 2;
  const gap = (a, b) => Math.hypot(points[a].x - points[b].x, points[a].y - points[b].y);
  let [best, least] = [0, Infinity];
  for (let i = 0; i < way.length - 1; i += 1) {
    const detour =
      gap(way[i], customer) + gap(customer, way[i + 1]) - gap(way[i], way[i + 1]);
    if (detour < least) [best, least] = [i, detour];
  }
  return best;
}

export class Editor {
  #plan = null;
  #tours = []; // {slot, stops, name, locked}
  #past = [];
  #future = [];
  #saving = false;
  #unsaved = false;
  #names = [];
  #onChange;
  #onSaved;
  #onError;

  /*
   * onChange(tours) shows changed tours at once, onSaved(edited) what the server has
   * measured, and onError(error) why it has not.
   */
  constructor({ onChange, onSaved, onError }) {
    this.#onChange = onChange;
    this.#onSaved = onSaved;
    this.#onError = onError;
  }

  /* Begin with the tours of a finished plan. names are those of all vehicles. */
  open(plan, tours, names) {
    this.#plan = plan;
    this.#names = names;
    [this.#past, this.#future] = [[], []];
    this.#tours = tours.map(({ slot, stops, name, locked }) => ({ slot, stops, name, locked }));
  }

  close() {
    this.#plan = null;
    [this.#tours, this.#past, this.#future] = [[], [], []];
  }

  get isOpen() {
    return this.#plan !== null;
  }

  get canUndo() {
    return this.#past.length > 0;
  }

  get canRedo() {
    return this.#future.length > 0;
  }

  get locked() {
    return this.#tours.filter((tour) => tour.locked);
  }

  /* Move a customer to a place in a tour; see withStop. */
  move(customer, slot, place) {
    const tours = withStop(this.#tours, customer, slot, place);
    const used = new Set(tours.map((tour) => tour.name));
    for (const tour of tours) {
      if (tour.slot !== slot || this.#tours.some((one) => one.slot === slot)) continue;
      tour.name = this.#names.find((name) => !used.has(name)) ?? "";
    }
    this.#change(tours);
  }

  /* Lock a tour, or unlock it. */
  toggleLock(slot) {
    this.#change(
      this.#tours.map((tour) =>
        tour.slot === slot ? { ...tour, locked: !tour.locked } : tour,
      ),
    );
  }

  undo() {
    if (this.canUndo) this.#step(this.#past, this.#future);
  }

  redo() {
    if (this.canRedo) this.#step(this.#future, this.#past);
  }

  #step(from, to) {
    to.push(this.#tours);
    this.#set(from.pop());
  }

  #change(tours) {
    this.#past.push(this.#tours);
    this.#future = [];
    this.#set(tours);
  }

  #set(tours) {
    this.#tours = tours;
    this.#onChange(tours);
    this.#unsaved = true;
    if (!this.#saving) this.#save();
  }

  // One request at a time, and only for the newest tours.
  async #save() {
    this.#saving = true;
    while (this.#unsaved) {
      this.#unsaved = false;
      const [plan, tours] = [this.#plan, this.#tours];
      const locked = tours.flatMap((tour, i) => (tour.locked ? [i + 1] : []));
      const json = {
        tours: tours.map((tour) => tour.stops),
        locked,
        vehicle_names: tours.map((tour) => tour.name),
      };
      try {
        plan.edited = await ask(`${planPath(plan.id)}/tours`, { method: "PUT", json });
        if (plan === this.#plan && !this.#unsaved) this.#onSaved(plan.edited);
      } catch (error) {
        if (plan !== this.#plan) continue;
        this.#onError(error);
        if (error.status !== 0) continue;
        await sleep(PAUSE);
        this.#unsaved = plan === this.#plan;
      }
    }
    this.#saving = false;
  }
}
