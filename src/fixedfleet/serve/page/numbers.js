// Writes numbers and names as texts, and reads typed numbers. Signs are those of the locale.

import { inLanguage, locale, t } from "./language.js";

const format = (options) =>
  new Intl.NumberFormat(locale, { numberingSystem: "latn", ...options });
const grouped = format({ maximumFractionDigits: 6 });
export const DECIMAL = grouped.formatToParts(1.5).find(({ type }) => type === "decimal").value;

/*
 * Read a number that was typed: "700.5" and "700,5" are both 700.5.
 *
 * Return {value} or {error}. The value of an empty text is null. "1,500" is an error in a locale
 * whose comma groups thousands, because the user may mean 1.5.
 */
export function readNumber(text) {
  const typed = text.trim();
  if (typed === "") return { value: null };
  const signs = typed.match(/[.,]/g) ?? [];
  if (!/^[+-]?[\d.,]+$/.test(typed) || !/\d/.test(typed) || signs.length > 1) {
    return { error: t`“${typed}” is not a number: write it like ${sample()}` };
  }
  const [sign = DECIMAL] = signs;
  if (sign !== DECIMAL && /^[+-]?[1-9]\d{0,2}[.,]\d{3}$/.test(typed)) {
    const [whole, part] = [typed.replace(sign, ""), typed.replace(sign, DECIMAL)];
    return { error: t`“${typed}” can mean two numbers: write ${whole} or ${part}` };
  }
  return { value: Number(typed.replace(sign, ".")) };
}

const sample = () => `700${DECIMAL}5`;

/* Write a number as the user can type it. */
export const typedNumber = (value) => `${value}`.replace(".", DECIMAL);

// Write a demand or a load, without the rounding errors of a sum.
export function amount(value, unit = "") {
  return withUnit(grouped.format(Math.round(value * 1e6) / 1e6), unit);
}

// Write a number with at least this many digits (but at most 6 decimals), without an exponent.
export function figures(value, digits) {
  if (Number.isInteger(value)) return grouped.format(value);
  const before = value === 0 ? 1 : Math.floor(Math.log10(Math.abs(value))) + 1;
  const places = Math.min(6, Math.max(0, digits - before));
  const exact = { minimumFractionDigits: places, maximumFractionDigits: places };
  return format(exact).format(value);
}

// A no-break space keeps the unit on the line of its number.
const withUnit = (text, unit) => (unit ? `${text}\u00a0${unit}` : text);

/* Write a length. Less than a kilometre is written in metres. */
export function lengthOf(value, unit, digits = 5) {
  const isShort = unit === "km" && value !== 0 && Math.abs(value) < 0.9995;
  if (isShort) return withUnit(grouped.format(Math.round(1000 * value)), "m");
  return withUnit(figures(value, digits), unit);
}

export const percent = (share) =>
  withUnit(format({ maximumFractionDigits: share < 0.0995 ? 1 : 0 }).format(100 * share), "%");

// Write an upper limit of a share in per cent: two digits, rounded up.
export function atMost(share) {
  const value = 100 * share;
  const places = value < 0.01 ? 2 : Math.max(0, 1 - Math.floor(Math.log10(value)));
  // A tiny rounding error must not round the last digit up.
  const digits = Math.max(1, Math.ceil(value * 10 ** places - 1e-9));
  const exact = { minimumFractionDigits: places, maximumFractionDigits: places };
  return withUnit(format(exact).format(digits / 10 ** places), "%");
}

// age writes seconds that have passed, and limitOf seconds that the user has typed.
export function age(value) {
  const places = value < 10 ? 1 : 0;
  const exact = { minimumFractionDigits: places, maximumFractionDigits: places };
  return withUnit(format(exact).format(value), "s");
}
export const limitOf = (value) => amount(value, "s");

export function count(number, what, plural = `${what}s`) {
  return `${grouped.format(number)} ${inLanguage(number === 1 ? what : plural)}`;
}

/* Write a date, with or without the time of day. */
export function dateOf(text, { time = true } = {}) {
  const when = new Date(text);
  if (Number.isNaN(when.getTime())) return "";
  const style = time ? { dateStyle: "medium", timeStyle: "short" } : { dateStyle: "full" };
  return new Intl.DateTimeFormat(locale, style).format(when);
}

// Return the name of a customer; a customer without a name is called by its number.
export const nameOf = ({ name, index }) =>
  name === `${index}` ? t`Customer ${index}` : name;

export const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

export function sentence(text) {
  const trimmed = text.trim();
  return capital(/[.!?…]$/.test(trimmed) ? trimmed : `${trimmed}.`);
}
