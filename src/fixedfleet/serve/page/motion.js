// Movements on the page that take a moment.

const reduced = window.matchMedia("(prefers-reduced-motion: reduce)");

/* Begin a movement of some milliseconds; null if the user wants none. */
export function beginMotion(length, about) {
  return reduced.matches ? null : { ...about, length, start: performance.now() };
}

/* Return which share of a movement is done, from 0 to 1; it slows down towards its end. */
export function shareDone({ start, length }, now) {
  const share = Math.min(1, Math.max(0, (now - start) / length));
  return 1 - (1 - share) ** 3;
}
