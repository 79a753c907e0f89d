// Doubtful rows of the customers' table, and rows that could not be read. The user decides
// about each: keep it, leave it out, swap its coordinates, type what is missing, or place it
// on the map.

import { byId, make, show, write } from "./elements.js";
import { t } from "./language.js";
import { count, nameOf, sentence, typedNumber } from "./numbers.js";
import { fromServer } from "./sentences.js";

const MANY = 12; // a doubt about more rows has one choice for all of them
const [KEEP, OUT, SWAP] = ["keep", "out", "swap"];
const AXES = { lat: "y", lon: "x", x: "x", y: "y" };
const PLACE = t`Place it on the map`;
const LABELS = { lat: t`Latitude`, lon: t`Longitude`, demand: t`Demand` };

/* Return whether the user must decide about doubtful rows before a plan can be made. */
export const isUndecided = () => !byId("doubts").hidden;

export const hideDoubts = () => show(byId("doubts"), false);

/*
 * Show the doubts about what was read {doubts, rows or null, columns}. When the user has
 * decided, onDecided({leave_out, corrections, columns}) is called with the options for the
 * server, or onKept() if nothing is to change. When the user wants to place a row on the map,
 * onPlace(address, take) is called, which must call take({x, y}) with the place that the user
 * clicks. The address is empty if the row has none.
 */
export function showDoubts(read, instance, { onDecided, onKept, onPlace }) {
  const { doubts } = read;
  const list = byId("doubts-list");
  list.replaceChildren(...doubts.map((doubt) => itemOf(doubt, read, instance)));
  list.onclick = ({ target }) => {
    const button = target.closest("[data-place]");
    if (!button) return;
    const fields = button.closest("li").querySelectorAll("input");
    for (const other of list.querySelectorAll("[data-place]")) write(other, PLACE);
    write(button, t`Click on its place on the map`);
    onPlace(button.dataset.place, (place) => {
      write(button, PLACE);
      fillPlace(fields, place);
    });
  };
  const customers = new Set(doubts.flatMap((doubt) => doubt.customers));
  const unread = doubts.filter(({ kind }) => kind === "unreadable");
  const decide = () => {
    const made = decisions(read, instance);
    hideDoubts();
    if (Object.values(made).some((part) => part.length)) onDecided(made);
    else onKept();
  };
  byId("go-on").onclick = decide;
  byId("leave-out").onclick = () => {
    for (const choice of list.querySelectorAll("select[data-customers]")) choice.value = OUT;
    decide();
  };
  list.onchange = () => write(byId("go-on"), t`Go on like this`);
  const all = customers.size ? t`Keep all rows` : t`Go on`;
  write(byId("go-on"), unread.length ? t`Go on without ${count(unread.length, "row")}` : all);
  write(byId("leave-out"), t`Leave out ${count(customers.size, "row")}`);
  show(byId("leave-out"), customers.size > 0);
  show(byId("doubts"), doubts.length > 0);
}

export function focusDoubts() {
  byId("doubts").focus();
  byId("doubts").scrollIntoView({ block: "nearest" });
}

function itemOf(doubt, read, instance) {
  const { kind, customers, row, columns } = doubt;
  const text = make("p", { text: sentence(fromServer(doubt.text)) });
  if (kind === "unreadable") {
    const fields = columns.map((column) => {
      const attributes = { type: "text", autocomplete: "off", "data-correct": `${row}:${column}` };
      return make("label", {}, LABELS[column] ?? column, make("input", attributes));
    });
    const label = { text: PLACE, "data-place": doubt.address ?? "" };
    const button = make("button", { type: "button", class: "quiet", ...label });
    const placed = columns.some((column) => column in AXES) ? [button] : [];
    return make("li", {}, text, make("div", { class: "doubt-fields" }, ...fields, ...placed));
  }
  const swappable = kind === "swapped" && read.rows;
  if (kind === "swapped" && !customers.length) {
    // One column with both coordinates cannot be exchanged for another one.
    const isPair = read.columns.lat === read.columns.lon;
    const all = choiceOf([], swappable, t`All rows`);
    return make("li", {}, text, ...(swappable && !isPair ? [all] : []));
  }
  const groups = customers.length > MANY ? [customers] : customers.map((one) => [one]);
  const choices = groups.map((group) => {
    const label = group.length > 1 ? t`All` : nameOf(instance.stops[group[0] - 1]);
    return choiceOf(group, swappable, label);
  });
  return make("li", {}, text, ...choices);
}

function choiceOf(customers, swappable, label) {
  const options = [make("option", { value: KEEP, text: t`Keep as it is` })];
  if (customers.length) options.push(make("option", { value: OUT, text: t`Leave out` }));
  if (swappable) options.push(make("option", { value: SWAP, text: t`Swap the coordinates` }));
  const select = make("select", { "data-customers": customers.join(" ") }, ...options);
  return make("label", { class: "doubt-choice" }, make("span", { text: label }), select);
}

// Write a place on the map into the fields of a row, to about a metre.
function fillPlace(fields, place) {
  for (const field of fields) {
    const axis = AXES[field.dataset.correct.split(":")[1]];
    if (axis) field.value = typedNumber(Math.round(place[axis] * 1e5) / 1e5);
  }
  byId("doubts-list").onchange();
}

// Return the user's decisions, in the form in which they are sent to the server.
function decisions({ rows, columns }, instance) {
  const made = { leave_out: [], corrections: [], columns: [] };
  for (const field of byId("doubts-list").querySelectorAll("[data-correct]")) {
    if (field.value.trim()) made.corrections.push(`${field.dataset.correct}=${field.value}`);
  }
  for (const { value, dataset } of byId("doubts-list").querySelectorAll("select")) {
    const customers = dataset.customers.split(" ").filter(Boolean).map(Number);
    if (value === OUT) made.leave_out.push(...customers.map((one) => rows?.[one] ?? one));
    if (value === SWAP && !customers.length) {
      made.columns.push(`lat=${columns.lon}`, `lon=${columns.lat}`);
    } else if (value === SWAP) {
      for (const one of customers) {
        const { x, y } = instance.stops[one - 1]; // x is the longitude
        made.corrections.push(`${rows[one]}:lat=${x}`, `${rows[one]}:lon=${y}`);
      }
    }
  }
  made.leave_out = [...new Set(made.leave_out)];
  return made;
}
