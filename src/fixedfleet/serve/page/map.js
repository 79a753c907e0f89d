// The map: it shows customers and tours, decides when to draw them, and reacts to the pointer.

import { Camera } from "./camera.js";
import { currentTheme, onThemeChange } from "./colours.js";
import { byId, show } from "./elements.js";
import { followGestures } from "./gestures.js";
import { drawScene } from "./picture.js";
import { kilometresPerRadian, placeOf, placesOf, pointOf } from "./projection.js";
import { customerAt, legAt } from "./spots.js";
import { drawTiles } from "./tiles.js";
import { townsOf } from "./towns.js";

const REACH = { mouse: 8, touch: 22 }; // pixels around a dot that count as the dot
const DROP = 40; // pixels around a tour's line that count as the line when a stop is dropped
const SMOOTH = 20; // milliseconds; a drawing that takes longer is not made in every frame
const KM_PER_MILE = 1.609344;

export class FleetMap {
  #canvas;
  #streets = null; // {canvas, address} of street tiles, if they are shown
  #scene = null;
  #camera = new Camera(() => this.#redraw({ stale: false }));
  #drawn = null; // the view that the canvas shows, and how long it took to draw it
  #hovered = null;
  #drag = null; // {customer, spot, leg}
  #asked = false; // whether a drawing is already requested for the next frame
  #stale = true; // whether the scene has changed since it was drawn
  #editable = false;
  #onHover;
  #onPick;
  #onDrop;
  #onPlace = null; // see askForPlace

  /*
   * onHover(customer or null, spot) reports the customer under the pointer, onPick(slot or null)
   * a click on a tour, and onDrop(customer, {slot, place}) a stop that was dragged to a position
   * in a tour.
   */
  constructor(canvas, { onHover, onPick, onDrop }) {
    this.#canvas = canvas;
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

  /* Show street tiles from this address in a canvas beneath the map. */
  showStreets(canvas, address) {
    this.#streets = { canvas, address };
    this.#redraw();
  }

  /* Show an instance's customers, without tours. Return whether it has coordinates. */
  setInstance(instance) {
    const points = placesOf(instance);
    const demands = [0, ...instance.stops.map((stop) => stop.demand)];
    this.#scene = points && {
      points,
      towns: townsOf(instance, points),
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
    this.#onPlace = null;
    this.#hovered = null;
    this.#camera.setPoints(points);
    this.#redraw();
    return points !== null;
  }

  /* Show tours {slot, number, stops, locked, line or null}. */
  setTours(tours, unserved = []) {
    if (!this.#scene) return;
    const { scale, points } = this.#scene;
    const inPlane = ([lat, lon]) => pointOf({ x: lon, y: lat }, scale, points[0]);
    this.#scene.tours = tours.map((tour) =>
      tour.line ? { ...tour, line: tour.line.map(inPlane) } : tour,
    );
    this.#scene.unserved = new Set(unserved);
    this.#redraw();
  }

  /* Select a tour and zoom to it. With null, select none and show all customers. */
  select(slot) {
    if (!this.#scene || this.#scene.selected === slot) return;
    this.#scene.selected = slot;
    const tour = this.#scene.tours.find((one) => one.slot === slot);
    if (tour) this.#camera.showOnly([0, ...tour.stops].map((stop) => this.#scene.points[stop]));
    else this.#camera.showAll();
    this.#redraw();
  }

  /* Allow the user to drag stops, or forbid it. */
  setEditable(editable) {
    this.#editable = editable;
  }

  /* Mark customers whose rows are doubtful. */
  mark(customers) {
    if (!this.#scene) return;
    this.#scene.doubtful = new Set(customers);
    this.#redraw();
  }

  /* Call onPlace({x, y}) with the place that the user clicks next. With null, ask no more. */
  askForPlace(onPlace) {
    this.#onPlace = onPlace;
    this.#canvas.classList.toggle("placing", onPlace !== null);
  }

  hover(customer) {
    if (!this.#scene || this.#hovered === customer) return;
    this.#hovered = customer;
    this.#redraw({ stale: false });
  }

  spotOf(customer) {
    return this.#camera.spotOf(this.#scene.points[customer]);
  }

  showAll() {
    this.#camera.showAll();
  }

  // Gestures

  get moved() {
    return this.#camera.moved;
  }

  pan(dx, dy) {
    if (!this.#scene) return;
    this.#camera.pan(dx, dy);
    this.#tell(null);
  }

  zoom(factor, spot) {
    if (!this.#scene) return;
    this.#camera.zoom(factor, spot);
    this.#tell(null);
  }

  point(spot, touch) {
    if (!this.#scene || touch) return;
    const customer = this.#customerAt(spot);
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
    if (this.#onPlace) {
      const onPlace = this.#onPlace;
      this.askForPlace(null);
      onPlace(placeOf(this.#camera.pointAt(spot), this.#scene.scale));
      return;
    }
    const customer = this.#customerAt(spot, touch ? REACH.touch : REACH.mouse);
    this.#tell(customer);
    // A finger cannot hover. So a tap on a customer shows its note, and does not pick the tour.
    if (touch && customer !== null) return;
    this.#onPick(customer ? (this.#tourOf(customer)?.slot ?? null) : this.#tourAt(spot));
  }

  /* Begin to drag the stop at a spot. Return whether there is one that may be dragged. */
  grab(spot) {
    const customer = this.#scene && this.#customerAt(spot);
    if (!customer || !this.#mayDrag(customer)) return false;
    this.#drag = { customer, spot, leg: null };
    return true;
  }

  drag(spot) {
    const { customer } = this.#drag;
    this.#tell(null);
    const open = this.#scene.tours
      .filter((tour) => !tour.locked)
      .map(({ slot, stops }) => ({ slot, stops: stops.filter((stop) => stop !== customer) }))
      .filter(({ stops }) => stops.length > 0);
    const leg = legAt(spot, open, (stop) => this.spotOf(stop), DROP);
    this.#drag = { customer, spot, leg };
    this.#redraw({ stale: false });
  }

  /* End the drag. The stop moves if it is given to a tour, and not if the drag was cancelled. */
  drop(given) {
    const { customer, leg } = this.#drag;
    this.#drag = null;
    this.#redraw({ stale: false });
    if (given && leg) this.#onDrop(customer, leg);
  }

  // Only stops of the selected tour and unserved customers may be dragged. Others might be
  // grabbed by mistake where customers are dense and the user wants to move the map.
  #mayDrag(customer) {
    const tour = this.#tourOf(customer);
    if (!this.#editable) return false;
    if (!tour) return this.#scene.unserved.has(customer);
    return tour.slot === this.#scene.selected && !tour.locked;
  }

  #tell(customer) {
    this.hover(customer);
    this.#onHover(customer, customer === null ? null : this.spotOf(customer));
  }

  #customerAt(spot, reach = REACH.mouse) {
    const spotOf = (customer) => this.spotOf(customer);
    return customerAt(spot, this.#scene, this.#camera.size, spotOf, reach);
  }

  #tourOf(customer) {
    return this.#scene.tours.find(({ stops }) => stops.includes(customer));
  }

  #tourAt(spot) {
    const spotOf = (stop) => this.spotOf(stop);
    return legAt(spot, this.#scene.tours, spotOf, REACH.mouse)?.slot ?? null;
  }

  // Drawing

  #resize() {
    this.#camera.setSize(this.#canvas.getBoundingClientRect());
    this.#redraw();
  }

  // Draw at most once per frame, however often something changes.
  #redraw({ stale = true } = {}) {
    this.#canvas.classList.toggle("moved", this.moved);
    this.#stale ||= stale;
    if (this.#asked) return;
    this.#asked = true;
    requestAnimationFrame((now) => {
      this.#asked = false;
      this.#draw(now);
    });
  }

  #draw(now) {
    const { width, height } = this.#camera.size;
    if (!width || !height || !this.#scene) return;
    const { view } = this.#camera;
    const frame = { width, height, view, theme: currentTheme() };
    if (this.#mayWait(now, view)) this.#shift(view);
    else if (this.#stale || this.#drawn.view !== view) this.#drawAll(now, frame);
    this.#drawPointed();
    if (this.#drawn.view !== view) this.#redraw({ stale: false });
  }

  // Draw what follows the pointer, in elements above the canvas: a ring around a customer, and
  // while a stop is dragged, lines to its neighbours in the tour that it would go to.
  #drawPointed() {
    const [hovered, drag] = [this.#hovered, this.#drag];
    put("ring", hovered === null ? null : this.spotOf(hovered));
    put("dragged", drag?.spot ?? null);
    const ends = drag?.leg ? [drag.leg.before, drag.leg.behind] : [];
    const [from, to] = ends.map((end) => this.spotOf(end));
    const way = from && `M${from.x},${from.y}L${drag.spot.x},${drag.spot.y}L${to.x},${to.y}`;
    byId("way").setAttribute("d", way ?? "");
  }

  #drawAll(now, frame) {
    const { scale } = this.#scene;
    const streets = this.#streets !== null && scale !== null;
    if (streets) {
      const { canvas, address } = this.#streets;
      const onLoad = () => this.#redraw();
      drawTiles(contextOf(canvas, frame), frame, { address, scale, onLoad });
    }
    const context = contextOf(this.#canvas, frame);
    drawScene(context, this.#scene, { ...frame, streets });
    this.#stale = false;
    this.#shift(null);
    const drawn = { view: frame.view, at: now, took: 0 };
    this.#drawn = drawn;
    // The browser draws after this function ends, so the next frame shows how long it took.
    requestAnimationFrame((next) => {
      drawn.took = next - now;
    });
  }

  // Return whether to move the old drawing, like a picture, instead of drawing again. This is
  // for drawings that take long: while the map moves, drawing takes at most a quarter of the
  // time.
  #mayWait(now, view) {
    const { view: shown, at, took } = this.#drawn ?? {};
    return shown !== undefined && shown !== view && took > SMOOTH && now - at < 4 * took;
  }

  // Move the drawing to where it belongs in this view. With null, it is already drawn for it.
  #shift(view) {
    let transform = "";
    if (view) {
      const { width, height } = this.#camera.size;
      const shown = this.#drawn.view;
      const grown = view.scale / shown.scale;
      const x = (shown.x - view.x) * view.scale + (width / 2) * (1 - grown);
      const y = (view.y - shown.y) * view.scale + (height / 2) * (1 - grown);
      transform = `translate(${x}px, ${y}px) scale(${grown})`;
    }
    this.#canvas.style.transform = transform;
    if (this.#streets) this.#streets.canvas.style.transform = transform;
  }
}

function put(id, spot) {
  show(byId(id), spot !== null);
  for (const axis of spot ? ["x", "y"] : []) byId(id).setAttribute(`c${axis}`, spot[axis]);
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
