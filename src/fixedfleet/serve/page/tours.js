// The list of tours, each with its number, stops, load and length. Screen readers read it
// instead of the map, and here the keyboard moves stops.

import { paint } from "./colours.js";
import { make, show, write } from "./elements.js";
import { amount, count, lengthOf, nameOf, percent } from "./numbers.js";

const STOP = "text/x-fixedfleet-stop"; // what a dragged stop carries

export class TourList {
  #list;
  #cards = new Map();
  #instance = null;
  #selected = null;
  #actions;

  /*
   * The actions are functions: onPick(slot) for a click on a tour, onStop(customer or null)
   * for the stop in focus, onMove(customer, slot, place or null), onMenu(customer) and
   * onLock(slot).
   */
  constructor(list, actions) {
    this.#list = list;
    this.#actions = actions;
  }

  setInstance(instance) {
    this.#instance = instance;
    this.setTours([]);
  }

  /* Say whether stops may be moved and tours locked. */
  setEditable(editable) {
    this.#list.classList.toggle("editable", editable);
  }

  /*
   * Show tours {slot, number, stops, load, length or null, name, locked} in the order of
   * number.
   */
  setTours(tours) {
    const slots = new Set(tours.map((tour) => tour.slot));
    for (const [slot, card] of this.#cards) {
      if (slots.has(slot)) continue;
      card.item.remove();
      this.#cards.delete(slot);
    }
    for (const tour of tours) this.#cardOf(tour.slot).update(tour, this.#instance);
    const inOrder = [...tours].sort((a, b) => a.number - b.number);
    inOrder.forEach(({ slot }, place) => {
      const { item } = this.#cards.get(slot);
      // Only items in a wrong place are moved, so that focus and scrolling stay.
      if (this.#list.children[place] !== item) {
        this.#list.insertBefore(item, this.#list.children[place] ?? null);
      }
    });
  }

  select(slot) {
    this.#selected = slot;
    for (const [own, card] of this.#cards) card.open(own === slot);
  }

  reveal(slot) {
    this.#cards.get(slot)?.item.scrollIntoView({ block: "nearest" });
  }

  focusStop(customer) {
    this.#list.querySelector(`[data-customer="${customer}"]`)?.focus();
  }

  #cardOf(slot) {
    if (!this.#cards.has(slot)) {
      const card = new TourCard(slot, this.#actions);
      this.#cards.set(slot, card);
      this.#list.append(card.item);
      card.open(slot === this.#selected);
    }
    return this.#cards.get(slot);
  }
}

class TourCard {
  #number = make("span", { class: "badge" });
  #stops = make("span", { class: "tour-stops" });
  #length = make("span", { class: "tour-length" });
  #load = make("span", { class: "tour-load" });
  #bar = make("span", { class: "bar" }, make("span", { class: "bar-fill" }));
  #lock = make("button", { type: "button", class: "lock" });
  #places;
  #head;
  #slot;
  #tour = null;
  #instance = null;
  #shown = "";
  #actions;

  constructor(slot, actions) {
    this.#slot = slot;
    this.#actions = actions;
    const id = `stops-of-${slot}`;
    this.#places = make("ol", { class: "stops", id, hidden: true });
    this.#head = make(
      "button",
      { type: "button", class: "tour-head", "aria-controls": id },
      this.#number,
      this.#stops,
      this.#length,
      this.#bar,
      this.#load,
    );
    const line = make("div", { class: "tour-line" }, this.#head, this.#lock);
    this.item = make("li", { class: "tour" }, line, this.#places);
    paint(this.item, slot);
    this.#head.addEventListener("click", () => actions.onPick(slot));
    this.#lock.addEventListener("click", () => actions.onLock(slot));
    this.#followStops(actions.onStop);
    this.#followKeys();
    this.#followDrags();
  }

  update(tour, instance) {
    this.#tour = tour;
    this.#instance = instance;
    const { number, stops, load, length, name, locked } = tour;
    const share = instance.capacity ? load / instance.capacity : 0;
    const over = share > 1 + 1e-9;
    const full = `${amount(load)} of ${amount(instance.capacity, instance.demandUnit)}`;
    const excess = amount(load - instance.capacity, instance.demandUnit);
    const far = length === null ? "" : lengthOf(length, instance.unit, 3);
    write(this.#number, `${number}`);
    write(this.#stops, [name, count(stops.length, "stop")].filter(Boolean).join(": "));
    write(this.#length, far);
    write(this.#load, over ? `${excess} too much` : full);
    this.item.classList.toggle("over", over);
    this.#bar.style.setProperty("--fill", Math.min(1, share));
    this.#bar.title = `${percent(share)} full`;
    const parts = [count(stops.length, "stop"), `load ${full}`, far];
    if (over) parts.push(`${excess} too much`);
    const who = name ? `Tour ${number}, ${name}` : `Tour ${number}`;
    const label = `${who}: ${parts.filter(Boolean).join(", ")}`;
    if (this.#head.ariaLabel !== label) this.#head.ariaLabel = label;
    this.#lock.setAttribute("aria-pressed", locked);
    this.#lock.setAttribute("aria-label", `Lock tour ${number}`);
    this.#lock.title = locked ? "Locked: it stays as it is" : "Lock: keep it as it is";
    this.item.classList.toggle("locked", locked);
    if (!this.#places.hidden) this.#list();
  }

  open(open) {
    this.item.classList.toggle("selected", open);
    this.#head.setAttribute("aria-expanded", open);
    show(this.#places, open);
    if (open && this.#tour) this.#list();
  }

  // The stops are listed when the tour is opened, because a plan may have thousands.
  #list() {
    const shown = `${this.#tour.stops} ${this.#tour.locked}`;
    if (shown === this.#shown) return;
    this.#shown = shown;
    const items = this.#tour.stops.map((customer) => {
      const stop = this.#instance.stops[customer - 1];
      const name = nameOf(stop);
      const button = make(
        "button",
        { type: "button", class: "stop", "data-customer": customer },
        make("span", { class: "stop-name", text: name }),
        make("span", { class: "stop-demand", text: amount(stop.demand) }),
      );
      const more = make("button", {
        type: "button",
        class: "stop-menu",
        "data-move": customer,
        "aria-label": `Move ${name}`,
        title: "Move",
        text: "⋮",
      });
      return make("li", { draggable: !this.#tour.locked && "true" }, button, more);
    });
    this.#places.replaceChildren(...items);
  }

  #followStops(onStop) {
    this.#places.addEventListener("pointerover", (e) => onStop(stopAt(e.target)));
    this.#places.addEventListener("focusin", (e) => onStop(stopAt(e.target)));
    this.#places.addEventListener("pointerleave", () => onStop(null));
    this.#places.addEventListener("focusout", () => onStop(null));
    this.#places.addEventListener("click", (e) => {
      const move = e.target.closest("[data-move]");
      if (move) this.#actions.onMenu(Number(move.dataset.move));
      else onStop(stopAt(e.target));
    });
  }

  // Alt and an arrow move the stop that has the focus.
  #followKeys() {
    this.#places.addEventListener("keydown", (event) => {
      const customer = stopAt(event.target);
      const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
      if (!event.altKey || customer === null || !step || this.#tour.locked) return;
      event.preventDefault();
      const place = this.#tour.stops.indexOf(customer) + step;
      if (place < 0 || place >= this.#tour.stops.length) return;
      this.#actions.onMove(customer, this.#slot, place);
    });
  }

  #followDrags() {
    const { item } = this;
    this.#places.addEventListener("dragstart", (event) => {
      const customer = stopAt(event.target.querySelector?.("[data-customer]"));
      if (customer === null) return;
      event.dataTransfer.setData(STOP, `${customer}`);
      event.dataTransfer.effectAllowed = "move";
    });
    item.addEventListener("dragover", (event) => {
      if (!event.dataTransfer.types.includes(STOP) || this.#tour.locked) return;
      event.preventDefault();
      item.classList.add("target");
    });
    item.addEventListener("dragleave", (event) => {
      if (!item.contains(event.relatedTarget)) item.classList.remove("target");
    });
    item.addEventListener("drop", (event) => {
      const customer = Number(event.dataTransfer.getData(STOP));
      item.classList.remove("target");
      if (!customer || this.#tour.locked) return;
      event.preventDefault();
      this.#actions.onMove(customer, this.#slot, this.#placeUnder(event, customer));
    });
  }

  // Return the place of a dropped stop; null where the map is to decide.
  #placeUnder(event, customer) {
    const row = event.target.closest("li[draggable]");
    if (!row) return null;
    const others = this.#tour.stops.filter((stop) => stop !== customer);
    const place = others.indexOf(stopAt(row.querySelector("[data-customer]")));
    const { top, height } = row.getBoundingClientRect();
    return Math.max(0, place) + (event.clientY > top + height / 2 ? 1 : 0);
  }
}

function stopAt(target) {
  const button = target?.closest("[data-customer]");
  return button ? Number(button.dataset.customer) : null;
}
