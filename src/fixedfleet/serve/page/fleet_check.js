// Asks the server whether the fleet in the form suffices, also while the user types.

import { send } from "./api.js";

const TYPING = 350; // milliseconds without a key before the server is asked

export class FleetCheck {
  #timer = null;
  #stopper = null;
  #question;
  #onVerdict;
  #onError;

  /*
   * question() returns {given, vehicles, capacity}, onVerdict(verdict or null) shows the
   * answer, and onError(error) why there is none.
   */
  constructor({ question, onVerdict, onError }) {
    this.#question = question;
    this.#onVerdict = onVerdict;
    this.#onError = onError;
  }

  soon() {
    this.stop();
    this.#timer = setTimeout(() => this.now(), TYPING);
  }

  stop() {
    clearTimeout(this.#timer);
    this.#stopper?.abort();
  }

  async now() {
    this.#stopper = new AbortController();
    const { given, vehicles, capacity } = this.#question();
    if (!vehicles || !capacity) {
      this.#onVerdict(null);
      return;
    }
    try {
      const fleet = { vehicles, capacity };
      const { verdict } = await send("instances", given, fleet, this.#stopper.signal);
      this.#onVerdict(verdict);
    } catch (error) {
      if (error.name === "AbortError") return;
      this.#onVerdict(null);
      this.#onError(error);
    }
  }
}
