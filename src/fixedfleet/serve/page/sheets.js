// Prints sheets for the drivers: one per tour, on one page if its stops fit. A last sheet has
// the customers who are not served.

import { LIGHT, paint } from "./colours.js";
import { byId, make } from "./elements.js";
import { capacityOf, isOverloaded, splitColumns, wayOf } from "./instance.js";
import { t } from "./language.js";
import { amount, count, dateOf, lengthOf, nameOf } from "./numbers.js";
import { drawScene } from "./picture.js";
import { fit } from "./projection.js";
import { arrivalOf, clock, isLate, spanOf } from "./times.js";

const WIDTH = 680; // pixels of a map
const MANY = 40; // with more tours, the maps are drawn with fewer pixels
const MM = 96 / 25.4; // pixels of a millimetre
const PAGE = 240 * MM; // the usable height of both Letter and A4
const LYING = 175 * MM; // the usable height of a page in landscape
// CSS classes for the layout of a sheet, the best first. tight has small letters, stacked has
// long texts below the name, brief leaves the load so far out, lying is in landscape, and tiny
// has the smallest letters.
const [STACKED, BRIEF] = ["tight stacked", "tight stacked brief"];
const LYING_WAYS = ["tight lying", "tight stacked lying", "tight stacked lying tiny"];
const LAST_WAYS = ["tight stacked brief tiny", "tight stacked brief lying tiny"];
const WAYS = ["", "tight", "stacked", STACKED, BRIEF, ...LYING_WAYS, ...LAST_WAYS];
const SHORT = 16; // characters; a column of texts up to this length is not wrapped
const DOT = 8; // pixels of a dot of a QR code
const [LOWEST, HIGHEST, USUAL] = [28 * MM, 95 * MM, 70 * MM]; // heights of a map

/*
 * Print a sheet for each tour instead of the page. current() returns the plan that the page
 * shows: {tours, unserved, instance, scene or null, title, date}, or null if there is none.
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

function makeSheets({ tours, unserved, instance, scene, title, date }) {
  const about = { tours: tours.length, title, date: dateOf(date, { time: false }) };
  const sheets = tours.map((tour) => makeSheet(tour, instance, about));
  const rest = unserved.length ? [sheetOfUnserved(unserved, instance, about)] : [];
  byId("sheets").replaceChildren(...sheets, ...rest);
  const heights = sheets.map(roomForMap);
  rest.forEach(fitWidth);
  heights.forEach((height, i) => {
    if (!scene || !height) return;
    const density = tours.length > MANY ? 1 : 2;
    const shape = height / sheets[i].clientWidth;
    sheets[i].querySelector("table").before(tourMap(tours[i], scene, shape, density));
  });
}

function makeSheet(tour, instance, { tours, title, date }) {
  const { number, slot, stops, load, length, name, times, links = [] } = tour;
  const { demandUnit } = instance;
  const capacity = capacityOf(instance, tour);
  const full = t`load ${amount(load)} of ${amount(capacity, demandUnit)}`;
  const facts = [count(stops.length, "stop"), full];
  if (length !== null) facts.push(`${lengthOf(length, instance.unit, 3)} ${wayOf(instance)}`.trim());
  if (times) facts.push(spanOf(times, instance));
  const vehicle = t`Vehicle ${number} of ${tours}`;
  if (name) facts.unshift(vehicle);
  const head = headOf(`${number}`, name || vehicle, facts.join(" · "), { title, date });
  head.append(make("div", { class: "sheet-codes" }, ...links.map(codeOf)));
  const sheet = make("section", { class: "sheet" }, head);
  const over = t`Too full: ${amount(load - capacity, demandUnit)} more than the vehicle carries`;
  const late = t`Late: this tour cannot be driven in time`;
  const warnings = [isOverloaded(instance, tour) && over, isLate(times) && late];
  for (const text of warnings.filter(Boolean)) {
    sheet.append(make("p", { class: "sheet-warning", text }));
  }
  const home = instance.depot.name ?? t`depot`;
  const ends = [t`From ${home}`, t`Back to ${home}`];
  if (times && instance.hasClock) {
    ends[0] += ` · ${clock(times.departure)}`;
    ends[1] += ` · ${clock(times.end)}`;
  }
  sheet.append(stopTable(stops, instance, ends, times));
  paint(sheet, slot);
  return sheet;
}

function sheetOfUnserved(unserved, instance, about) {
  const demands = unserved.map((customer) => instance.stops[customer - 1].demand);
  const sum = demands.reduce((all, demand) => all + demand, 0);
  const facts = `${count(unserved.length, "customer")} · ${amount(sum, instance.demandUnit)}`;
  const head = headOf("–", t`Not delivered`, facts, about);
  return make("section", { class: "sheet" }, head, stopTable(unserved, instance));
}

function headOf(number, name, facts, { title, date }) {
  return make(
    "header",
    { class: "sheet-head" },
    make("span", { class: "sheet-number", text: number }),
    make(
      "div",
      {},
      make("h2", { text: name }),
      make("p", { text: facts }),
      make("p", { class: "sheet-plan", text: `${title} · ${date}` }),
    ),
  );
}

// Return the QR code of a link that opens some stops in the maps app of a phone.
function codeOf({ first, last, code }) {
  const side = code.length;
  const canvas = make("canvas", { width: side * DOT, height: side * DOT });
  const context = canvas.getContext("2d");
  code.forEach((row, y) => {
    for (let x = 0; x < side; x += 1) {
      if (row[x] === "1") context.fillRect(x * DOT, y * DOT, DOT, DOT);
    }
  });
  const text = first === last ? t`Stop ${first}` : t`Stops ${first} to ${last}`;
  return make("figure", {}, canvas, make("figcaption", { text }));
}

// Choose the layout of a sheet, and return the height of its map: the room that its table leaves
// on the page. If a long or wide table leaves too little room, it is written smaller or in
// landscape. If no layout leaves room for a map, there is none. A table that needs more than one
// page has a map of the usual height, unless another page would be needed for the map.
function roomForMap(sheet) {
  const room = () => {
    const page = sheet.classList.contains("lying") ? LYING : PAGE;
    return page - sheet.getBoundingClientRect().height;
  };
  for (const least of [LOWEST, 0]) {
    const fits = () => room() >= least && !isWide(sheet);
    const found = WAYS.some((way) => (sheet.className = `sheet ${way}`.trim()) && fits());
    if (found) return least && Math.min(HIGHEST, room());
  }
  sheet.className = `sheet ${STACKED}`;
  fitWidth(sheet);
  const page = sheet.classList.contains("lying") ? LYING : PAGE;
  const pages = (more) => Math.ceil((sheet.getBoundingClientRect().height + more) / page);
  return pages(USUAL) > pages(0) ? 0 : USUAL;
}

const isWide = (sheet) => sheet.scrollWidth > sheet.clientWidth + 1;

// Make a wide table fit the page: write it smaller, then in landscape. Long words are broken
// only if it is still too wide.
function fitWidth(sheet) {
  for (const way of ["tight", "stacked", "brief", "lying", "tiny", "broken"]) {
    if (!isWide(sheet)) return;
    sheet.classList.add(way);
  }
}

// Draw the map of a tour. shape is the height of the map divided by its width.
function tourMap(tour, scene, shape, density) {
  const height = Math.round(shape * WIDTH);
  const canvas = make("canvas", {
    class: "sheet-map",
    width: WIDTH * density,
    height: height * density,
  });
  const { line = null } = scene.tours.find(({ slot }) => slot === tour.slot) ?? {};
  const points = [0, ...tour.stops].map((stop) => scene.points[stop]);
  const view = fit([...points, ...(line ?? [])], WIDTH, height, 30);
  const context = canvas.getContext("2d");
  context.setTransform(density, 0, 0, density, 0, 0);
  const alone = { tours: [{ ...tour, line }], unserved: new Set(), selected: tour.slot };
  drawScene(context, { ...scene, ...alone }, { width: WIDTH, height, view, theme: LIGHT });
  return canvas;
}

// Return a table of stops. ends has the texts of a row before the stops and a row after them.
function stopTable(stops, instance, ends = [], times = null) {
  const { stops: customers, columns, demandUnit: unit } = instance;
  const demand = (customer) => customers[customer - 1].demand;
  const { address, others } = splitColumns(columns);
  const filled = others.filter(([, texts]) => stops.some((customer) => texts[customer]));
  // The address, which has a line of its own, need not tell customers of one name apart.
  const who = (customer) => {
    const { ownName, ...stop } = customers[customer - 1];
    return nameOf(address(customer) ? { ...stop, name: ownName } : stop);
  };
  let sum = 0;
  const parts = [
    { head: t`No.`, kind: "number", text: (_, place) => `${place + 1}` },
    { head: t`Customer`, kind: "who", text: who },
    times && {
      head: t`Arrival`,
      kind: "short",
      text: (_, place) => arrivalOf(times, place, instance),
    },
    ...filled.map(([head, texts]) => ({
      head,
      kind: stops.every((customer) => texts[customer].length <= SHORT) ? "short" : "long",
      text: (customer) => texts[customer],
    })),
    {
      head: unit ? t`Demand (${unit})` : t`Demand`,
      kind: "sum",
      text: (customer) => amount(demand(customer)),
    },
    {
      head: t`Load so far`,
      kind: "sum so-far",
      text: (customer) => amount((sum += demand(customer))),
    },
    { head: t`Done`, kind: "done", text: () => "" },
  ].filter(Boolean);
  const row = (tag, textOf) =>
    make("tr", {}, ...parts.map((part) => make(tag, { class: part.kind, text: textOf(part) })));
  const wide = (kind, text) => {
    const cells = [make("td", {}), make("td", { text, colspan: parts.length - 1 })];
    return make("tr", { class: kind }, ...cells);
  };
  const long = parts.filter(({ kind }) => kind === "long");
  const rows = stops.flatMap((stop, place) => {
    const line = row("td", (part) => part.text(stop, place));
    // The address is below the name, and the delivery window below the arrival.
    for (const [cell, text] of [[1, address(stop)], [2, times && customers[stop - 1].window]]) {
      if (text) line.cells[cell].append(make("span", { class: "address", text }));
    }
    const below = long.map((part) => part.text(stop)).filter(Boolean).join(" · ");
    return below ? [line, wide("below", below)] : [line];
  });
  const [first, last] = ends.map((text) => wide("sheet-depot", text));
  const body = [first, ...rows, last].filter(Boolean);
  const head = row("th", (part) => part.head);
  const table = [make("thead", {}, head), make("tbody", {}, ...body)];
  return make("table", { class: "sheet-stops" }, ...table);
}
