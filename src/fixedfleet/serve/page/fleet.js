// The form: vehicles, capacity, seconds and the cost of a vehicle.

import { byId, show, write } from "./elements.js";
import { amount, percent, sentence } from "./numbers.js";

const FIELDS = ["vehicles", "capacity", "time_limit", "vehicle_cost"];

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

  /* Return what was typed; an empty field is null. The server checks it. */
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

  enable() {
    byId("plan").disabled = false;
    byId("fleet-fields").disabled = false;
  }

  /* Show how full the vehicles would be, if their capacity is known. */
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

  /* Return whether all fields are numbers; mark the first that is not. */
  isReadable() {
    const bad = FIELDS.find((name) => byId(name).validity.badInput);
    if (bad) this.fail({ field: bad, message: "this is not a number" });
    return !bad;
  }

  /* Show an error beside the field it names, or below the button. */
  fail(error, { focus = true } = {}) {
    const { field } = error;
    if (!FIELDS.includes(field)) {
      this.#general(error.message);
      return;
    }
    // The name of the field is above it already.
    this.#mark(field, error.message.replace(`${field}: `, ""));
    if (focus) byId(field).focus();
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
