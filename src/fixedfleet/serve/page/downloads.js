// Saving the plan: links to the server's files, and a PNG of the map.

import { planPath } from "./api.js";
import { LIGHT, hue, textOn } from "./colours.js";
import { make } from "./elements.js";
import { DECIMAL, amount, count, lengthOf } from "./numbers.js";
import { drawScene } from "./picture.js";
import { fit } from "./projection.js";

const FONT = '"Segoe UI", Roboto, "Helvetica Neue", "Liberation Sans", Arial, sans-serif';
const [WIDTH, HEIGHT, LEGEND, HEAD, ROW] = [1240, 860, 300, 64, 24];

/* Let the links in the page lead to the files of a plan. */
export function linkFiles(id) {
  for (const link of document.querySelectorAll("[data-download]")) {
    const query = link.dataset.download === "csv" && DECIMAL === "," ? "?decimal=," : "";
    link.href = `${planPath(id)}/plan.${link.dataset.download}${query}`;
  }
}

/* Save the map as a picture with a list of the tours beside it. */
export async function savePicture({ scene, tours, instance, unserved }, title) {
  if (!scene) throw new Error("these customers have no coordinates to draw");
  const length = tours.reduce((sum, tour) => sum + tour.length, 0);
  const parts = [count(tours.length, "tour"), lengthOf(length, instance.unit)];
  if (unserved.length) parts.push(`${count(unserved.length, "customer")} left out`);
  const canvas = make("canvas", { width: 2 * WIDTH, height: 2 * HEIGHT });
  const context = canvas.getContext("2d");
  const size = { width: WIDTH - LEGEND, height: HEIGHT - HEAD };
  const view = fit(scene.points, size.width, size.height, 44);
  context.setTransform(2, 0, 0, 2, 0, 2 * HEAD);
  drawScene(context, { ...scene, selected: null }, { ...size, view, theme: LIGHT });
  context.setTransform(2, 0, 0, 2, 0, 0);
  drawTitle(context, title, parts.join(", "));
  drawLegend(context, tours, amount(instance.capacity, instance.demandUnit), scene.unit);
  const blob = await new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
  save(blob, `${fileName(title)}.png`);
}

function drawTitle(context, title, subtitle) {
  context.fillStyle = LIGHT.paper;
  context.fillRect(0, 0, WIDTH, HEAD);
  context.textAlign = "left";
  context.textBaseline = "alphabetic";
  context.fillStyle = LIGHT.ink;
  context.font = `600 20px ${FONT}`;
  context.fillText(title, 20, 32, WIDTH - 40);
  context.fillStyle = LIGHT.muted;
  context.font = `14px ${FONT}`;
  context.fillText(subtitle, 20, 54, WIDTH - 40);
}

function drawLegend(context, tours, capacity, unit) {
  const left = WIDTH - LEGEND;
  context.fillStyle = LIGHT.paper;
  context.fillRect(left, HEAD, LEGEND, HEIGHT - HEAD);
  const rows = Math.floor((HEIGHT - HEAD - 16) / ROW);
  const shown = tours.length > rows ? rows - 1 : tours.length;
  const line = (row, text) => {
    context.fillStyle = LIGHT.ink;
    context.font = `13px ${FONT}`;
    context.textAlign = "left";
    context.fillText(text, left + 44, HEAD + ROW * row + 17, LEGEND - 60);
  };
  tours.slice(0, shown).forEach(({ slot, number, stops, load, length, name }, row) => {
    const colour = hue(slot, LIGHT);
    context.fillStyle = colour;
    context.beginPath();
    context.roundRect(left + 12, HEAD + ROW * row + 3, 24, 18, 4);
    context.fill();
    context.fillStyle = textOn(colour);
    context.font = `700 11px ${FONT}`;
    context.textAlign = "center";
    context.fillText(number, left + 24, HEAD + ROW * row + 16);
    const far = length === null ? "" : `, ${lengthOf(length, unit, 3)}`;
    const full = `${amount(load)} of ${capacity}`;
    const who = name ? `${name}: ` : "";
    line(row, `${who}${count(stops.length, "stop")}, ${full}${far}`);
  });
  if (shown < tours.length) line(shown, `… and ${tours.length - shown} more tours`);
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
