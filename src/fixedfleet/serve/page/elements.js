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

// Write a text only if it changes: a screen reader would repeat a text that is written again.
export function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// Set the attribute "hidden", because SVG elements have no property of this name.
export function show(element, visible) {
  element.toggleAttribute("hidden", !visible);
}

/* Show a message as a sentence in the element with this id. If it is empty, hide the element. */
export function warn(id, message) {
  write(byId(id), message && sentence(message));
  show(byId(id), Boolean(message));
}
