// Numbers and names as texts.

const grouped = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 6 });

// A demand or a load, without the rounding errors of a sum.
export const amount = (value) => grouped.format(Math.round(value * 1e6) / 1e6);

// A length with at least so many digits, and never with an exponent.
export function figures(value, digits) {
  if (Number.isInteger(value)) return grouped.format(value);
  const before = value === 0 ? 1 : Math.floor(Math.log10(Math.abs(value))) + 1;
  const places = Math.min(6, Math.max(0, digits - before));
  const format = { minimumFractionDigits: places, maximumFractionDigits: places };
  return value.toLocaleString("en-GB", format);
}

export function lengthOf(value, unit, digits = 5) {
  return unit ? `${figures(value, digits)}\u00a0${unit}` : figures(value, digits);
}

export const percent = (share) => `${(100 * share).toFixed(share < 0.0995 ? 1 : 0)} %`;

// Seconds that have passed, and seconds that the user has typed.
export const age = (value) => `${value.toFixed(value < 10 ? 1 : 0)}\u00a0s`;
export const limitOf = (value) => `${amount(value)}\u00a0s`;

export function count(number, what, plural = `${what}s`) {
  return `${grouped.format(number)} ${number === 1 ? what : plural}`;
}

// A customer without a name is called by its number.
export const nameOf = ({ name, index }) =>
  name === `${index}` ? `Customer ${index}` : name;

export const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

export function sentence(text) {
  const trimmed = text.trim();
  return capital(/[.!?…]$/.test(trimmed) ? trimmed : `${trimmed}.`);
}
