// The list of tours, each with its number, stops, load and length. Screen readers read the list
// instead of the map. Stops in it can be moved with the keyboard.

import { paint } from "./colours.js";
import { byId, make, show, write } from "./elements.js";
import { capacityOf, isOverloaded } from "./instance.js";
import { t } from "./language.js";
import { amount, count, lengthOf, nameOf, percent } from "./numbers.js";
import { arrivalOf, isLate, spanOf } from "./times.js";

const STOP = "text/x-fixedfleet-stop"; // the data type of a dragged stop

export class TourList {
  #list = byId("tour-list");
  #tours = []; // {slot, number, stops, load, length or null, name, locked}
  #items = new Map(); // the element of each tour, by slot
  #instance = null;
  #selected = null;
  #names = []; // of all vehicles

  /*
   * The actions are functions that the list calls: onPick(slot) for a click on a tour,
   * onStop(customer or null) for the stop that has the focus, onMove(customer, slot, place or
   * null), onMenu(customer), onLock(slot) and onName(slot, name).
   */
  constructor(actions) {
    this.#followClicks(actions);
    this.#followKeys(actions.onMove);
    this.#followDrags(actions.onMove);
  }

  setInstance(instance) {
    this.#instance = instance;
    this.setTours([]);
  }

  /* Allow the user to move stops and lock tours, or forbid it. */
  setEditable(editable) {
    this.#list.classList.toggle("editable", editable);
  }

  /* Set the names of vehicles that the user can choose. */
  setNames(names) {
    this.#names = names;
    for (const tour of this.#tours) this.#open(this.#items.get(tour.slot), tour);
  }

  /* Show tours in the order of their numbers. */
  setTours(tours) {
    this.#tours = tours;
    const slots = new Set(tours.map((tour) => tour.slot));
    for (const [slot, item] of this.#items) {
      if (slots.has(slot)) continue;
      item.remove();
      this.#items.delete(slot);
    }
    const inOrder = [...tours].sort((a, b) => a.number - b.number);
    inOrder.forEach((tour, place) => {
      const item = this.#itemOf(tour.slot);
      this.#update(item, tour);
      // Only items in a wrong place are moved, so that focus and scroll position are kept.
      const there = this.#list.children[place];
      if (there !== item) this.#list.insertBefore(item, there ?? null);
    });
  }

  select(slot) {
    this.#selected = slot;
    for (const tour of this.#tours) this.#open(this.#items.get(tour.slot), tour);
  }

  reveal(slot) {
    this.#items.get(slot)?.scrollIntoView({ block: "nearest" });
  }

  focusStop(customer) {
    this.#list.querySelector(`[data-customer="${customer}"]`)?.focus();
  }

  #itemOf(slot) {
    let item = this.#items.get(slot);
    if (!item) {
      item = byId("tour").content.firstElementChild.cloneNode(true);
      item.dataset.slot = slot;
      item.querySelector(".stops").id = `stops-of-${slot}`;
      item.querySelector(".tour-head").setAttribute("aria-controls", `stops-of-${slot}`);
      paint(item, slot);
      this.#items.set(slot, item);
    }
    return item;
  }

  #update(item, tour) {
    const { demandUnit, unit } = this.#instance;
    const { number, stops, load, length, name, locked, times } = tour;
    const capacity = capacityOf(this.#instance, tour);
    const part = (kind) => item.querySelector(`.${kind}`);
    const share = capacity ? load / capacity : 0;
    const over = isOverloaded(this.#instance, tour);
    const late = isLate(times);
    const span = spanOf(times, this.#instance);
    const time = late ? t`${span}, late` : span;
    const full = t`${amount(load)} of ${amount(capacity, demandUnit)}`;
    const excess = t`${amount(load - capacity, demandUnit)} too much`;
    const far = length === null ? "" : lengthOf(length, unit, 3);
    const size = count(stops.length, "stop");
    write(part("badge"), `${number}`);
    write(part("tour-stops"), name ? `${name}: ${size}` : size);
    write(part("tour-length"), far);
    write(part("tour-load"), over ? excess : full);
    write(part("tour-time"), time);
    item.classList.toggle("over", over);
    item.classList.toggle("late", late);
    part("bar").style.setProperty("--fill", Math.min(1, share));
    part("bar").title = t`${percent(share)} full`;
    const who = name ? t`Tour ${number}, ${name}` : t`Tour ${number}`;
    const said = [size, t`load ${full}`, far, time, over && excess].filter(Boolean).join(", ");
    part("tour-head").ariaLabel = `${who}: ${said}`;
    part("lock").ariaPressed = `${locked}`;
    part("lock").ariaLabel = t`Lock tour ${number}`;
    part("lock").title = locked ? t`Locked: it stays as it is` : t`Lock: keep it as it is`;
    item.classList.toggle("locked", locked);
    this.#open(item, tour);
  }

  // The stops are listed when the tour is opened, because a plan may have thousands.
  #open(item, { slot, stops, locked, name, times, links = [] }) {
    const [open, list] = [slot === this.#selected, item.querySelector(".stops")];
    item.classList.toggle("selected", open);
    item.querySelector(".tour-head").ariaExpanded = `${open}`;
    show(list, open);
    this.#listNames(item.querySelector(".driver"), name, open);
    listLinks(item.querySelector(".links"), open ? links : []);
    const shown = `${stops} ${locked} ${times?.stops.map(({ arrival }) => arrival)}`;
    if (!open || list.dataset.shown === shown) return;
    list.dataset.shown = shown;
    const items = stops.map((customer, place) => this.#stopItem(customer, locked, times, place));
    list.replaceChildren(...items);
  }

  // The name of a tour's vehicle can be chosen while the tour is open.
  #listNames(label, name, open) {
    const names = [...new Set([...this.#names, ...(name ? [name] : [])])];
    const editable = this.#list.classList.contains("editable");
    show(label, open && editable && names.length > 0);
    if (label.hidden) return;
    const options = ["", ...names].map((text) =>
      make("option", { value: text, text: text || t`none` }),
    );
    const select = label.querySelector("select");
    select.replaceChildren(...options);
    select.value = name;
  }

  #stopItem(customer, locked, times, place) {
    const stop = this.#instance.stops[customer - 1];
    const name = nameOf(stop);
    const button = make(
      "button",
      { type: "button", class: "stop", "data-customer": customer },
      make("span", { class: "stop-name", text: name }),
      make("span", { class: "stop-demand", text: amount(stop.demand) }),
    );
    if (times) {
      const late = times.stops[place].is_late && "late";
      const text = arrivalOf(times, place, this.#instance);
      button.lastElementChild.before(make("span", { class: `stop-time ${late || ""}`, text }));
    }
    const label = { "aria-label": t`Move ${name}`, title: t`Move`, text: "⋮" };
    const menu = { type: "button", class: "stop-menu", "data-move": customer, ...label };
    return make("li", { draggable: !locked && "true" }, button, make("button", menu));
  }

  #tourAt(target) {
    const slot = Number(target.closest(".tour")?.dataset.slot);
    return this.#tours.find((tour) => tour.slot === slot);
  }

  #followClicks({ onPick, onLock, onMenu, onStop, onName }) {
    this.#list.addEventListener("change", ({ target }) => {
      onName(this.#tourAt(target).slot, target.value);
    });
    for (const kind of ["pointerover", "focusin"]) {
      this.#list.addEventListener(kind, (event) => onStop(stopAt(event.target)));
    }
    for (const kind of ["pointerleave", "focusout"]) {
      this.#list.addEventListener(kind, () => onStop(null));
    }
    this.#list.addEventListener("click", ({ target }) => {
      const tour = this.#tourAt(target);
      const move = target.closest("[data-move]");
      if (target.closest(".tour-head")) onPick(tour.slot);
      else if (target.closest(".lock")) onLock(tour.slot);
      else if (move) onMenu(Number(move.dataset.move));
      else onStop(stopAt(target));
    });
  }

  // Alt and an arrow move the stop that has the focus.
  #followKeys(onMove) {
    this.#list.addEventListener("keydown", (event) => {
      const customer = stopAt(event.target);
      const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
      if (!event.altKey || customer === null || !step) return;
      const { slot, stops, locked } = this.#tourAt(event.target);
      const place = stops.indexOf(customer) + step;
      event.preventDefault();
      if (!locked && stops[place] !== undefined) onMove(customer, slot, place);
    });
  }

  #followDrags(onMove) {
    const mark = (target) => {
      for (const item of this.#items.values()) item.classList.toggle("target", item === target);
    };
    this.#list.addEventListener("dragstart", (event) => {
      const customer = stopAt(event.target.querySelector?.("[data-customer]"));
      if (customer === null) return;
      event.dataTransfer.setData(STOP, `${customer}`);
      event.dataTransfer.effectAllowed = "move";
    });
    this.#list.addEventListener("dragover", (event) => {
      const tour = this.#tourAt(event.target);
      const takes = event.dataTransfer.types.includes(STOP) && tour && !tour.locked;
      mark(takes ? this.#items.get(tour.slot) : null);
      if (takes) event.preventDefault();
    });
    this.#list.addEventListener("dragleave", () => mark(null));
    this.#list.addEventListener("drop", (event) => {
      const customer = Number(event.dataTransfer.getData(STOP));
      const tour = this.#tourAt(event.target);
      mark(null);
      if (!customer || !tour || tour.locked) return;
      event.preventDefault();
      onMove(customer, tour.slot, placeUnder(event, tour.stops, customer));
    });
  }
}

// List the links that open some stops of a tour in the maps app of a phone.
function listLinks(element, links) {
  const parts = links.map(({ first, last, address }) => {
    const text = first === last ? t`stop ${first}` : t`stops ${first} to ${last}`;
    return make("a", { href: address, target: "_blank", rel: "noreferrer", text });
  });
  element.replaceChildren(...(parts.length ? [t`Navigation:`, ...parts] : []));
  show(element, parts.length > 0);
}

// Return the position of a dropped stop in its tour; null if the best one is to be used.
function placeUnder(event, stops, customer) {
  const row = event.target.closest("li[draggable]");
  if (!row) return null;
  const others = stops.filter((stop) => stop !== customer);
  const place = others.indexOf(stopAt(row.querySelector("[data-customer]")));
  const { top, height } = row.getBoundingClientRect();
  return Math.max(0, place) + (event.clientY > top + height / 2 ? 1 : 0);
}

function stopAt(target) {
  const button = target?.closest("[data-customer]");
  return button ? Number(button.dataset.customer) : null;
}
