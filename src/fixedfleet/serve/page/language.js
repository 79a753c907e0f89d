// The language of the page: German or English, as the browser prefers or the user chose.
//
// The code has all texts in English, and german.js has the German text for each. The English
// text is the key; in it, {0}, {1}, … stand for values that are filled in.

import { GERMAN } from "./german.js";

const PLACE = "fixedfleet-language"; // the key in the browser's local storage
const ATTRIBUTES = ["title", "aria-label", "placeholder"];

/* The locale of numbers and dates. If its language is not German, the page is in English. */
export const locale = chosen() ?? navigator.language;
export const isGerman = /^de\b/i.test(locale);

function chosen() {
  try {
    return localStorage.getItem(PLACE);
  } catch {
    return null; // without local storage, the page is in the language of the browser
  }
}

/* Return a text in the language of the page, with its values. Use it as the tag of a template. */
export function t(parts, ...values) {
  return fillIn(inLanguage(parts.reduce((all, part, i) => `${all}{${i - 1}}${part}`)), values);
}

/* Return a text in the language of the page. Placeholders {0}, {1}, … are not filled in. */
export function inLanguage(english) {
  return isGerman ? (GERMAN[english] ?? english) : english;
}

/* Return a text in which values replace {0}, {1}, …. */
export function fillIn(text, values) {
  return text.replace(/\{(\d)\}/g, (_, place) => values[place]);
}

/* Translate the texts of the HTML file, and let the user switch the language. */
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
