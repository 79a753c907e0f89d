// Follows the events of a plan until it has ended, even if the connection breaks.

import { ask, planPath } from "./api.js";

const EVENTS = ["queued", "preparing", "roads", "verdict", "searching", "improved", "done", "failed"];
const LAST = ["done", "failed"];
const PAUSE = 2; // seconds before a refused stream is requested again
const RETRIED = [0, 429, 503]; // statuses after which a later request may succeed

/*
 * Call onEvent(name, data) for each event of a plan, and return the last one.
 *
 * The browser opens a broken connection again, and the server then sends the current state
 * again. onBroken() is called when the connection breaks, and onOpen() when it is open.
 */
export async function watch(id, { onEvent, onBroken = () => {}, onOpen = () => {}, signal }) {
  for (;;) {
    const last = await follow(id, { onEvent, onBroken, onOpen }, signal);
    if (last) return last;
    // An event stream does not say why the server refused it, but the answer to a request does.
    await ask(planPath(id), { signal }).catch((error) => {
      if (!RETRIED.includes(error.status)) throw error;
    });
    await sleep(PAUSE, signal);
  }
}

/* Follow one stream until its last event, and return this; null if the browser gives up. */
function follow(id, { onEvent, onBroken, onOpen }, signal) {
  signal.throwIfAborted();
  const source = new EventSource(`${planPath(id)}/events`);
  return new Promise((resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    for (const name of EVENTS) {
      source.addEventListener(name, (event) => {
        const data = JSON.parse(event.data);
        onEvent(name, data);
        if (LAST.includes(name)) resolve({ name, data });
      });
    }
    source.addEventListener("open", onOpen);
    source.addEventListener("error", () => {
      onBroken();
      if (source.readyState === EventSource.CLOSED) resolve(null);
    });
  }).finally(() => source.close());
}

export async function sleep(seconds, signal = new AbortController().signal) {
  signal.throwIfAborted(); // the signal may have been aborted before anybody listened to it
  const over = AbortSignal.any([signal, AbortSignal.timeout(1000 * seconds)]);
  await new Promise((resolve) => over.addEventListener("abort", resolve));
  signal.throwIfAborted();
}
