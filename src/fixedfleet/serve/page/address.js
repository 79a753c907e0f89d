// The plan in the page's address, #plan=ID, so that a bookmark shows it again.

export const planInAddress = () => new URLSearchParams(location.hash.slice(1)).get("plan");

// The entry in the history is replaced, so that "back" leaves the page.
export function putPlan(id) {
  history.replaceState(null, "", id === null ? location.pathname : `#plan=${id}`);
}
