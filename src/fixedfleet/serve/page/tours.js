// The list of tours, each with its number, stops, load and length. Screen readers read it
// instead of the map.

import { paint } from "./colours.js";
import { make, show, write } from "./elements.js";
import { amount, count, lengthOf, nameOf, percent } from "./numbers.js";

export class TourList {
  #list;
  #cards = new Map();
  #instance = null;
  #selected = null;
  #onPick;
  #onStop;

  /* onPick(slot) reports a click on a tour, onStop(customer or null) the stop in focus. */
  constructor(list, { onPick, onStop }) {
    this.#list = list;
    this.#onPick = onPick;
    this.#onStop = onStop;
  }

  setInstance(instance) {
    this.#instance = instance;
    this.setTours([]);
  }

  /* Show tours {slot, number, stops, load, length or null} in the order of number. */
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

  #cardOf(slot) {
    if (!this.#cards.has(slot)) {
      const card = new TourCard(slot, this.#onPick, this.#onStop);
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
  #places;
  #head;
  #tour = null;
  #instance = null;
  #shown = "";

  constructor(slot, onPick, onStop) {
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
    this.item = make("li", { class: "tour" }, this.#head, this.#places);
    paint(this.item, slot);
    this.#head.addEventListener("click", () => onPick(slot));
    this.#places.addEventListener("pointerover", (e) => onStop(stopAt(e.target)));
    this.#places.addEventListener("focusin", (e) => onStop(stopAt(e.target)));
    this.#places.addEventListener("click", (e) => onStop(stopAt(e.target)));
    this.#places.addEventListener("pointerleave", () => onStop(null));
    this.#places.addEventListener("focusout", () => onStop(null));
  }

  update(tour, instance) {
    this.#tour = tour;
    this.#instance = instance;
    const { number, stops, load, length } = tour;
    const share = instance.capacity ? load / instance.capacity : 0;
    write(this.#number, `${number}`);
    write(this.#stops, count(stops.length, "stop"));
    write(this.#length, length === null ? "" : lengthOf(length, instance.unit, 3));
    write(this.#load, `${amount(load)} of ${amount(instance.capacity)}`);
    this.#bar.style.setProperty("--fill", Math.min(1, share));
    this.#bar.title = `${percent(share)} full`;
    const far = length === null ? "" : `, ${lengthOf(length, instance.unit, 3)}`;
    const label =
      `Tour ${number}: ${count(stops.length, "stop")}, load ${amount(load)} of ` +
      `${amount(instance.capacity)}${far}`;
    if (this.#head.ariaLabel !== label) this.#head.ariaLabel = label;
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
    const shown = `${this.#tour.stops}`;
    if (shown === this.#shown) return;
    this.#shown = shown;
    const items = this.#tour.stops.map((customer) => {
      const stop = this.#instance.stops[customer - 1];
      const button = make(
        "button",
        { type: "button", class: "stop", "data-customer": customer },
        make("span", { class: "stop-name", text: nameOf(stop) }),
        make("span", { class: "stop-demand", text: amount(stop.demand) }),
      );
      return make("li", {}, button);
    });
    this.#places.replaceChildren(...items);
  }
}

function stopAt(target) {
  const button = target.closest("[data-customer]");
  return button ? Number(button.dataset.customer) : null;
}
