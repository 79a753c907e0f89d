// Sentences of the server: doubts, verdicts, notes and refusals. The page formats the numbers in
// them as it does everywhere, and translates the sentences that german.js has.

import { SENTENCES } from "./german.js";
import { fillIn, isGerman } from "./language.js";
import { amount } from "./numbers.js";

const ROWS = /^(?:row|customer) \d+/; // how a sentence about a row begins

// In the table of sentences, {0} stands for any text, {#0} for a number, {@0} for a list of rows.
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

/* Return a sentence of the server in the language of the page, with formatted numbers. */
export function fromServer(sentence) {
  for (const { pattern, kinds, text } of known) {
    const found = pattern.exec(sentence);
    if (found) return fillIn(text, found.slice(1).map((value, i) => written(value, kinds[i])));
  }
  if (!isGerman || !ROWS.test(sentence)) return sentence;
  // A sentence about a row may have several parts, which are translated one by one.
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
