// Draws street tiles beneath the map, if a server of tiles is set.

import { make } from "./elements.js";
import { toScreen } from "./projection.js";

const SIDE = 256; // pixels of a tile
const DEEPEST = 19; // the highest zoom level of tiles
const KEPT = 300; // the largest number of pictures in memory

const pictures = new Map(); // by address, the oldest first

/*
 * Draw the tiles of a view. The address has {z}, {x} and {y}. The scale is the number of
 * kilometres on the map per radian of longitude. onLoad() is called when a picture arrives.
 */
export function drawTiles(context, { width, height, view }, { address, scale, onLoad }) {
  context.clearRect(0, 0, width, height);
  const world = 2 * Math.PI * scale; // the width of the earth, in kilometres
  const level = Math.log2((world * view.scale) / SIDE);
  const zoom = Math.max(0, Math.min(DEEPEST, Math.round(level)));
  const tiles = 2 ** zoom;
  const side = (world * view.scale) / tiles;
  const origin = toScreen({ x: -world / 2, y: world / 2 }, view, width, height);
  const [left, top] = [Math.floor(-origin.x / side), Math.floor(-origin.y / side)];
  for (let x = left; origin.x + x * side < width; x += 1) {
    for (let y = Math.max(0, top); y < tiles && origin.y + y * side < height; y += 1) {
      const place = { z: zoom, x: ((x % tiles) + tiles) % tiles, y };
      const picture = pictureAt(address.replace(/\{([zxy])\}/g, (_, name) => place[name]), onLoad);
      if (!picture.complete || !picture.naturalWidth) continue;
      // Half a pixel more hides the seams between tiles.
      const [across, down] = [origin.x + x * side, origin.y + y * side];
      context.drawImage(picture, across, down, side + 0.5, side + 0.5);
    }
  }
}

function pictureAt(address, onLoad) {
  let picture = pictures.get(address);
  if (!picture) {
    picture = make("img", { src: address, alt: "" });
    picture.addEventListener("load", onLoad);
    pictures.set(address, picture);
    if (pictures.size > KEPT) pictures.delete(pictures.keys().next().value);
  }
  return picture;
}
