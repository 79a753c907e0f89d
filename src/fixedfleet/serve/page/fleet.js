// The form: vehicles, capacity, seconds and the cost of a vehicle.

import { byId, show, write } from "./elements.js";
import { amount, percent, sentence } from "./numbers.js";

const FIELDS = ["vehicles", "capacity", "time_limit", "vehicle_cost"];
// Which field a sentence without a place is about, by the words in it.
const WORDS = [
  [/time.?limit|seconds/i, "time_limit"],
  [/vehicle.?cost/i, "vehicle_cost"],
  [/capacity/i, "capacity"],
  [/vehicles|fleet/i, "vehicles"],
];

export class FleetForm {
  #form = byId("fleet-form");

  /* onPlan() when the form is sent; onChange() when the fleet has been edited. */
  constructor({ onPlan, onChange }) {
    this.#form.addEventListener("submit", (event) => {
      event.preventDefault();
      onPlan();
    });
    for (const name of ["vehicles", "capacity"]) {
      byId(name).addEventListener("input", () => onChange());
    }
    for (const name of FIELDS) {
      byId(name).addEventListener("input", () => this.#mark(name, ""));
    }
  }

  /* What was typed, for the server to judge; an empty field is null. */
  values() {
    const typed = Object.fromEntries(FIELDS.map((name) => [name, numberIn(byId(name))]));
    typed.vehicle_cost ??= 0;
    typed.objective = typed.vehicle_cost === 0 ? "length" : "cost-v";
    return typed;
  }

  fill(values) {
    for (const name of FIELDS) {
      if (values[name] !== undefined) byId(name).value = values[name] ?? "";
    }
  }

  /* Let the reader plan, or say why not. */
  enable(enabled) {
    byId("plan").disabled = !enabled;
    byId("fleet-fields").disabled = !enabled;
    show(byId("form-hint"), !enabled);
  }

  /* Show how full the fleet would be, as far as it is known. */
  weigh(instance) {
    const { vehicles, capacity } = this.values();
    const room = vehicles * capacity;
    const share = room > 0 ? instance.total_demand / room : null;
    show(byId("filling"), share !== null);
    if (share === null) return;
    byId("filling-bar").style.setProperty("--fill", Math.min(1, share));
    byId("filling-bar").classList.toggle("over", share > 1);
    write(
      byId("filling-text"),
      `${amount(instance.total_demand)} of ${amount(room)}: ${percent(share)} full`,
    );
  }

  clearErrors() {
    for (const name of FIELDS) this.#mark(name, "");
    this.#general("");
  }

  /* Whether all fields hold numbers; the first that does not is marked. */
  isReadable() {
    const bad = FIELDS.find((name) => byId(name).validity.badInput);
    if (bad) this.fail({ where: bad, message: "this is not a number" });
    return !bad;
  }

  /* Put the server's sentence beside the field it is about, else below the button. */
  fail(error, { focus = true } = {}) {
    const field = this.#fieldOf(error);
    if (!field) {
      this.#general(error.message);
      return;
    }
    // The field's name stands above it already.
    this.#mark(field, error.message.replace(`${field}: `, ""));
    if (focus) byId(field).focus();
  }

  #fieldOf({ where, missing = [], message }) {
    const named = FIELDS.find((name) => `${where ?? ""}`.includes(name));
    if (named) return named;
    const absent = FIELDS.find((name) => missing.includes(name));
    if (absent) return absent;
    if (where) return null;
    return WORDS.find(([words]) => words.test(message))?.[1] ?? null;
  }

  #mark(name, message) {
    const note = byId(`${name}-error`);
    write(note, message && sentence(message));
    show(note, Boolean(message));
    if (message) byId(name).setAttribute("aria-invalid", "true");
    else byId(name).removeAttribute("aria-invalid");
  }

  #general(message) {
    write(byId("form-error"), message && sentence(message));
    show(byId("form-error"), Boolean(message));
  }
}

const numberIn = (field) => (field.value === "" ? null : Number(field.value));
