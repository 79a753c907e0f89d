// The map: its content, the part that is visible, and what is under the pointer.

import { currentTheme, onThemeChange } from "./colours.js";
import { followGestures } from "./gestures.js";
import { drawScene, largestDot, radiusOf } from "./picture.js";
import { fit, placesOf, toPlane, toScreen } from "./projection.js";

const MARGIN = 44;
const REACH = { mouse: 8, touch: 22 }; // pixels around a dot that count as the dot
const FIRST_DRAWING = 900; // milliseconds
const CHANGE = 260;
const still = window.matchMedia("(prefers-reduced-motion: reduce)");

export class FleetMap {
  #canvas;
  #scene = null;
  #view = null;
  #size = { width: 0, height: 0 };
  #own = false; // whether the user has moved the map; then it stays where it is
  #motion = null;
  #asked = false;
  #onHover;
  #onPick;

  /* onHover(customer or null, spot) and onPick(slot or null) report the pointer. */
  constructor(canvas, { onHover, onPick }) {
    this.#canvas = canvas;
    this.#onHover = onHover;
    this.#onPick = onPick;
    new ResizeObserver(() => this.#resize()).observe(canvas);
    onThemeChange(() => this.#redraw());
    followGestures(canvas, this);
  }

  get scene() {
    return this.#scene;
  }

  get moved() {
    return this.#own;
  }

  /* Show an instance's customers, without tours. Returns whether it can be drawn. */
  setInstance(instance) {
    const points = placesOf(instance);
    const demands = [0, ...instance.stops.map((stop) => stop.demand)];
    this.#scene = points && {
      points,
      demands,
      largest: demands.reduce((a, b) => Math.max(a, b), 0),
      unit: instance.unit,
      tours: [],
      unserved: new Set(),
      selected: null,
      hovered: null,
    };
    this.#motion = null;
    this.showAll();
    return points !== null;
  }

  /* Show tours {slot, number, stops}; those that are new or changed move in. */
  setTours(tours, unserved = []) {
    if (!this.#scene) return;
    const before = new Map(this.#scene.tours.map((tour) => [tour.slot, tour]));
    const same = (tour) => `${before.get(tour.slot)?.stops}` === `${tour.stops}`;
    const marked = tours.map((tour) => ({ ...tour, changed: !same(tour) }));
    const kept = new Set(marked.filter((t) => !t.changed).map((t) => t.slot));
    const leaving = this.#scene.tours.filter((tour) => !kept.has(tour.slot));
    const first = !this.#scene.tours.length;
    this.#scene.tours = marked;
    this.#scene.unserved = new Set(unserved);
    if (first || !this.#motion?.first) this.#move(first, leaving);
    this.#redraw();
  }

  select(slot) {
    if (!this.#scene) return;
    this.#scene.selected = slot;
    this.#redraw();
  }

  hover(customer) {
    if (!this.#scene || this.#scene.hovered === customer) return;
    this.#scene.hovered = customer;
    this.#redraw();
  }

  spotOf(customer) {
    const { width, height } = this.#size;
    return toScreen(this.#scene.points[customer], this.#view, width, height);
  }

  showAll() {
    this.#own = false;
    this.#fit();
    this.#canvas.classList.remove("moved");
    this.#redraw();
  }

  pan(dx, dy) {
    if (!this.#view) return;
    this.#view.x -= dx / this.#view.scale;
    this.#view.y += dy / this.#view.scale;
    this.#claim();
  }

  zoom(factor, spot = { x: this.#size.width / 2, y: this.#size.height / 2 }) {
    if (!this.#view) return;
    const { width, height } = this.#size;
    const whole = fit(this.#scene.points, width, height, MARGIN).scale;
    const fixed = toPlane(spot, this.#view, width, height);
    const scale = this.#view.scale * factor;
    this.#view.scale = Math.min(200 * whole, Math.max(0.5 * whole, scale));
    const after = toPlane(spot, this.#view, width, height);
    this.#view.x += fixed.x - after.x;
    this.#view.y += fixed.y - after.y;
    this.#claim();
  }

  point(spot, touch) {
    if (!this.#scene || touch) return;
    const customer = this.#customerAt(spot, REACH.mouse);
    const onTour = customer !== null || this.#tourAt(spot) !== null;
    this.#canvas.classList.toggle("on-tour", onTour);
    this.#tell(customer);
  }

  leave() {
    this.#tell(null);
  }

  click(spot, touch) {
    if (!this.#scene) return;
    const customer = this.#customerAt(spot, touch ? REACH.touch : REACH.mouse);
    this.#tell(customer);
    // A finger cannot hover, so a tap on a customer only shows it.
    if (touch && customer !== null) return;
    this.#onPick(customer ? this.#tourOf(customer) : this.#tourAt(spot));
  }

  #tell(customer) {
    this.hover(customer);
    this.#onHover(customer, customer === null ? null : this.spotOf(customer));
  }

  #customerAt(spot, reach) {
    const dot = largestDot(this.#scene, this.#size);
    let [nearest, least] = [null, Infinity];
    for (let customer = 0; customer < this.#scene.points.length; customer += 1) {
      const { x, y } = this.spotOf(customer);
      const radius = customer ? radiusOf(this.#scene, customer, dot) : 8;
      const gap = Math.hypot(x - spot.x, y - spot.y) - radius;
      if (gap < least) [nearest, least] = [customer, gap];
    }
    return least <= reach ? nearest : null;
  }

  #tourOf(customer) {
    const tour = this.#scene.tours.find(({ stops }) => stops.includes(customer));
    return tour?.slot ?? null;
  }

  #tourAt(spot) {
    let [nearest, least] = [null, REACH.mouse];
    for (const { slot, stops } of this.#scene.tours) {
      const way = [0, ...stops, 0].map((stop) => this.spotOf(stop));
      for (let i = 1; i < way.length; i += 1) {
        const gap = distanceToSegment(spot, way[i - 1], way[i]);
        if (gap < least) [nearest, least] = [slot, gap];
      }
    }
    return nearest;
  }

  #move(first, leaving) {
    if (still.matches || !this.#scene.tours.length) {
      this.#motion = null;
      return;
    }
    const length = first ? FIRST_DRAWING : CHANGE;
    this.#motion = { first, leaving, start: performance.now(), length };
  }

  #claim() {
    this.#own = true;
    this.#canvas.classList.add("moved");
    this.#tell(null);
    this.#redraw();
  }

  #fit() {
    const { width, height } = this.#size;
    this.#view = this.#scene && fit(this.#scene.points, width, height, MARGIN);
  }

  #resize() {
    const box = this.#canvas.getBoundingClientRect();
    this.#size = { width: box.width, height: box.height };
    if (!this.#own) this.#fit();
    this.#redraw();
  }

  // Draw at most once per frame, however often something changes.
  #redraw() {
    if (this.#asked) return;
    this.#asked = true;
    requestAnimationFrame((now) => {
      this.#asked = false;
      this.#draw(now);
    });
  }

  #draw(now) {
    const { width, height } = this.#size;
    if (!width || !height || !this.#scene) return;
    const density = Math.min(3, window.devicePixelRatio || 1);
    const [across, down] = [Math.round(width * density), Math.round(height * density)];
    if (this.#canvas.width !== across) this.#canvas.width = across;
    if (this.#canvas.height !== down) this.#canvas.height = down;
    const context = this.#canvas.getContext("2d");
    context.setTransform(density, 0, 0, density, 0, 0);
    const frame = { width, height, view: this.#view, theme: currentTheme() };
    drawScene(context, this.#scene, frame, this.#motionAt(now));
    if (this.#motion) this.#redraw();
  }

  #motionAt(now) {
    if (!this.#motion) return null;
    const { first, leaving, start, length } = this.#motion;
    const share = Math.min(1, Math.max(0, (now - start) / length));
    if (share === 1) {
      this.#motion = null;
      return null;
    }
    const eased = 1 - (1 - share) ** 3;
    return { drawn: first ? eased : 1, shown: first ? 1 : eased, leaving };
  }
}

function distanceToSegment(spot, from, to) {
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  const square = dx * dx + dy * dy;
  const along = square ? ((spot.x - from.x) * dx + (spot.y - from.y) * dy) / square : 0;
  const share = Math.min(1, Math.max(0, along));
  return Math.hypot(spot.x - from.x - share * dx, spot.y - from.y - share * dy);
}
