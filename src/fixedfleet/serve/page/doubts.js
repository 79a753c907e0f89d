// Doubtful rows of the customers' table: the user leaves them out or goes on with them.

import { byId, make, show, write } from "./elements.js";
import { count, sentence } from "./numbers.js";

export class Doubts {
  #undecided = false;
  #onLeaveOut;
  #onGoOn;
  #customers = [];

  /* onLeaveOut(customers) and onGoOn() report what the user has decided. */
  constructor({ onLeaveOut, onGoOn }) {
    this.#onLeaveOut = onLeaveOut;
    this.#onGoOn = onGoOn;
    byId("leave-out").addEventListener("click", () => {
      this.clear();
      this.#onLeaveOut(this.#customers);
    });
    byId("go-on").addEventListener("click", () => {
      this.clear();
      this.#onGoOn();
    });
  }

  /* Whether the user must decide before a plan can be made. */
  get undecided() {
    return this.#undecided;
  }

  /* Show doubts {customers, text}; returns all customers that are doubtful. */
  show(doubts) {
    this.#customers = [...new Set(doubts.flatMap((doubt) => doubt.customers))];
    this.#undecided = doubts.length > 0;
    byId("doubts-list").replaceChildren(
      ...doubts.map(({ text }) => make("li", { text: sentence(text) })),
    );
    const rows = count(this.#customers.length, "row");
    write(byId("leave-out"), `Leave out ${rows}`);
    show(byId("leave-out"), this.#customers.length > 0);
    show(byId("doubts"), this.#undecided);
    return this.#customers;
  }

  clear() {
    this.#undecided = false;
    show(byId("doubts"), false);
  }

  focus() {
    byId("doubts").focus();
    byId("doubts").scrollIntoView({ block: "nearest" });
  }
}
