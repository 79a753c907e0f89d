// Finds a customer, for example one who calls, by name or by any other text of the table.

import { byId, make, show } from "./elements.js";
import { t } from "./language.js";
import { nameOf } from "./numbers.js";

const MOST = 8; // the largest number of customers in the list

/* List the customers whose texts contain the typed words. A click shows a customer. */
export function listenForNames(view) {
  const [field, list] = [byId("find"), byId("found")];
  const search = () => {
    const found = field.value.trim() ? customersWith(field.value, view.instance) : [];
    list.replaceChildren(...found.slice(0, MOST).map((stop) => itemOf(stop, view)));
    show(list, found.length > 0);
  };
  const pick = (item) => {
    field.value = "";
    search();
    view.reveal(Number(item.dataset.found));
  };
  field.addEventListener("input", search);
  field.addEventListener("keydown", (event) => {
    const first = list.querySelector("button");
    if (event.key !== "Enter") return;
    event.preventDefault(); // a browser may close the field, although there is no form to send
    if (first) pick(first);
  });
  list.addEventListener("click", ({ target }) => {
    const item = target.closest("button");
    if (item) pick(item);
  });
}

// Return the stops of an instance whose texts contain all typed words.
function customersWith(typed, { stops, columns }) {
  const words = typed.toLocaleLowerCase().split(/\s+/).filter(Boolean);
  const texts = Object.values(columns);
  return stops.filter((stop) => {
    const all = [nameOf(stop), ...texts.map((cells) => cells[stop.index])];
    const text = all.join(" ").toLocaleLowerCase();
    return words.every((word) => text.includes(word));
  });
}

function itemOf(stop, { tours }) {
  const tour = tours.find(({ stops }) => stops.includes(stop.index));
  const where = tour ? t`Tour ${tour.number}` : t`left out`;
  return make(
    "li",
    {},
    make(
      "button",
      { type: "button", "data-found": stop.index },
      make("span", { text: nameOf(stop) }),
      make("span", { class: "muted", text: where }),
    ),
  );
}
