// The small table of vehicles: the name, number, capacity and shift of each vehicle type. If it
// has names only, or nothing, all vehicles are alike.

import { byId } from "./elements.js";
import { readNumber, typedNumber } from "./numbers.js";
import { clock, readClock } from "./times.js";

const PARTS = ["name", "count", "capacity", "from", "to"];

/*
 * Call onChange() when a vehicle type has been edited, and onNames() when names have been edited.
 * The last row of the table is always empty.
 */
export function listen({ onChange, onNames }) {
  byId("vehicle-rows").addEventListener("input", () => {
    addEmptyRow();
    onChange();
  });
  byId("vehicle-rows").addEventListener("change", ({ target }) => {
    target.ariaInvalid = isWrong(target) ? "true" : null;
    target.title = target.value; // a long name does not fit into its cell
    if (target.dataset.part === "name") onNames();
  });
  // If several lines are pasted, such as a column of a spreadsheet, each name gets its own row.
  byId("vehicle-rows").addEventListener("paste", (event) => {
    const lines = event.clipboardData.getData("text").trimEnd().split(/\r?\n/);
    if (lines.length < 2 || event.target.dataset.part !== "name") return;
    event.preventDefault();
    const pasted = lines.map((line) => ({ name: line.trim() }));
    fill([...filled().map(textsOf), ...pasted]);
    onChange();
    onNames();
  });
  fill([]);
}

/* Fill the table with rows of texts {name, count, capacity, from, to}. Texts may be missing. */
export function fill(rows) {
  byId("vehicle-rows").replaceChildren(...rows.map(rowOf));
  addEmptyRow();
}

/* Fill the table with vehicle types, as the server describes them. */
export function fillTypes(types) {
  const texts = types.map(({ name, count, capacity, shift }) => ({
    name,
    count: `${count}`,
    capacity: typedNumber(capacity),
    from: shift ? clock(shift[0]) : "",
    to: shift ? clock(shift[1]) : "",
  }));
  fill(texts);
}

/* Return the texts of all rows that are not empty. */
export const texts = () => filled().map(textsOf);

/* Return the names of the vehicles. The name of a row is repeated for each of its vehicles. */
export const names = () => {
  const all = filled().flatMap((row) => {
    const { name, count } = textsOf(row);
    return Array(readNumber(count).value || 1).fill(name.trim());
  });
  return all.some(Boolean) ? all : [];
};

/*
 * Return the vehicle types, in the form in which they are sent to the server; null if the table
 * has names only. Rows without a capacity get the given one.
 */
export function types(capacity) {
  const rows = texts();
  if (!rows.some((row) => PARTS.slice(1).some((part) => row[part].trim()))) return null;
  return rows.map((row) => {
    const [from, to] = [readClock(row.from), readClock(row.to)];
    const type = {
      name: row.name.trim(),
      count: readNumber(row.count).value || 1,
      capacity: readNumber(row.capacity).value ?? capacity,
    };
    return from === null && to === null ? type : { ...type, shift: [from ?? 0, to ?? 24 * 60] };
  });
}

/* Return whether all cells can be read; give the focus to the first that cannot. */
export function isReadable() {
  const wrong = [...byId("vehicle-rows").querySelectorAll("input")].find(isWrong);
  wrong?.focus();
  return !wrong;
}

function isWrong({ value, dataset }) {
  if (dataset.part === "name") return false;
  if (dataset.part === "from" || dataset.part === "to") return Number.isNaN(readClock(value));
  const { value: number, error } = readNumber(value);
  const least = dataset.part === "count" ? Number.isInteger(number) && number >= 1 : number > 0;
  return Boolean(error) || (number !== null && !least);
}

const filled = () =>
  [...byId("vehicle-rows").children].filter((row) =>
    Object.values(textsOf(row)).some((text) => text.trim()),
  );

const textsOf = (row) =>
  Object.fromEntries(
    [...row.querySelectorAll("input")].map(({ dataset, value }) => [dataset.part, value]),
  );

function rowOf(known) {
  const row = byId("vehicle-row").content.firstElementChild.cloneNode(true);
  for (const field of row.querySelectorAll("input")) {
    field.value = field.title = known[field.dataset.part] ?? "";
  }
  return row;
}

function addEmptyRow() {
  const last = byId("vehicle-rows").lastElementChild;
  const isEmpty = last && Object.values(textsOf(last)).every((text) => !text.trim());
  if (!isEmpty) byId("vehicle-rows").append(rowOf({}));
}
