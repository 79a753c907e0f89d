// Makes and finds elements. Text is always set as text, so that markup in the name of a
// customer has no effect.

import { sentence } from "./numbers.js";

export const byId = (id) => document.getElementById(id);

export function make(tag, { text, ...attributes } = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== false && value !== null && value !== undefined) {
      element.setAttribute(name, value === true ? "" : value);
    }
  }
  if (text !== undefined) element.textContent = text;
  element.append(...children);
  return element;
}

// A screen reader would repeat a text that is written again.
export function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// SVG elements have the attribute, but no property of this name.
export function show(element, visible) {
  element.toggleAttribute("hidden", !visible);
}

/* Show a message in the element with this id, as a sentence; hide it without a message. */
export function warn(id, message) {
  write(byId(id), message && sentence(message));
  show(byId(id), Boolean(message));
}
