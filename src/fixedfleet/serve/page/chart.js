// A small chart of the best cost over time.

import { byId, write } from "./elements.js";
import { t } from "./language.js";
import { lengthOf, limitOf } from "./numbers.js";

/*
 * Draw the trace [[seconds, cost], …], with a level line from its last point until now. The
 * drawing is 100 units wide and high, and the browser stretches it.
 */
export function drawChart(trace, { now, limit, unit }) {
  const costs = trace.map(([, cost]) => cost);
  const [first, last] = [costs[0], costs.at(-1)];
  const until = Math.max(now, limit, trace.at(-1)?.[0] ?? 0, 1e-3);
  const x = (at) => (100 * at) / until;
  const y = (cost) => (first > last ? (90 * (first - cost)) / (first - last) + 5 : 50);
  const steps = trace.map(([at, cost], i) =>
    i ? `H${x(at)}V${y(cost)}` : `M${x(at)},${y(cost)}`,
  );
  if (trace.length) steps.push(`H${x(Math.max(now, trace.at(-1)[0]))}`);
  byId("chart-line").setAttribute("d", steps.join(""));
  write(byId("chart-first"), trace.length ? lengthOf(first, unit, 4) : "");
  write(byId("chart-end"), limitOf(Math.round(10 * until) / 10));
  byId("chart").ariaLabel = trace.length
    ? t`Best cost: ${lengthOf(first, unit)} at first, ${lengthOf(last, unit)} now`
    : t`No cost yet`;
}
