// Sheets for the drivers: one per tour.

import { LIGHT, paint } from "./colours.js";
import { byId, make } from "./elements.js";
import { amount, count, lengthOf, nameOf } from "./numbers.js";
import { drawScene } from "./picture.js";
import { fit } from "./projection.js";

const [WIDTH, HEIGHT] = [680, 300];
const MANY = 40; // with more tours, the maps are drawn with fewer pixels

/* Add a sheet for each tour to the page, which only the print shows. scene may be null. */
export function makeSheets(tours, instance, scene) {
  const sheets = tours.map((tour) => makeSheet(tour, tours.length, instance, scene));
  byId("sheets").replaceChildren(...sheets);
}

export function clearSheets() {
  byId("sheets").replaceChildren();
}

function makeSheet(tour, tours, instance, scene) {
  const { number, slot, stops, load, length } = tour;
  const full = `load ${amount(load)} of ${amount(instance.capacity)}`;
  const facts = [count(stops.length, "stop"), full];
  if (length !== null) facts.push(lengthOf(length, instance.unit, 3));
  const sheet = make(
    "section",
    { class: "sheet" },
    make(
      "header",
      { class: "sheet-head" },
      make("span", { class: "sheet-number", text: `${number}` }),
      make(
        "div",
        {},
        make("h2", { text: `Vehicle ${number} of ${tours}` }),
        make("p", { text: facts.join(" · ") }),
      ),
      make("p", { class: "sheet-plan", text: instance.name }),
    ),
  );
  if (scene) sheet.append(tourMap(tour, scene, tours > MANY ? 1 : 2));
  sheet.append(stopTable(tour, instance));
  paint(sheet, slot);
  return sheet;
}

function tourMap(tour, scene, density) {
  const canvas = make("canvas", {
    class: "sheet-map",
    width: WIDTH * density,
    height: HEIGHT * density,
  });
  const points = [0, ...tour.stops].map((stop) => scene.points[stop]);
  const view = fit(points, WIDTH, HEIGHT, 30);
  const context = canvas.getContext("2d");
  context.setTransform(density, 0, 0, density, 0, 0);
  const alone = { tours: [tour], unserved: new Set(), selected: tour.slot, hovered: null };
  drawScene(context, { ...scene, ...alone }, { width: WIDTH, height: HEIGHT, view, theme: LIGHT });
  return canvas;
}

function stopTable({ stops }, instance) {
  let sum = 0;
  const rows = stops.map((customer, place) => {
    const stop = instance.stops[customer - 1];
    sum += stop.demand;
    return row("td", [`${place + 1}`, nameOf(stop), amount(stop.demand), amount(sum), ""]);
  });
  const depot = instance.depot?.name ?? "depot";
  return make(
    "table",
    { class: "sheet-stops" },
    make("thead", {}, row("th", ["No.", "Customer", "Demand", "Together", "Done"])),
    make("tbody", {}, end(`From ${depot}`), ...rows, end(`Back to ${depot}`)),
  );
}

const row = (cell, texts) =>
  make("tr", {}, ...texts.map((text) => make(cell, { text })));

const end = (text) => {
  const line = row("td", ["", text, "", "", ""]);
  line.className = "sheet-depot";
  return line;
};
