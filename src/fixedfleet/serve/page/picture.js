// Draws a scene on a canvas: for the map on the page, the PNG file and the drivers' sheets.

import { hue, textOn } from "./colours.js";
import { placeLabels } from "./labels.js";
import { lengthOf } from "./numbers.js";
import { roundLength, toScreen } from "./projection.js";

const FONT = '"Segoe UI", Roboto, "Helvetica Neue", "Liberation Sans", Arial, sans-serif';
const FADED = 0.14;
const TURN = 2 * Math.PI;
const TOWN_SIZE = 13; // of the name of a town, in pixels
const LABEL = 9; // radius of the number of a stop, in pixels
const SQUARE = 3; // if the largest radius is below it, dots are squares, drawn much faster

/*
 * Draw a scene: {points, towns, demands, unit, perUnit, tours, unserved, doubtful, selected}.
 *
 * points and demands begin with the depot. towns are {name, point}. perUnit is the length of one
 * unit on the map. tours are {slot, number, stops, line or null}. unserved and doubtful are sets
 * of customers. selected is the slot of a tour or null. The frame is {width, height, view, theme,
 * streets}, in CSS pixels; with streets, the background is transparent.
 */
export function drawScene(context, scene, frame) {
  const pen = penOf(context, scene, frame);
  drawPaper(pen, frame);
  for (const tour of inOrder(scene)) drawWay(pen, tour);
  if (!frame.streets) drawTowns(pen, frame);
  drawCustomers(pen);
  drawUnserved(pen);
  drawDoubtful(pen);
  drawDepot(pen);
  drawNumbers(pen);
  drawScale(pen, frame);
}

function penOf(context, scene, { width, height, view, theme }) {
  const onScreen = (point) => toScreen(point, view, width, height);
  const spots = scene.points.map(onScreen);
  // Dots outside the frame, with a margin for their radius, are not drawn.
  const seen = ({ x, y }) => x > -20 && y > -20 && x < width + 20 && y < height + 20;
  const dot = largestDot(scene, { width, height });
  return { context, scene, spots, seen, dot, theme, onScreen };
}

// The selected tour is drawn last, above the others.
function inOrder({ tours, selected }) {
  return [...tours].sort((a, b) => (a.slot === selected) - (b.slot === selected));
}

const strength = (scene, slot) =>
  scene.selected === null || scene.selected === slot ? 1 : FADED;

function drawPaper({ context, theme }, { width, height, streets }) {
  context.globalAlpha = 1;
  context.clearRect(0, 0, width, height);
  if (streets) return;
  context.fillStyle = theme.paper;
  context.fillRect(0, 0, width, height);
}

// Write the names of towns above their customers. A name that would cover another is left out.
function drawTowns({ context, scene, theme }, { width, height, view }) {
  const taken = [];
  context.globalAlpha = 1;
  context.fillStyle = theme.muted;
  context.strokeStyle = theme.paper; // an outline, so that tours do not cross the letters
  context.lineWidth = 3;
  context.font = `600 ${TOWN_SIZE}px ${FONT}`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  for (const { name, point } of scene.towns) {
    const { x, y } = toScreen(point, view, width, height);
    const half = context.measureText(name).width / 2;
    const covers = (other) =>
      Math.abs(x - other.x) < half + other.half + 6 && Math.abs(y - other.y) < TOWN_SIZE + 4;
    if (taken.some(covers)) continue;
    taken.push({ x, y, half });
    context.strokeText(name, x, y - 1.4 * TOWN_SIZE);
    context.fillText(name, x, y - 1.4 * TOWN_SIZE);
  }
}

function drawWay({ context, scene, spots, theme, onScreen }, { slot, stops, line }) {
  if (!stops.length) return;
  if (line) {
    context.globalAlpha = strength(scene, slot);
    context.strokeStyle = hue(slot, theme);
    context.lineWidth = scene.points.length > 300 ? 1.5 : 2.2;
    strokeLegs(context, line.map(onScreen));
    return;
  }
  const inner = stops.map((stop) => spots[stop]);
  // All tours meet at the depot, so the lines from and to it are paler.
  const parts = [
    { way: [spots[0], inner[0]], depot: true },
    { way: inner, depot: false },
    { way: [inner.at(-1), spots[0]], depot: true },
  ];
  const width = scene.points.length > 300 ? 1.5 : 2.2;
  context.strokeStyle = hue(slot, theme);
  context.lineJoin = "round";
  context.lineCap = "round";
  for (const { way, depot } of parts) {
    context.globalAlpha = strength(scene, slot) * (depot ? 0.5 : 1);
    context.lineWidth = depot ? width / 2 : width;
    strokeLegs(context, way);
  }
}

// Each leg is drawn separately: without a graphics card, one long path that crosses itself
// takes several times as long.
function strokeLegs(context, way) {
  for (let i = 1; i < way.length; i += 1) {
    context.beginPath();
    context.moveTo(way[i - 1].x, way[i - 1].y);
    context.lineTo(way[i].x, way[i].y);
    context.stroke();
  }
}

/* Return the radius of the largest dot. It is small if there are many customers for the map. */
export function largestDot(scene, { width, height }) {
  const room = Math.sqrt((width * height) / scene.points.length);
  return Math.max(2, Math.min(8, 0.12 * room));
}

/* Return the radius of a customer's dot; its area grows with the demand. */
export function radiusOf(scene, customer, dot) {
  const share = scene.largest > 0 ? scene.demands[customer] / scene.largest : 0;
  return dot * Math.sqrt(0.15 + 0.85 * share);
}

function drawCustomers(pen) {
  const { context, scene, theme } = pen;
  context.strokeStyle = theme.paper;
  context.lineWidth = scene.points.length > 300 ? 0.7 : 1.5;
  context.globalAlpha = scene.selected === null ? 1 : FADED;
  drawDots(pen, inNoTour(scene), theme.customer);
  for (const { slot, stops } of inOrder(scene)) {
    context.globalAlpha = strength(scene, slot);
    drawDots(pen, stops, hue(slot, theme));
    if (slot === scene.selected) numberStops(pen, stops, hue(slot, theme));
  }
  context.globalAlpha = 1;
}

function drawDots({ context, scene, spots, seen, dot }, customers, colour) {
  context.fillStyle = colour;
  for (const customer of customers) {
    const { x, y } = spots[customer];
    if (!seen(spots[customer])) continue;
    const radius = radiusOf(scene, customer, dot);
    if (dot < SQUARE) {
      context.fillRect(x - radius, y - radius, 2 * radius, 2 * radius);
      continue;
    }
    context.beginPath();
    context.arc(x, y, radius, 0, TURN);
    context.fill();
    context.stroke();
  }
}

function inNoTour({ points, tours, unserved }) {
  const placed = new Set(tours.flatMap((tour) => tour.stops));
  return [...points.keys()].filter(
    (customer) => customer && !placed.has(customer) && !unserved.has(customer),
  );
}

// A number that has no room on its stop is drawn beside it, with a line to the stop.
function numberStops({ context, spots, theme }, stops, colour) {
  const places = stops.map((customer) => spots[customer]);
  const labels = placeLabels(places, LABEL + 0.5);
  context.lineWidth = 1.2;
  context.strokeStyle = colour;
  context.beginPath();
  labels.forEach(({ x, y }, i) => {
    context.moveTo(places[i].x, places[i].y);
    context.lineTo(x, y);
  });
  context.stroke();
  context.font = `600 10px ${FONT}`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.strokeStyle = theme.paper;
  labels.forEach(({ x, y }, i) => {
    context.fillStyle = colour;
    context.beginPath();
    context.arc(x, y, LABEL, 0, TURN);
    context.fill();
    context.stroke();
    context.fillStyle = textOn(colour);
    context.fillText(i + 1, x, y + 0.5);
  });
}

function drawUnserved({ context, scene, spots, dot, theme }) {
  context.globalAlpha = 1;
  context.strokeStyle = theme.missing;
  context.lineWidth = 2.5;
  context.lineCap = "round";
  context.beginPath();
  for (const customer of scene.unserved) {
    const { x, y } = spots[customer];
    const arm = Math.max(4.5, 0.8 * radiusOf(scene, customer, dot));
    context.moveTo(x - arm, y - arm);
    context.lineTo(x + arm, y + arm);
    context.moveTo(x + arm, y - arm);
    context.lineTo(x - arm, y + arm);
  }
  context.stroke();
}

// Draw a ring around each customer whose row is doubtful.
function drawDoubtful({ context, scene, spots, dot, theme }) {
  context.globalAlpha = 1;
  context.strokeStyle = theme.missing;
  context.lineWidth = 2.5;
  for (const customer of scene.doubtful) {
    const { x, y } = spots[customer];
    context.beginPath();
    context.arc(x, y, 5 + radiusOf(scene, customer, dot), 0, TURN);
    context.stroke();
  }
}

function drawDepot({ context, spots, theme }) {
  const { x, y } = spots[0];
  context.fillStyle = theme.ink;
  context.strokeStyle = theme.paper;
  context.lineWidth = 2;
  context.beginPath();
  context.roundRect(x - 8, y - 8, 16, 16, 3);
  context.fill();
  context.stroke();
  context.fillStyle = theme.paper;
  context.fillRect(x - 3, y - 3, 6, 6);
}

/* Draw the number of each tour beside its farthest stop, unless a tour is selected. */
function drawNumbers({ context, scene, spots, dot, theme }) {
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.font = `700 11px ${FONT}`;
  for (const { slot, number, stops } of scene.tours) {
    if (!stops.length || scene.selected !== null) continue;
    const farthest = farthestOf(spots, stops);
    const far = spots[farthest];
    const away = Math.hypot(far.x - spots[0].x, far.y - spots[0].y) || 1;
    const gap = 13 + radiusOf(scene, farthest, dot);
    const x = far.x + (gap * (far.x - spots[0].x)) / away;
    const y = far.y + (gap * (far.y - spots[0].y)) / away;
    const colour = hue(slot, theme);
    const width = Math.max(17, context.measureText(number).width + 9);
    context.fillStyle = colour;
    context.strokeStyle = theme.paper;
    context.lineWidth = 1.5;
    context.beginPath();
    context.roundRect(x - width / 2, y - 8.5, width, 17, 4);
    context.fill();
    context.stroke();
    context.fillStyle = textOn(colour);
    context.fillText(number, x, y + 0.5);
  }
}

function farthestOf(spots, stops) {
  const reach = (stop) => Math.hypot(spots[stop].x - spots[0].x, spots[stop].y - spots[0].y);
  return stops.reduce((far, stop) => (reach(stop) > reach(far) ? stop : far));
}

function drawScale({ context, scene, theme }, { height, view }) {
  const scale = view.scale * scene.perUnit;
  const length = roundLength(scale, 130);
  const [left, bottom, width] = [18, height - 18, length * scale];
  const label = lengthOf(length, scene.unit, 1);
  context.font = `500 12px ${FONT}`;
  context.textAlign = "left";
  context.textBaseline = "alphabetic";
  context.lineJoin = "round";
  context.strokeStyle = theme.paper; // an outline, so that tours do not cross the text
  context.lineWidth = 4;
  context.strokeText(label, left, bottom - 9);
  context.fillStyle = theme.muted;
  context.fillText(label, left, bottom - 9);
  context.beginPath();
  context.moveTo(left, bottom - 5);
  context.lineTo(left, bottom);
  context.lineTo(left + width, bottom);
  context.lineTo(left + width, bottom - 5);
  context.stroke();
  context.strokeStyle = theme.muted;
  context.lineWidth = 1.5;
  context.stroke();
}
