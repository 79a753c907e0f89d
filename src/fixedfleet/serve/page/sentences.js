// Sentences that the server writes: doubts, verdicts, notes and refusals. The page writes their
// amounts as all its numbers, and says them in its language, if german.js has them.

import { SENTENCES } from "./german.js";
import { fillIn, isGerman } from "./language.js";
import { amount } from "./numbers.js";

const ROWS = /^(?:row|customer) \d+/; // how a sentence about a row begins

// In a sentence of the table, {0} is any text, {#0} an amount, {@0} a list of rows.
const PLACES = /\{([#@]?)(\d)\}/g;
// The longest comes first, because others may fit it, too. One that begins with any text fits
// most, also a sentence within another one, so it comes last.
const beginsOpen = (english) => Number(/^\{@?0/.test(english));
const inOrder = Object.entries(SENTENCES).sort(
  ([a], [b]) => beginsOpen(a) - beginsOpen(b) || b.length - a.length,
);
const known = inOrder.map(([english, german]) => {
  const kinds = [...english.matchAll(PLACES)].map(([, kind]) => kind);
  const pattern = english
    .replace(/[.*+?^$()|[\]\\]/g, "\\$&")
    .replace(PLACES, (_, kind) => (kind === "#" ? "(-?\\d+(?:\\.\\d+)?)" : "(.+?)"));
  const text = (isGerman ? german : english).replace(PLACES, "{$2}");
  return { pattern: new RegExp(`^${pattern}$`), kinds, text };
});

/* Return a sentence of the server as the page writes it. */
export function fromServer(sentence) {
  for (const { pattern, kinds, text } of known) {
    const found = pattern.exec(sentence);
    if (found) return fillIn(text, found.slice(1).map((value, i) => written(value, kinds[i])));
  }
  if (!isGerman || !ROWS.test(sentence)) return sentence;
  // What is wrong with a row, perhaps in several parts.
  const [rows, ...rest] = sentence.split(": ");
  return `${namesOf(rows)}: ${rest.join(": ").split("; ").map(fromServer).join("; ")}`;
}

function written(value, kind) {
  if (kind === "#") return amount(Number(value));
  return kind === "@" ? namesOf(value) : fromServer(value);
}

// Name rows and customers in the language of the page.
function namesOf(rows) {
  if (!isGerman) return rows;
  return rows
    .replace(/\brow (?=\d)/g, "Zeile ")
    .replace(/\bcustomer (?=\d)/g, "Kunde ")
    .replace(/ and (?=(?:Zeile|Kunde) \d)/g, " und ")
    .replace(/ and ([\d,]+) more$/, " und $1 weitere");
}
