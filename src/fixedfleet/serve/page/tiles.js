// Street tiles beneath the map, from the server that the user has chosen, if any.

import { make } from "./elements.js";
import { toScreen } from "./projection.js";

const SIDE = 256; // pixels of a tile
const DEEPEST = 19;
const KEPT = 300; // pictures

export class TileLayer {
  #canvas;
  #address;
  #scale = null; // kilometres on the map per radian of longitude; null: no tiles
  #pictures = new Map(); // by address, the oldest first
  #onLoad;

  /* onLoad() is called when a picture has arrived. */
  constructor(canvas, address, onLoad) {
    this.#canvas = canvas;
    this.#address = address;
    this.#onLoad = onLoad;
  }

  /* Show the streets around places with this scale, or none if it is null. */
  setScale(scale) {
    this.#scale = scale;
  }

  /* Draw the tiles of a view; returns whether there are any. */
  draw({ width, height, view, density }) {
    if (this.#scale === null) return false;
    Object.assign(this.#canvas, {
      width: Math.round(width * density),
      height: Math.round(height * density),
    });
    const context = this.#canvas.getContext("2d");
    context.setTransform(density, 0, 0, density, 0, 0);
    const world = 2 * Math.PI * this.#scale; // the width of the earth, in kilometres
    const level = Math.log2((world * view.scale) / SIDE);
    const zoom = Math.max(0, Math.min(DEEPEST, Math.round(level)));
    const tiles = 2 ** zoom;
    const side = (world * view.scale) / tiles;
    const origin = toScreen({ x: -world / 2, y: world / 2 }, view, width, height);
    const [left, top] = [Math.floor(-origin.x / side), Math.floor(-origin.y / side)];
    for (let x = left; origin.x + x * side < width; x += 1) {
      for (let y = Math.max(0, top); y < tiles && origin.y + y * side < height; y += 1) {
        const picture = this.#picture(zoom, ((x % tiles) + tiles) % tiles, y);
        if (!picture.complete || !picture.naturalWidth) continue;
        // Half a pixel more hides the seams between tiles.
        const [across, down] = [origin.x + x * side, origin.y + y * side];
        context.drawImage(picture, across, down, side + 0.5, side + 0.5);
      }
    }
    return true;
  }

  #picture(z, x, y) {
    const place = { z, x, y };
    const address = this.#address.replace(/\{([zxy])\}/g, (_, name) => place[name]);
    let picture = this.#pictures.get(address);
    if (!picture) {
      picture = make("img", { src: address, alt: "" });
      picture.addEventListener("load", this.#onLoad);
      this.#pictures.set(address, picture);
      if (this.#pictures.size > KEPT) {
        this.#pictures.delete(this.#pictures.keys().next().value);
      }
    }
    return picture;
  }
}
