// Asks the user about a table whose headings are not recognised: which column holds what. The
// browser remembers the answer for the next day's file.

import { byId, make, show } from "./elements.js";
import { t } from "./language.js";

const PLACE = "fixedfleet-columns"; // the key in the browser's local storage
const PARTS = ["lat", "lon", "demand", "name"]; // each has a drop-down list
const IN_PLANE = { lat: "y", lon: "x" };

/*
 * Ask which sheet of a table {sheets, headings, columns, depots} to read, which column holds
 * what, or which row is the depot. onChosen({sheet, columns, depot}) is called with the options
 * for the server, such as the columns ["demand=Paletten", …].
 */
export function askForColumns({ sheets, headings, columns, depots }, sheet, onChosen) {
  const titles = sheets.map((title) => make("option", { value: title, text: title }));
  byId("sheet").replaceChildren(make("option", { value: "", text: t`choose` }), ...titles);
  byId("sheet").value = sheet ?? "";
  byId("sheet").onchange = () => onChosen({ sheet: byId("sheet").value });
  show(byId("sheet-field"), sheets.length > 0);
  show(byId("column-fields"), headings.length > 0);
  const places = depots.map((name) => make("option", { value: name, text: name }));
  byId("depot").replaceChildren(make("option", { value: "", text: t`choose` }), ...places);
  byId("depot").onchange = () => onChosen({ depot: byId("depot").value });
  show(byId("depot-field"), depots.length > 0);
  byId("columns-plane").checked = !columns.lat && Boolean(columns.x || columns.y);
  for (const part of PARTS) {
    const options = headings.map((heading) => make("option", { value: heading, text: heading }));
    const none = make("option", { value: "", text: part === "name" ? t`none` : t`choose` });
    byId(`column-${part}`).replaceChildren(none, ...options);
    byId(`column-${part}`).value = columns[part] ?? columns[IN_PLANE[part]] ?? "";
  }
  byId("use-columns").onclick = () => {
    const chosen = chosenColumns();
    remember(chosen);
    onChosen({ ...(sheet && { sheet }), columns: chosen });
  };
  show(byId("columns"), true);
  if (!headings.length) byId(depots.length ? "depot" : "sheet").focus();
  else byId(`column-${PARTS.find((part) => !byId(`column-${part}`).value) ?? "lat"}`).focus();
}

export const hideColumns = () => show(byId("columns"), false);

function chosenColumns() {
  const inPlane = byId("columns-plane").checked;
  return PARTS.flatMap((part) => {
    const heading = byId(`column-${part}`).value;
    const column = (inPlane && IN_PLANE[part]) || part;
    return heading ? [`${column}=${heading}`] : [];
  });
}

/* Return the columns that the user chose for an earlier table, if this one has them all. */
export function rememberedColumns({ headings }) {
  try {
    const chosen = JSON.parse(localStorage.getItem(PLACE)) ?? [];
    const known = chosen.every((word) => headings.includes(word.slice(word.indexOf("=") + 1)));
    return known && chosen.length ? chosen : null;
  } catch {
    return null;
  }
}

function remember(chosen) {
  try {
    localStorage.setItem(PLACE, JSON.stringify(chosen));
  } catch {
    // Without local storage, the page asks again next time.
  }
}
