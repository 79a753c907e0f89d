// Saving the plan: links to the server's files, and a PNG of the map.

import { planPath } from "./api.js";
import { LIGHT } from "./colours.js";
import { make, show } from "./elements.js";
import { isGerman, t } from "./language.js";
import { DECIMAL } from "./numbers.js";
import { drawScene } from "./picture.js";
import { fit } from "./projection.js";

const [WIDTH, HEIGHT] = [1240, 860]; // of the picture

/* Make the page's links lead to the files of a plan. GPX needs latitudes and longitudes. */
export function linkFiles(id, { geographic }) {
  for (const link of document.querySelectorAll("[data-download]")) {
    show(link, geographic || link.dataset.download !== "gpx");
    const query = `decimal=${DECIMAL}&language=${isGerman ? "de" : "en"}`;
    link.href = `${planPath(id)}/plan.${link.dataset.download}?${query}`;
  }
}

/* Save the map as a picture. */
export async function savePicture(scene, title) {
  if (!scene) throw new Error(t`these customers have no coordinates to draw`);
  const canvas = make("canvas", { width: 2 * WIDTH, height: 2 * HEIGHT });
  const context = canvas.getContext("2d");
  const view = fit(scene.points, WIDTH, HEIGHT, 44);
  const frame = { width: WIDTH, height: HEIGHT, view, theme: LIGHT };
  context.setTransform(2, 0, 0, 2, 0, 0);
  drawScene(context, { ...scene, selected: null }, frame);
  const blob = await new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
  save(blob, `${fileName(title)}.png`);
}

function save(blob, name) {
  const address = URL.createObjectURL(blob);
  const link = make("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

function fileName(title) {
  const plain = title.replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-+|-+$/g, "");
  return plain.slice(0, 60) || "plan";
}
