// The map: its content, the part that is visible, and what is under the pointer.

import { currentTheme, onThemeChange } from "./colours.js";
import { followGestures } from "./gestures.js";
import { drawPointed, drawScene, largestDot, radiusOf } from "./picture.js";
import { fit, kilometresPerRadian, placesOf, toPlane, toScreen } from "./projection.js";
import { TileLayer } from "./tiles.js";

const MARGIN = 44;
const REACH = { mouse: 8, touch: 22 }; // pixels around a dot that count as the dot
const DROP = 40; // pixels around a way that count as the way when a stop is dropped
const FIRST_DRAWING = 900; // milliseconds
const CHANGE = 260;
const SMOOTH = 20; // milliseconds; a drawing that takes longer is not made in every frame
const KM_PER_MILE = 1.609344;
const still = window.matchMedia("(prefers-reduced-motion: reduce)");

export class FleetMap {
  #canvas;
  #overlay; // a canvas above, with what follows the pointer
  #tiles = null;
  #layers; // the canvases that show the scene
  #scene = null;
  #view = null;
  #drawn = null; // the view that the canvas shows, and how long it took to draw it
  #size = { width: 0, height: 0 };
  #own = false; // whether the user has moved the map; then it stays where it is
  #before = null; // the view before a tour was chosen
  #hovered = null;
  #drag = null; // {customer, spot, target, before, behind}
  #motion = null;
  #glide = null; // {from, to, start}: the view moves
  #asked = false;
  #stale = true; // whether the canvas does not show the scene
  #editable = false;
  #onHover;
  #onPick;
  #onDrop;

  /*
   * onHover(customer or null, spot) and onPick(slot or null) report the pointer, and
   * onDrop(customer, {slot, place}) a stop that was dragged to a place in a tour.
   */
  constructor({ canvas, overlay }, { onHover, onPick, onDrop }) {
    this.#canvas = canvas;
    this.#overlay = overlay;
    this.#layers = [canvas];
    this.#onHover = onHover;
    this.#onPick = onPick;
    this.#onDrop = onDrop;
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

  /* Show street tiles from this address in a canvas beneath. */
  showStreets(canvas, address) {
    this.#tiles = new TileLayer(canvas, address, () => this.#redraw());
    this.#layers.push(canvas);
    this.#redraw();
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
      perUnit: instance.geographic && instance.unit === "mi" ? KM_PER_MILE : 1,
      scale: instance.geographic
        ? kilometresPerRadian([instance.depot, ...instance.stops])
        : null,
      tours: [],
      unserved: new Set(),
      doubtful: new Set(),
      selected: null,
    };
    this.#motion = null;
    this.#before = null;
    this.#hovered = null;
    this.showAll();
    return points !== null;
  }

  /* Mark customers whose data is doubtful. */
  setDoubtful(customers) {
    if (!this.#scene) return;
    this.#scene.doubtful = new Set(customers);
    this.#redraw();
  }

  /* Show tours {slot, number, stops, locked}; those that are new or changed move in. */
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

  /* Choose a tour, or none, and zoom to it. */
  select(slot) {
    if (!this.#scene || this.#scene.selected === slot) return;
    this.#scene.selected = slot;
    const tour = this.#scene.tours.find((one) => one.slot === slot);
    if (tour) {
      this.#before ??= { view: this.#view, own: this.#own };
      const points = [0, ...tour.stops].map((stop) => this.#scene.points[stop]);
      const { width, height } = this.#size;
      this.#lead(fit(points, width, height, MARGIN), true);
    } else if (this.#before) {
      const { view, own } = this.#before;
      this.#before = null;
      this.#lead(own ? view : this.#fitted(), own);
    }
    this.#redraw();
  }

  hover(customer) {
    if (!this.#scene || this.#hovered === customer) return;
    this.#hovered = customer;
    this.#redraw({ stale: false });
  }

  spotOf(customer) {
    const { width, height } = this.#size;
    return toScreen(this.#scene.points[customer], this.#view, width, height);
  }

  showAll() {
    this.#before &&= { view: null, own: false };
    this.#lead(this.#fitted(), false);
    this.#redraw();
  }

  pan(dx, dy) {
    if (!this.#view) return;
    const { x, y, scale } = this.#view;
    this.#lead({ x: x - dx / scale, y: y + dy / scale, scale }, true, { glide: false });
    this.#tell(null);
  }

  zoom(factor, spot = { x: this.#size.width / 2, y: this.#size.height / 2 }) {
    if (!this.#view) return;
    const { width, height } = this.#size;
    const whole = this.#fitted().scale;
    const fixed = toPlane(spot, this.#view, width, height);
    const wanted = this.#view.scale * factor;
    const scale = Math.min(200 * whole, Math.max(0.5 * whole, wanted));
    const after = toPlane(spot, { ...this.#view, scale }, width, height);
    const [x, y] = [this.#view.x + fixed.x - after.x, this.#view.y + fixed.y - after.y];
    this.#lead({ x, y, scale }, true, { glide: false });
    this.#tell(null);
  }

  point(spot, touch) {
    if (!this.#scene || touch) return;
    const customer = this.#customerAt(spot, REACH.mouse);
    const onTour = customer !== null || this.#tourAt(spot) !== null;
    this.#canvas.classList.toggle("on-tour", onTour);
    this.#canvas.classList.toggle("on-stop", customer !== null && this.#mayDrag(customer));
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

  /* Begin to drag the stop at a spot; returns whether there is one that may be dragged. */
  grab(spot) {
    const customer = this.#scene && this.#customerAt(spot, REACH.mouse);
    if (!customer || !this.#mayDrag(customer)) return false;
    this.#drag = { customer, spot, target: null };
    return true;
  }

  drag(spot) {
    const { customer } = this.#drag;
    this.#tell(null);
    this.#drag = { customer, spot, ...this.#placeAt(spot, customer) };
    this.#redraw({ stale: false });
  }

  /* End the drag; the stop moves unless the user has given up. */
  drop(given) {
    const { customer, target } = this.#drag;
    this.#drag = null;
    this.#redraw({ stale: false });
    if (given && target) this.#onDrop(customer, target);
  }

  // Stops of the chosen tour and customers left out may be dragged: others might be
  // grabbed by mistake where customers are dense and the user wants to move the map.
  #mayDrag(customer) {
    const tour = this.#scene.tours.find(({ stops }) => stops.includes(customer));
    if (!this.#editable) return false;
    if (!tour) return this.#scene.unserved.has(customer);
    return tour.slot === this.#scene.selected && !tour.locked;
  }

  /* Say whether stops may be dragged. */
  setEditable(editable) {
    this.#editable = editable;
  }

  // Return the place in a tour whose way is nearest to a spot, if it is near.
  #placeAt(spot, customer) {
    let [target, before, behind, least] = [null, null, null, DROP];
    for (const { slot, stops, locked } of this.#scene.tours) {
      const others = stops.filter((stop) => stop !== customer);
      if (locked || !others.length) continue;
      const way = [0, ...others, 0];
      for (let place = 0; place < way.length - 1; place += 1) {
        const [from, to] = [way[place], way[place + 1]].map((stop) => this.spotOf(stop));
        const gap = distanceToSegment(spot, from, to);
        if (gap >= least) continue;
        least = gap;
        [target, before, behind] = [{ slot, place }, way[place], way[place + 1]];
      }
    }
    return { target, before, behind };
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

  // Go to a view; own says whether it stays when the size of the map changes.
  #lead(view, own, { glide = true } = {}) {
    this.#own = own;
    this.#canvas.classList.toggle("moved", own);
    const from = this.#view;
    this.#view = view;
    const moves = glide && from && view && !still.matches;
    this.#glide = moves ? { from, to: view, start: performance.now() } : null;
    this.#redraw({ stale: false });
  }

  #fitted() {
    const { width, height } = this.#size;
    return this.#scene && fit(this.#scene.points, width, height, MARGIN);
  }

  #resize() {
    const box = this.#canvas.getBoundingClientRect();
    this.#size = { width: box.width, height: box.height };
    if (!this.#own) this.#lead(this.#fitted(), false, { glide: false });
    this.#redraw();
  }

  // Draw at most once per frame, however often something changes.
  #redraw({ stale = true } = {}) {
    this.#stale ||= stale;
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
    const view = this.#viewAt(now);
    const frame = { width, height, view, theme: currentTheme() };
    if (this.#mayWait(now, view)) this.#shift(view);
    else if (this.#stale || this.#motion || this.#drawn.view !== view) this.#drawAll(now, frame);
    const overlay = contextOf(this.#overlay, frame);
    drawPointed(overlay, this.#scene, frame, this.#hovered, this.#drag);
    const waits = this.#glide || this.#drawn.view !== view;
    if (this.#motion || waits) this.#redraw({ stale: false });
  }

  #drawAll(now, frame) {
    const density = Math.min(3, window.devicePixelRatio || 1);
    this.#tiles?.setScale(this.#scene.scale);
    const streets = this.#tiles?.draw({ ...frame, density }) ?? false;
    const context = contextOf(this.#canvas, frame);
    drawScene(context, this.#scene, { ...frame, streets }, this.#motionAt(now));
    this.#stale = false;
    this.#shift(null);
    const drawn = { view: frame.view, at: now, took: 0 };
    this.#drawn = drawn;
    // The browser draws after this function: the next frame tells how long it took.
    requestAnimationFrame((next) => {
      drawn.took = next - now;
    });
  }

  // Whether a drawing that takes long is moved, like a picture, until there is time for
  // another one: it takes a quarter of the time at most while the map moves.
  #mayWait(now, view) {
    const { view: shown, at, took } = this.#drawn ?? {};
    return shown !== undefined && shown !== view && took > SMOOTH && now - at < 4 * took;
  }

  // Move the drawing to where it belongs in this view; null: it is drawn for the view.
  #shift(view) {
    let transform = "";
    if (view) {
      const { width, height } = this.#size;
      const shown = this.#drawn.view;
      const grown = view.scale / shown.scale;
      const x = (shown.x - view.x) * view.scale + (width / 2) * (1 - grown);
      const y = (view.y - shown.y) * view.scale + (height / 2) * (1 - grown);
      transform = `translate(${x}px, ${y}px) scale(${grown})`;
    }
    for (const layer of this.#layers) layer.style.transform = transform;
  }

  #viewAt(now) {
    if (!this.#glide) return this.#view;
    const { from, to, start } = this.#glide;
    const share = Math.min(1, Math.max(0, (now - start) / CHANGE));
    if (share === 1) {
      this.#glide = null;
      return this.#view;
    }
    const eased = 1 - (1 - share) ** 3;
    const between = (a, b) => a + eased * (b - a);
    const scale = from.scale * (to.scale / from.scale) ** eased;
    return { x: between(from.x, to.x), y: between(from.y, to.y), scale };
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

// Return the context of a canvas that has as many pixels as the screen.
function contextOf(canvas, { width, height }) {
  const density = Math.min(3, window.devicePixelRatio || 1);
  const [across, down] = [Math.round(width * density), Math.round(height * density)];
  if (canvas.width !== across) canvas.width = across;
  if (canvas.height !== down) canvas.height = down;
  const context = canvas.getContext("2d");
  context.setTransform(density, 0, 0, density, 0, 0);
  return context;
}

function distanceToSegment(spot, from, to) {
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  const square = dx * dx + dy * dy;
  const along = square ? ((spot.x - from.x) * dx + (spot.y - from.y) * dy) / square : 0;
  const share = Math.min(1, Math.max(0, along));
  return Math.hypot(spot.x - from.x - share * dx, spot.y - from.y - share * dy);
}
