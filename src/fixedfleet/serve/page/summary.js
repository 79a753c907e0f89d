// The plan in a few figures: its cost, its fleet, and the state of the search.

import { drawChart } from "./chart.js";
import { byId, show, write } from "./elements.js";
import { sameTours, servesAll, toursOf, wayOf } from "./instance.js";
import { t } from "./language.js";
import {
  age,
  atMost,
  figures,
  lengthOf,
  limitOf,
  percent,
  sentence,
} from "./numbers.js";
import { fromServer } from "./sentences.js";

const GOOD = 1.1; // a plan is good if it costs at most this many times as much as the best one

/* Return the improvements from the first good plan on. Earlier plans are too poor to compare. */
export function goodPart(trace) {
  const best = trace.at(-1)?.[1];
  const first = trace.findIndex(([, cost]) => cost <= GOOD * best);
  return first === -1 ? trace : trace.slice(first);
}

let trace = [];
let unit = "";
let limit = 0;
let asked = {}; // the request for the plan
let start = Infinity; // when the search began, on this machine's clock
let timer = null;
let stopping = false; // whether the user has stopped the search
let lost = false; // whether the connection to the server is broken

export function begin(instance, request) {
  [trace, unit, limit, lost] = [[], instance.unit, request.time_limit, false];
  asked = request;
  write(byId("cost-way"), wayOf(instance));
  stopping = false;
  say({ cost: "–", "cost-unit": unit, "cost-of": "", gap: "", gain: "", edited: "" });
  show(byId("chart"), true);
  status(t`Sent to the server`);
  redraw(0);
}

function status(text) {
  write(byId("status"), text);
}

/* Say what the server does for the plan, unless the user has stopped it. */
export function tell(text) {
  if (!stopping) status(text);
}

/* Say that the search has not begun yet; after three seconds, also say why. */
export function prepare() {
  tell(t`Preparing`);
  const why = t`Preparing: the server compiles its search, once`;
  setTimeout(() => byId("status").textContent === t`Preparing` && status(why), 3000);
}

/* Say that the search runs. If the fleet is too small (partly), it may tell of no plan. */
export function search({ partly }) {
  tell(partly ? t`Searching a plan for as many customers as possible` : t`Searching a plan`);
}

/* Say that the search is being stopped, which takes some seconds. */
export function beginStop() {
  stopping = true;
  status(t`Stopping…`);
}

/* Say that the connection is lost; regain() says that it is back. */
export function lose() {
  lost = true;
  status(t`The connection to the server is lost: trying again`);
}

export function regain() {
  if (!lost) return;
  lost = false;
  status(t`Connected again`);
}

// Record that the search began this many seconds ago, and update the clock from now on.
function runsSince(since) {
  start = Math.min(start, performance.now() - 1000 * since);
  timer ??= setInterval(tick, 100);
  tick();
}

export function improve(since, cost, used, fleet, bound) {
  const last = trace.at(-1);
  if (cost !== null && (!last || cost < last[1])) trace.push([since, cost]);
  runsSince(since);
  showCost(cost, used, fleet);
  write(byId("gap"), gapOf(cost, bound));
}

/* Return how much longer a plan can be than the best possible one; empty if it is unknown. */
function gapOf(cost, bound) {
  if (!bound || cost === null) return "";
  const gap = atMost(Math.max(0, cost / bound - 1));
  return asked.vehicle_cost
    ? t`At most ${gap} more expensive than the cheapest possible plan${kept()}`
    : t`At most ${gap} longer than the shortest possible plan${kept()}`;
}

/* Return a sentence on how far the plan of a result is from the best possible one. */
export function proofOf({ cost, lower_bound: bound, is_optimal: proven, proof }) {
  if (proven) return asked.vehicle_cost ? t`Cannot be cheaper${kept()}` : t`Cannot be shorter${kept()}`;
  return gapOf(cost, bound) || (proof ? sentence(fromServer(proof)) : "");
}

const kept = () => (asked.locked?.length ? ` ${t`with the locked tours`}` : "");

export function finish(plan) {
  stop();
  const { result } = plan;
  const tours = toursOf(result);
  asked = plan.request;
  limit = asked.time_limit;
  trace = result?.trace ?? [];
  lost = false;
  status(ending(plan));
  write(byId("edited"), "");
  write(byId("gap"), result ? proofOf(result) : "");
  if (!tours.length) {
    say({ cost: t`No plan`, "cost-unit": "", "cost-of": "", gain: "" });
    show(byId("chart"), false);
    return;
  }
  const served = tours.reduce((sum, tour) => sum + tour.length, 0);
  showCost(result.cost ?? served, tours.length, result.vehicles_planned_for);
  if (!servesAll(result)) write(byId("gain"), t`for the customers served`);
  else if (result.vehicle_cost > 0) split(result);
  show(byId("chart"), goodPart(trace).length > 1);
  redraw(plan.seconds ?? trace.at(-1)?.[0] ?? 0);
}

/* Show the cost of the tours that the user has changed, and how it differs from the plan's. */
export function edit({ edited, result }) {
  showCost(edited.cost, edited.vehicles_used, result.vehicles_planned_for);
  const more = edited.cost - (result.cost ?? edited.cost);
  const text = lengthOf(Math.abs(more), unit, 3);
  const change =
    more > 0 ? t`Changed by you: ${text} more than the plan found` : t`Changed by you: ${text} less`;
  const same = Math.abs(more) < 5e-7;
  const said = same ? t`Changed by you` : change;
  const unchanged = sameTours(toursOf(edited), toursOf(result));
  write(byId("edited"), unchanged ? "" : said);
  write(byId("gap"), unchanged ? proofOf(result) : ""); // the proof is about the plan found
}

export function fail() {
  stop();
  status(t`Failed`);
}

function split({ length, vehicle_cost: each, vehicles_used: used }) {
  const driven = lengthOf(length, unit);
  write(byId("gain"), t`${driven} driven + ${used} × ${figures(each, 4)} for vehicles`);
}

function showCost(cost, used, fleet) {
  const first = goodPart(trace)[0]?.[1];
  const gain = first > 0 && cost !== null ? 1 - cost / first : 0;
  say({
    cost: cost === null ? "–" : figures(cost, 5),
    "cost-unit": cost === null ? "" : unit,
    "cost-of": fleet === 1 ? t`${used} of 1 vehicle` : t`${used} of ${fleet} vehicles`,
    gain: gain > 0.0005 ? t`${percent(gain)} below the first good plan` : "",
  });
}

function tick() {
  const shown = Math.min((performance.now() - start) / 1000, limit);
  // Without a connection, the page does not know whether the search goes on.
  if (lost || stopping) return;
  status(t`Planning: ${age(shown)} of ${limitOf(limit)}`);
  redraw(shown);
}

function redraw(now) {
  drawChart(goodPart(trace), { now, limit, unit });
}

function stop() {
  clearInterval(timer);
  [timer, start] = [null, Infinity];
}

// Write texts into the elements with these ids.
function say(texts) {
  for (const [id, text] of Object.entries(texts)) write(byId(id), text);
}

function ending({ status, seconds, result }) {
  const after = age(seconds ?? 0);
  if (status === "cancelled") {
    return result
      ? t`Stopped after ${after}: the best plan so far`
      : t`Stopped after ${after}: before there was a plan`;
  }
  return status === "failed" ? t`Failed after ${after}` : t`Finished after ${after}`;
}
