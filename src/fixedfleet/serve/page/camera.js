// The view: the part of the plane that the map shows. The user pans and zooms it.
//
// A view is {x, y, scale}: the point of the plane in the middle of the map, and the pixels per
// unit. A view object is replaced and never changed, so that === tells whether it is the same.

import { fit, toPlane, toScreen } from "./projection.js";

const MARGIN = 44; // pixels
const [LEAST, MOST] = [0.5, 200]; // limits of the scale; 1 is the scale that shows all points

export class Camera {
  size = { width: 0, height: 0 };
  moved = false; // whether the view is not the one that shows all points
  #points = null; // null if there is nothing to show
  #shown = null; // the points that fill the view; null if the user panned or zoomed
  #view = null;
  #onMove;

  /* onMove() is called whenever the view changes. */
  constructor(onMove) {
    this.#onMove = onMove;
  }

  get view() {
    return this.#view;
  }

  setSize({ width, height }) {
    this.size = { width, height };
    // A view that the user chose is not changed.
    if (this.#shown) this.#go(this.#fitted(this.#shown), { moved: this.moved });
  }

  /* Show these points; with null, show nothing. */
  setPoints(points) {
    this.#points = points;
    this.showAll();
  }

  showAll() {
    this.#shown = this.#points;
    this.#go(this.#whole(), { moved: false });
  }

  showOnly(points) {
    this.#shown = points;
    this.#go(this.#fitted(points), { moved: true });
  }

  pan(dx, dy) {
    if (!this.#view) return;
    const { x, y, scale } = this.#view;
    this.#choose({ x: x - dx / scale, y: y + dy / scale, scale });
  }

  /* Zoom by a factor. The point at this spot of the screen stays where it is. */
  zoom(factor, spot = { x: this.size.width / 2, y: this.size.height / 2 }) {
    if (!this.#view) return;
    const { width, height } = this.size;
    const whole = this.#whole().scale;
    const wanted = this.#view.scale * factor;
    const scale = Math.min(MOST * whole, Math.max(LEAST * whole, wanted));
    const fixed = toPlane(spot, this.#view, width, height);
    const after = toPlane(spot, { ...this.#view, scale }, width, height);
    const [x, y] = [this.#view.x + fixed.x - after.x, this.#view.y + fixed.y - after.y];
    this.#choose({ x, y, scale });
  }

  /* Return where a point of the plane is on the screen. */
  spotOf(point) {
    const { width, height } = this.size;
    return toScreen(point, this.#view, width, height);
  }

  /* Return the point of the plane at a spot of the screen. */
  pointAt(spot) {
    return toPlane(spot, this.#view, this.size.width, this.size.height);
  }

  #choose(view) {
    this.#shown = null;
    this.#go(view, { moved: true });
  }

  #go(view, { moved }) {
    this.moved = moved;
    this.#view = view;
    this.#onMove();
  }

  #whole() {
    return this.#points && this.#fitted(this.#points);
  }

  #fitted(points) {
    const { width, height } = this.size;
    return fit(points, width, height, MARGIN);
  }
}
