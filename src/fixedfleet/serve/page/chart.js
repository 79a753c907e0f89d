// A small chart of the best cost over time.

import { makeSvg } from "./elements.js";
import { lengthOf, limitOf } from "./numbers.js";

const HEIGHT = 96;
const [LEFT, TOP, BOTTOM] = [4, 18, 78];

export class CostChart {
  #svg;
  #area = makeSvg("path", { class: "chart-area" });
  #line = makeSvg("path", { class: "chart-line" });
  #dot = makeSvg("circle", { class: "chart-dot", r: 3.5 });
  #rule = makeSvg("path", { class: "chart-rule" });
  #first = makeSvg("text", { class: "chart-text", x: LEFT, y: 10 });
  #zero = makeSvg("text", { class: "chart-text", x: LEFT, y: 92, text: "0\u00a0s" });
  #end = makeSvg("text", { class: "chart-text", y: 92, "text-anchor": "end" });

  constructor(svg) {
    this.#svg = svg;
    svg.append(this.#rule, this.#area, this.#line, this.#dot);
    svg.append(this.#first, this.#zero, this.#end);
  }

  /* Draw the trace [[seconds, cost], …], flat from its last point until now. */
  draw(trace, { now, limit, unit }) {
    const width = this.#svg.clientWidth || 170;
    const right = width - 5;
    const until = Math.max(now, limit, trace.at(-1)?.[0] ?? 0, 1e-3);
    this.#svg.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    this.#svg.classList.toggle("empty", !trace.length);
    this.#rule.setAttribute("d", `M${LEFT},${BOTTOM}H${right}`);
    this.#end.setAttribute("x", right);
    this.#end.textContent = limitOf(Math.round(10 * until) / 10);
    if (trace.length) this.#step(trace, now, (at) => LEFT + ((right - LEFT) * at) / until);
    this.#describe(trace, unit);
  }

  #step(trace, now, x) {
    const [most, least] = [trace[0][1], trace.at(-1)[1]];
    const y = (cost) =>
      most > least
        ? TOP + ((BOTTOM - 8 - TOP) * (most - cost)) / (most - least)
        : (TOP + BOTTOM) / 2;
    const end = x(Math.max(now, trace.at(-1)[0]));
    const steps = trace.map(([at, cost], i) =>
      i ? `H${x(at)}V${y(cost)}` : `M${x(at)},${y(cost)}`,
    );
    const path = `${steps.join("")}H${end}`;
    this.#line.setAttribute("d", path);
    this.#area.setAttribute("d", `${path}V${BOTTOM}H${x(trace[0][0])}Z`);
    this.#dot.setAttribute("cx", end);
    this.#dot.setAttribute("cy", y(least));
  }

  #describe(trace, unit) {
    if (!trace.length) {
      this.#first.textContent = "";
      this.#svg.setAttribute("aria-label", "No cost yet");
      return;
    }
    const [first, last] = [trace[0], trace.at(-1)].map(([, cost]) => lengthOf(cost, unit));
    this.#first.textContent = lengthOf(trace[0][1], unit, 4);
    this.#svg.setAttribute("aria-label", `Best cost: ${first} at first, ${last} now`);
  }
}
