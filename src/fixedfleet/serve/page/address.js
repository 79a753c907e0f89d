// What the page's address says: #token=…, kept for this tab and taken out of sight, and
// #plan=…, the plan on show.

const KEY = "fixedfleet-token";

// A plus is a plus here, not a blank as in forms: tokens may hold one and no blanks.
const parts = () => new URLSearchParams(location.hash.slice(1).replaceAll("+", "%2B"));

export function takeToken() {
  const said = parts();
  if (!said.has("token")) return;
  sessionStorage.setItem(KEY, said.get("token"));
  said.delete("token");
  replace(said);
}

export const token = () => sessionStorage.getItem(KEY);

export const planInAddress = () => parts().get("plan");

export function putPlan(id) {
  const said = parts();
  if (id === null) said.delete("plan");
  else said.set("plan", id);
  replace(said);
}

// Replaced rather than pushed: no hashchange, and "back" leaves the page.
function replace(said) {
  const hash = said.toString();
  history.replaceState(null, "", hash ? `#${hash}` : location.pathname);
}
