// Where the customers come from: a file, a pasted table, or an example.

import { ask } from "./api.js";
import { byId, make, show, warn, write } from "./elements.js";
import { t } from "./language.js";
import { amount, capital, count, sentence } from "./numbers.js";
import { fromServer } from "./sentences.js";

const EXCEL = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";
const TYPES = { csv: "text/csv", xlsx: EXCEL }; // the server recognises other types itself

let give; // the function onGiven; see listen
let largest = Infinity; // the size of the largest file that the server reads, in bytes

/* Call onGiven(given, {title}) with the user's customers: {text} or {file: {bytes, type}}. */
export function listen(onGiven) {
  give = onGiven;
  const file = byId("file");
  file.addEventListener("change", () => {
    if (file.files.length) take(file.files[0]);
    file.value = ""; // so that the same file can be chosen again
  });
  byId("use-table").addEventListener("click", () => paste(byId("table").value));
  byId("change").addEventListener("click", () => open(byId("ways-in").hidden));
  followDrops();
}

/* Say what the server is doing with the file. With an empty message, say nothing. */
export function tell(message) {
  write(byId("reading"), message && sentence(message));
  show(byId("reading"), Boolean(message));
}

export function fail(message) {
  tell("");
  warn("source-error", message);
  if (message) open(true);
}

function open(isOpen) {
  show(byId("ways-in"), isOpen);
  byId("change").ariaExpanded = `${isOpen}`;
}

/* Apply the settings of the server: the largest file, and whether it has addresses and roads. */
export function prepare({ max_bytes: bytes, geocoder, roads }) {
  largest = bytes;
  const places = geocoder ? t`With latitude and longitude, or addresses` : t`With latitude and longitude`;
  write(byId("needs"), places);
  const straight = t`Lengths are straight lines, and times follow from a mean speed. Traffic is not considered.`;
  write(byId("limits"), roads ? t`Lengths and times by road. Traffic is not considered.` : straight);
}

export function describe(instance, notes, title) {
  write(byId("loaded-name"), instance.name || title || t`Your customers`);
  write(byId("loaded-count"), count(instance.customers, "customer"));
  byId("notes-list").replaceChildren(
    ...notes.map((note) => make("li", { text: sentence(fromServer(note)) })),
  );
  show(byId("notes"), notes.length > 0);
  show(byId("loaded"), true);
  fail("");
  open(false);
}

export async function listExamples() {
  const examples = await ask("examples");
  const items = examples.map((example) => {
    const { name, text } = example;
    const title = fromServer(example.title);
    const [what, more] = title.split(": ");
    const button = make(
      "button",
      { type: "button", class: "example", "data-example": name },
      make("span", { class: "example-title", text: what }),
      make("span", { class: "example-size", text: capital(more) }),
    );
    button.addEventListener("click", () => give({ text }, { title }));
    return make("li", {}, button);
  });
  byId("example-list").replaceChildren(...items);
  show(byId("examples"), items.length > 0);
}

function paste(text) {
  if (text.trim()) give({ text }, { title: t`Pasted table` });
  else fail(t`the table is empty: paste a header and the rows below it`);
}

async function take(file) {
  if (file.size > largest) {
    const [size, most] = [file.size, largest].map((b) => amount(b / 1e6, "MB"));
    fail(t`${file.name} has ${size}, and this server reads files of up to ${most}: remove rows and columns that are not needed`);
    return;
  }
  const extension = file.name.split(".").at(-1).toLowerCase();
  const type = TYPES[extension] ?? "text/plain";
  const bytes = await file.arrayBuffer();
  give({ file: { bytes, type } }, { title: file.name });
}

function followDrops() {
  const root = document.documentElement;
  const carriesFile = (event) => event.dataTransfer?.types.includes("Files");
  root.addEventListener("dragover", (event) => {
    if (!carriesFile(event)) return;
    event.preventDefault();
    root.classList.add("dragging");
  });
  root.addEventListener("dragleave", (event) => {
    if (!event.relatedTarget) root.classList.remove("dragging");
  });
  root.addEventListener("drop", (event) => {
    root.classList.remove("dragging");
    if (!carriesFile(event)) return;
    event.preventDefault();
    if (event.dataTransfer.files.length) take(event.dataTransfer.files[0]);
  });
}
