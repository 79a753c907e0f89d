// Times of day and durations, in minutes. Without shifts and time windows, nothing says when the
// day begins, so there are durations only.

import { t } from "./language.js";

const DAY = 24 * 60;
const two = (number) => `${number}`.padStart(2, "0");

/* Write minutes since midnight: 510 is 08:30. */
export function clock(minutes) {
  const whole = ((Math.round(minutes) % DAY) + DAY) % DAY;
  return `${two(Math.floor(whole / 60))}:${two(whole % 60)}`;
}

// Write a duration: 340 is 5 h 40.
function duration(minutes) {
  const whole = Math.round(minutes);
  return whole < 60
    ? `${whole}\u00a0min`
    : `${Math.floor(whole / 60)}\u00a0h\u00a0${two(whole % 60)}`;
}

/* Read a time of day: "6", "6:30", "06.30"; null for an empty text, NaN for a wrong one. */
export function readClock(text) {
  if (!text.trim()) return null;
  const [, hours, minutes = "0"] = /^(\d{1,2})(?:[:.](\d\d))?$/.exec(text.trim()) ?? [];
  const value = 60 * Number(hours) + Number(minutes);
  return value <= DAY && Number(minutes) < 60 ? value : NaN;
}

/* Write a window [begin, end or null]: 08:00–12:00, from 08:00, until 12:00; else nothing. */
export function windowOf([begin, end]) {
  if (end === null) return begin ? t`from ${clock(begin)}` : "";
  return begin ? `${clock(begin)}–${clock(end)}` : t`until ${clock(end)}`;
}

/* Write when a tour begins and ends, or how long it takes. Without times, the text is empty. */
export function spanOf(times, { hasClock }) {
  if (!times) return "";
  const { departure, end } = times;
  const whole = duration(end - departure);
  return hasClock ? t`${clock(departure)} to ${clock(end)} (${whole})` : whole;
}

/* Return whether a tour is late at a customer or at the end of its shift. */
export const isLate = (times) =>
  Boolean(times) && (times.is_late || times.stops.some((stop) => stop.is_late));

/* Write the arrival at a stop: the time of day, or if it is not known, the time since departure. */
export function arrivalOf(times, place, { hasClock }) {
  const { arrival } = times.stops[place];
  return hasClock ? clock(arrival) : `+${duration(arrival - times.departure)}`;
}
