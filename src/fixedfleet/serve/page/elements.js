// Making and finding elements. Text is only ever set as text, so a customer's name
// with markup in it is shown, never obeyed.

const SVG = "http://www.w3.org/2000/svg";

export const byId = (id) => document.getElementById(id);

export function make(tag, { text, ...attributes } = {}, ...children) {
  return furnish(document.createElement(tag), text, attributes, children);
}

export function makeSvg(tag, { text, ...attributes } = {}, ...children) {
  return furnish(document.createElementNS(SVG, tag), text, attributes, children);
}

function furnish(element, text, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== false && value !== null && value !== undefined) {
      element.setAttribute(name, value === true ? "" : value);
    }
  }
  if (text !== undefined) element.textContent = text;
  element.append(...children);
  return element;
}

// Writing the same text again would make a screen reader say it again.
export function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// By the attribute: drawings in SVG have no property for it.
export function show(element, visible) {
  element.toggleAttribute("hidden", !visible);
}
