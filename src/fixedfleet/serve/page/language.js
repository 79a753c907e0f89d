// The language of the page: German or English, as the browser prefers or the user chose.
//
// Texts are written in English where they are used, and german.js has the German of each. It
// is looked up by the English text, in which {0}, {1}, … stand for what is filled in.

import { GERMAN } from "./german.js";

const PLACE = "fixedfleet-language"; // in the browser's store
const ATTRIBUTES = ["title", "aria-label", "placeholder"];

/* The locale of numbers and dates; its language is that of the page, if the page has it. */
export const locale = chosen() ?? navigator.language;
export const isGerman = /^de\b/i.test(locale);

function chosen() {
  try {
    return localStorage.getItem(PLACE);
  } catch {
    return null; // a browser without a store has its own language
  }
}

/* Return a text of the page in its language; it is the tag of a template. */
export function t(parts, ...values) {
  return fillIn(inLanguage(parts.reduce((all, part, i) => `${all}{${i - 1}}${part}`)), values);
}

/* Return a text without gaps in the language of the page. */
export function inLanguage(english) {
  return isGerman ? (GERMAN[english] ?? english) : english;
}

/* Return a text with values in the places of {0}, {1}, …. */
export function fillIn(text, values) {
  return text.replace(/\{(\d)\}/g, (_, place) => values[place]);
}

/* Write the texts of the start page in its language, and follow the switch. */
export function translatePage() {
  document.documentElement.lang = isGerman ? "de" : "en";
  if (isGerman) [document, ...document.querySelectorAll("template")].forEach(translate);
  document.getElementById("language").addEventListener("click", () => {
    localStorage.setItem(PLACE, isGerman ? "en" : "de");
    location.reload();
  });
}

function translate(root) {
  const within = root.content ?? root.body;
  const nodes = document.createTreeWalker(within, NodeFilter.SHOW_TEXT);
  while (nodes.nextNode()) {
    const text = nodes.currentNode.data.trim();
    if (text) nodes.currentNode.data = nodes.currentNode.data.replace(text, inLanguage(text));
  }
  for (const name of ATTRIBUTES) {
    for (const element of within.querySelectorAll(`[${name}]`)) {
      element.setAttribute(name, inLanguage(element.getAttribute(name)));
    }
  }
}
