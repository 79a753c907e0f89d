// The plan that the page shows: on the map, in figures, and as a list of tours.

import { byId, make, show, warn, write } from "./elements.js";
import { currentTours, instanceOf, isOverloaded, servesAll, unservedIn } from "./instance.js";
import { t } from "./language.js";
import { FleetMap } from "./map.js";
import { askForPlace } from "./move.js";
import { amount, count, nameOf } from "./numbers.js";
import { keepSlots } from "./slots.js";
import * as summary from "./summary.js";
import { isLate } from "./times.js";
import { describePlace, showTip } from "./tip.js";
import { TourList } from "./tours.js";

const STEP = 1.5; // the factor by which a button zooms

export class PlanView {
  #map;
  #list;
  #onMove;
  #selected = null;

  instance = null;
  // {slot, number, stops, load, length or null, name, locked, type, times or null, links}
  tours = [];
  unserved = [];
  plan = null; // the finished plan that is shown

  /*
   * onMove(customer, slot or null, place or null) is called for a stop that the user moves,
   * onLock(slot) for a tour that is to be locked or unlocked, and onName(slot, name) for the
   * name of its vehicle.
   */
  constructor({ onMove, onLock, onName }) {
    this.#onMove = onMove;
    this.#map = new FleetMap(byId("canvas"), {
      onHover: (customer, spot) => this.#tip(customer, spot),
      onPick: (slot) => this.#pick(slot, true),
      onDrop: (customer, { slot, place }) => onMove(customer, slot, place),
    });
    this.#list = new TourList({
      onPick: (slot) => this.#pick(slot, false),
      onStop: (customer) => this.#point(customer),
      onMenu: (customer) => this.#ask(customer),
      onMove,
      onLock,
      onName,
    });
    byId("closer").addEventListener("click", () => this.#map.zoom(STEP));
    byId("farther").addEventListener("click", () => this.#map.zoom(1 / STEP));
    byId("whole").addEventListener("click", () => this.#map.showAll());
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.#clear();
    });
  }

  get scene() {
    return this.#map.scene;
  }

  /* Set the names of vehicles that the user can choose. */
  setNames(names) {
    this.#list.setNames(names);
  }

  /* Show street tiles beneath the map. */
  showStreets({ tiles, attribution }) {
    this.#map.showStreets(byId("streets"), tiles);
    write(byId("attribution"), attribution);
    show(byId("attribution"), true);
  }

  /* Show the customers, without tours. */
  showInstance(instance) {
    this.instance = instance;
    const drawable = this.#map.setInstance(instance);
    byId("map").classList.remove("empty");
    for (const id of ["canvas", "overlay"]) show(byId(id), drawable);
    show(byId("map-tools"), drawable);
    show(byId("no-map"), !drawable);
    write(byId("no-map-title"), t`Nothing to draw`);
    const why = t`These customers come with distances but no coordinates: their tours are listed.`;
    write(byId("no-map-text"), why);
    this.#list.setInstance(instance);
    this.#reset();
    for (const id of ["summary", "tours", "downloads"]) show(byId(id), false);
    show(byId("intro"), true);
  }

  /* Prepare for a plan that was asked for, perhaps with another fleet. */
  begin({ instance, request }) {
    this.instance = { ...instanceOf(instance), byRoad: Boolean(request?.roads) };
    this.#list.setInstance(this.instance);
    this.#reset();
    summary.begin(this.instance, request);
    show(byId("intro"), false);
    show(byId("summary"), true);
    show(byId("downloads"), false);
  }

  /* Show a better plan while the search runs. */
  improve({ seconds, cost, lower_bound, vehicles_planned_for: fleet, tours, lengths, ...plan }) {
    const slots = keepSlots(this.tours, tours);
    const types = plan.vehicle_types ?? [];
    this.#setTours(
      tours.map((stops, i) => ({
        slot: slots[i],
        number: slots[i] + 1, // so that numbers stay the same until the plan is finished
        stops,
        load: stops.reduce((sum, stop) => sum + this.#demand(stop), 0),
        length: lengths[i],
        name: "",
        locked: false,
        type: types[i] ?? null,
        times: null,
      })),
    );
    summary.improve(seconds, cost, tours.length, fleet, lower_bound);
  }

  /* Show a finished plan; its tours have the same numbers as in the files. */
  finish(plan) {
    this.plan = plan;
    const { result } = plan;
    summary.finish(plan);
    show(byId("intro"), false);
    show(byId("summary"), true);
    show(byId("downloads"), result !== null);
    if (result === null) return;
    const byRoad = Boolean(plan.request?.roads);
    this.instance = { ...this.instance, vehicles: result.vehicles_planned_for, byRoad };
    const found = currentTours(plan);
    const before = keepSlots(this.tours, found.map((tour) => tour.stops));
    const selected = before.indexOf(this.#selected);
    const tours = found.map((tour, i) => ({ ...tour, slot: i, number: i + 1 }));
    this.#setTours(tours, unservedIn(plan));
    this.#setEditable(true);
    if (this.#selected !== null) this.#select(selected === -1 ? null : selected);
    if (plan.edited) summary.edit(plan);
  }

  /* Mark customers on the map whose rows are doubtful. */
  mark(customers) {
    this.#map.mark(customers);
  }

  /* Call onPlace({x, y}) with the place on the map that the user clicks next. */
  askForPlace(onPlace) {
    this.#map.askForPlace(onPlace);
    byId("map").scrollIntoView({ block: "nearest" });
  }

  /* Show tours {slot, stops, name, locked} that the user has just changed. */
  change(changed) {
    const before = new Map(this.tours.map((tour) => [`${tour.stops} ${tour.type}`, tour]));
    const tours = changed.map((tour, i) => ({
      ...tour,
      number: i + 1,
      load: tour.stops.reduce((sum, stop) => sum + this.#demand(stop), 0),
      // The length and times of a changed tour are not known until the server has sent them.
      length: before.get(`${tour.stops} ${tour.type}`)?.length ?? null,
      times: before.get(`${tour.stops} ${tour.type}`)?.times ?? null,
    }));
    const served = new Set(tours.flatMap((tour) => tour.stops));
    const everybody = this.instance.stops.map((stop) => stop.index);
    this.#setTours(tours, everybody.filter((customer) => !served.has(customer)));
  }

  /* Show the loads, lengths and times of changed tours, as the server has computed them. */
  measured(edited) {
    const tours = this.tours.map((tour, i) => {
      const { load, length, times = null } = edited.tours[i];
      return { ...tour, load, length, times };
    });
    this.#setTours(tours, edited.unserved);
    summary.edit(this.plan);
  }

  /*
   * Show the links {first, last, address, code} that open each tour in a maps app, and draw
   * its line along roads: points [latitude, longitude].
   */
  setLinks(links, lines) {
    this.tours = this.tours.map((tour, i) => ({
      ...tour,
      links: links[i] ?? [],
      line: lines[i] ?? null,
    }));
    this.#list.setTours(this.tours);
    if (lines.length) this.#map.setTours(this.tours, this.unserved);
  }

  /* Select the tour with this number, if there is one. */
  pick(number) {
    const tour = this.tours.find((one) => one.number === number);
    if (tour) this.#pick(tour.slot, true);
  }

  /* Give the focus to a customer in the list, and open its tour. */
  focusStop(customer) {
    const tour = this.tours.find(({ stops }) => stops.includes(customer));
    if (!tour) return;
    this.#select(tour.slot);
    this.#list.focusStop(customer);
  }

  /* Show a customer in its tour, or in the list of unserved customers. */
  reveal(customer) {
    if (this.unserved.includes(customer)) {
      const add = byId("left-out-list").querySelector(`[data-unserved="${customer}"] .add`);
      add?.focus();
      add?.scrollIntoView({ block: "nearest" });
      return;
    }
    this.focusStop(customer);
  }

  fail(message) {
    summary.fail();
    warn("result-error", message);
  }

  #reset() {
    this.plan = null;
    this.tours = [];
    this.#setEditable(false);
    this.#clear();
    this.#setTours([]);
    warn("result-error", "");
    show(byId("left-out"), false);
  }

  #setEditable(editable) {
    this.#map.setEditable(editable);
    this.#list.setEditable(editable);
    show(byId("edit-tools"), editable);
    show(byId("edit-hint"), editable);
  }

  async #ask(customer) {
    const { instance, tours, unserved } = this;
    const place = await askForPlace(customer, { instance, tours, unserved });
    if (place) this.#onMove(customer, place.slot, place.place);
    this.#list.focusStop(customer);
  }

  #setTours(tours, unserved = []) {
    this.tours = tours;
    this.unserved = unserved;
    if (!tours.some((tour) => tour.slot === this.#selected)) this.#select(null);
    this.#map.setTours(tours, unserved);
    this.#list.setTours(tours);
    write(byId("tours-title"), tours.length ? count(tours.length, "tour") : t`Tours`);
    show(byId("tours"), tours.length > 0);
    byId("canvas").setAttribute("aria-label", this.#caption());
    this.#warnOfPlan();
    this.#listLeftOut();
  }

  // Say above the plan what is wrong with it, because its tours may be outside the window.
  #warnOfPlan() {
    const full = this.tours.filter((tour) => isOverloaded(this.instance, tour)).length;
    const late = this.tours.filter(({ times }) => isLate(times)).length;
    const said = [
      full && (full === 1 ? t`1 tour is too full` : t`${full} tours are too full`),
      late && (late === 1 ? t`1 tour is late` : t`${late} tours are late`),
    ];
    warn("plan-warning", said.filter(Boolean).join(", "));
  }

  #caption() {
    const customers = count(this.instance.customers, "customer");
    if (!this.tours.length) return t`Map of ${customers} and the depot`;
    const tours = count(this.tours.length, "tour");
    return t`Map of ${tours} to ${customers}; the list of tours says the same in words`;
  }

  #demand(customer) {
    return this.instance.stops[customer - 1].demand;
  }

  #listLeftOut() {
    // The list is made again only if it has changed; otherwise its button would lose the focus.
    const shown = this.unserved.map((customer) => this.instance.stops[customer - 1].name);
    const same = byId("left-out-list").dataset.shown === JSON.stringify(shown);
    byId("left-out-list").dataset.shown = JSON.stringify(shown);
    show(byId("left-out-hint"), this.plan !== null && !servesAll(this.plan.result));
    if (same) return;
    const items = this.unserved.map((customer) => {
      const text = nameOf(this.instance.stops[customer - 1]);
      const name = make("span", { text });
      const demand = make("span", { class: "muted", text: amount(this.#demand(customer)) });
      const label = { text: t`Add`, "aria-label": t`Add ${text} to a tour` };
      const add = make("button", { type: "button", class: "quiet add", ...label });
      add.addEventListener("click", () => this.#ask(customer));
      return make("li", { "data-unserved": customer }, name, demand, add);
    });
    write(byId("left-out-title"), t`${count(items.length, "customer")} left out`);
    byId("left-out-list").replaceChildren(...items);
    show(byId("left-out"), items.length > 0);
  }

  #tip(customer, spot) {
    showTip(describePlace(customer, this.instance, this.tours, this.unserved), spot);
  }

  #point(customer) {
    if (!this.scene) return;
    this.#map.hover(customer);
    this.#tip(customer, customer === null ? null : this.#map.spotOf(customer));
  }

  #pick(slot, fromMap) {
    this.#select(slot === this.#selected ? null : slot);
    if (fromMap && this.#selected !== null) this.#list.reveal(slot);
  }

  #select(slot) {
    this.#selected = slot;
    this.#map.select(slot);
    this.#list.select(slot);
  }

  #clear() {
    this.#map.askForPlace(null);
    this.#select(null);
    showTip(null);
    this.#map.hover(null);
  }
}
