// The part of the plane that the map shows, and the ways to change it.
//
// A view is {x, y, scale}: the point in the middle, and the pixels per unit. Views are
// replaced and never changed, so that two can be compared by ===.

import { fit, toPlane, toScreen } from "./projection.js";

const MARGIN = 44; // pixels
const [LEAST, MOST] = [0.5, 200]; // scales, as multiples of the one that shows all points

export class Camera {
  size = { width: 0, height: 0 };
  moved = false; // whether the user chose the view; it then stays when the size changes
  #points = null; // null: there is nothing to show
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
    if (!this.moved) this.#go(this.#whole(), { moved: false });
  }

  /* Show these points, or nothing. */
  setPoints(points) {
    this.#points = points;
    this.showAll();
  }

  showAll() {
    this.#go(this.#whole(), { moved: false });
  }

  showOnly(points) {
    this.#go(this.#fitted(points), { moved: true });
  }

  pan(dx, dy) {
    if (!this.#view) return;
    const { x, y, scale } = this.#view;
    const view = { x: x - dx / scale, y: y + dy / scale, scale };
    this.#go(view, { moved: true });
  }

  /* Zoom by a factor; the point at the spot stays where it is. */
  zoom(factor, spot = { x: this.size.width / 2, y: this.size.height / 2 }) {
    if (!this.#view) return;
    const { width, height } = this.size;
    const whole = this.#whole().scale;
    const wanted = this.#view.scale * factor;
    const scale = Math.min(MOST * whole, Math.max(LEAST * whole, wanted));
    const fixed = toPlane(spot, this.#view, width, height);
    const after = toPlane(spot, { ...this.#view, scale }, width, height);
    const [x, y] = [this.#view.x + fixed.x - after.x, this.#view.y + fixed.y - after.y];
    this.#go({ x, y, scale }, { moved: true });
  }

  /* Return where a point of the plane is on the screen. */
  spotOf(point) {
    const { width, height } = this.size;
    return toScreen(point, this.#view, width, height);
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
