// Finding a customer on the phone: by name, or by any other text of the table.

import { byId, make, show } from "./elements.js";
import { t } from "./language.js";
import { nameOf } from "./numbers.js";

const MOST = 8; // customers that are listed

/* List the customers of a view whose texts have what is typed; a click shows one. */
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
    event.preventDefault(); // it would send no form, but a browser may close the field
    if (first) pick(first);
  });
  list.addEventListener("click", ({ target }) => {
    const item = target.closest("button");
    if (item) pick(item);
  });
}

/* Return the stops of an instance in whose texts all typed words are. */
export function customersWith(typed, { stops, columns }) {
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
