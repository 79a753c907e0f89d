// Doubtful rows of the customers' table: the user leaves them out or goes on with them.

import { byId, make, show, write } from "./elements.js";
import { count, sentence } from "./numbers.js";

/* Whether the user must decide before a plan can be made. */
export const isUndecided = () => !byId("doubts").hidden;

export const hideDoubts = () => show(byId("doubts"), false);

/* Show doubts {customers, text}; onLeaveOut(customers) is called if the user leaves all out. */
export function showDoubts(doubts, onLeaveOut) {
  const customers = [...new Set(doubts.flatMap((doubt) => doubt.customers))];
  byId("doubts-list").replaceChildren(
    ...doubts.map(({ text }) => make("li", { text: sentence(text) })),
  );
  byId("leave-out").onclick = () => {
    hideDoubts();
    onLeaveOut(customers);
  };
  byId("go-on").onclick = hideDoubts;
  write(byId("leave-out"), `Leave out ${count(customers.length, "row")}`);
  show(byId("leave-out"), customers.length > 0);
  show(byId("doubts"), doubts.length > 0);
}

export function focusDoubts() {
  byId("doubts").focus();
  byId("doubts").scrollIntoView({ block: "nearest" });
}
