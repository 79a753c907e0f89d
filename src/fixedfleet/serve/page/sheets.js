// Sheets for the drivers: one per tour, each on one page if its stops fit.

import { LIGHT, paint } from "./colours.js";
import { byId, make } from "./elements.js";
import { amount, count, dateOf, lengthOf, nameOf } from "./numbers.js";
import { drawScene } from "./picture.js";
import { fit } from "./projection.js";

const WIDTH = 680; // pixels of a map
const MANY = 40; // with more tours, the maps are drawn with fewer pixels
const MM = 96 / 25.4; // pixels
const PAGE = 240 * MM; // the height that Letter and A4 both have, with a reserve
const SHORT = 16; // characters; a column of such texts, as of phone numbers, never wraps
const [LOWEST, HIGHEST, USUAL] = [35 * MM, 95 * MM, 70 * MM]; // of a map

/*
 * Print a sheet for each tour instead of the page. current() returns the plan that the page
 * shows: {tours, instance, scene or null, title, created}, or null if there is none.
 */
export function printSheets(current) {
  window.addEventListener("beforeprint", () => {
    const plan = current();
    document.body.classList.toggle("has-sheets", plan !== null && plan.tours.length > 0);
    if (plan) makeSheets(plan);
  });
  window.addEventListener("afterprint", () => {
    document.body.classList.remove("has-sheets");
    byId("sheets").replaceChildren();
  });
}

function makeSheets({ tours, instance, scene, title, created }) {
  const about = { tours: tours.length, title, date: dateOf(created, { time: false }) };
  const sheets = tours.map((tour) => makeSheet(tour, instance, about));
  byId("sheets").replaceChildren(...sheets);
  const heights = sheets.map(roomForMap);
  heights.forEach((height, i) => {
    if (!scene) return;
    const density = tours.length > MANY ? 1 : 2;
    sheets[i].querySelector("table").before(tourMap(tours[i], scene, height, density));
  });
}

function makeSheet(tour, instance, { tours, title, date }) {
  const { number, slot, stops, load, length, name } = tour;
  const full = `load ${amount(load)} of ${amount(instance.capacity, instance.demandUnit)}`;
  const facts = [count(stops.length, "stop"), full];
  if (length !== null) facts.push(lengthOf(length, instance.unit, 3));
  const vehicle = `Vehicle ${number} of ${tours}`;
  if (name) facts.unshift(vehicle);
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
        make("h2", { text: name || vehicle }),
        make("p", { text: facts.join(" · ") }),
      ),
      make("div", { class: "sheet-plan" }, make("p", { text: title }), make("p", { text: date })),
    ),
    stopTable(tour, instance),
  );
  paint(sheet, slot);
  return sheet;
}

// Return the height of a sheet's map: what its table leaves of a page. A long or wide table
// is tightened first; one that needs more than a page has a map of the usual height.
function roomForMap(sheet) {
  const room = () => PAGE - sheet.getBoundingClientRect().height;
  const isWide = () => sheet.scrollWidth > sheet.clientWidth + 1;
  if (room() < LOWEST || isWide()) sheet.classList.add("tight");
  if (isWide()) sheet.classList.add("wrapped");
  return room() < LOWEST ? USUAL : Math.min(HIGHEST, room());
}

function tourMap(tour, scene, room, density) {
  const height = Math.round((room * WIDTH) / (180 * MM));
  const canvas = make("canvas", {
    class: "sheet-map",
    width: WIDTH * density,
    height: height * density,
  });
  const points = [0, ...tour.stops].map((stop) => scene.points[stop]);
  const view = fit(points, WIDTH, height, 30);
  const context = canvas.getContext("2d");
  context.setTransform(density, 0, 0, density, 0, 0);
  const alone = { tours: [tour], unserved: new Set(), selected: tour.slot };
  drawScene(context, { ...scene, ...alone }, { width: WIDTH, height, view, theme: LIGHT });
  return canvas;
}

function stopTable({ stops }, { stops: customers, columns, demandUnit: unit, depot }) {
  const demand = (customer) => customers[customer - 1].demand;
  let sum = 0;
  const parts = [
    { head: "No.", kind: "number", text: (_, place) => `${place + 1}` },
    { head: "Customer", text: (customer) => nameOf(customers[customer - 1]) },
    ...Object.entries(columns).map(([head, texts]) => ({
      head,
      kind: stops.every((customer) => texts[customer].length <= SHORT) ? "short" : null,
      text: (customer) => texts[customer],
    })),
    {
      head: unit ? `Demand (${unit})` : "Demand",
      kind: "sum",
      text: (customer) => amount(demand(customer)),
    },
    { head: "Load so far", kind: "sum", text: (customer) => amount((sum += demand(customer))) },
    { head: "Done", kind: "done", text: () => "" },
  ];
  const row = (tag, textOf) =>
    make("tr", {}, ...parts.map((part) => make(tag, { class: part.kind, text: textOf(part) })));
  const end = (text) => {
    const cells = [make("td", {}), make("td", { text, colspan: parts.length - 1 })];
    return make("tr", { class: "sheet-depot" }, ...cells);
  };
  const rows = stops.map((stop, place) => row("td", (part) => part.text(stop, place)));
  const home = depot.name ?? "depot";
  const body = [end(`From ${home}`), ...rows, end(`Back to ${home}`)];
  const head = row("th", (part) => part.head);
  const table = [make("thead", {}, head), make("tbody", {}, ...body)];
  return make("table", { class: "sheet-stops" }, ...table);
}
