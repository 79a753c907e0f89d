// Doubtful rows of the customers' table: the user leaves them out or goes on with them.

import { byId, make, show, write } from "./elements.js";
import { count, sentence } from "./numbers.js";

/* Whether the user must decide before a plan can be made. */
export const isUndecided = () => !byId("doubts").hidden;

export const hideDoubts = () => show(byId("doubts"), false);

/*
 * Show doubts {customers, text}. onDecided(customers) is called with all doubtful customers
 * if the user leaves them out, and with none if not.
 */
export function showDoubts(doubts, customers, onDecided) {
  byId("doubts-list").replaceChildren(
    ...doubts.map(({ text }) => make("li", { text: sentence(text) })),
  );
  const decide = (left) => () => {
    hideDoubts();
    onDecided(left);
  };
  byId("leave-out").onclick = decide(customers);
  byId("go-on").onclick = decide([]);
  write(byId("leave-out"), `Leave out ${count(customers.length, "row")}`);
  show(byId("leave-out"), customers.length > 0);
  show(byId("doubts"), doubts.length > 0);
}

export function focusDoubts() {
  byId("doubts").focus();
  byId("doubts").scrollIntoView({ block: "nearest" });
}
