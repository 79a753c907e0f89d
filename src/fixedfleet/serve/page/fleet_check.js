// Asks the server whether the fleet in the form suffices, also while the user types.

import { send } from "./api.js";

const TYPING = 350; // milliseconds without a key before the server is asked

/*
 * Return {now, soon, stop}. question() returns {given, vehicles, capacity}, onVerdict(verdict
 * or null) shows the answer, and onError(error) why there is none.
 */
export function fleetCheck({ question, onVerdict, onError }) {
  let timer = null;
  let stopper = null;

  const stop = () => {
    clearTimeout(timer);
    stopper?.abort();
  };
  const soon = () => {
    stop();
    timer = setTimeout(now, TYPING);
  };
  const now = async () => {
    stopper = new AbortController();
    const { given, vehicles, capacity } = question();
    if (!vehicles || !capacity) {
      onVerdict(null);
      return;
    }
    try {
      const fleet = { vehicles, capacity };
      const { verdict } = await send("instances", given, fleet, stopper.signal);
      onVerdict(verdict);
    } catch (error) {
      if (error.name === "AbortError") return;
      onVerdict(null);
      onError(error);
    }
  };
  return { now, soon, stop };
}
