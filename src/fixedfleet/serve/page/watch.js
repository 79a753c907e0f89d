// Following a plan until it has ended, over broken connections as well.

import { ask, planPath } from "./api.js";

const EVENTS = ["queued", "preparing", "roads", "verdict", "improved", "done", "failed"];
const LAST = ["done", "failed"];
const PAUSE = 2; // seconds before a refused stream is asked for again
const RETRIED = [0, 429, 503]; // answers that may be different later

/*
 * Call onEvent(name, data) for each event of a plan, and return the last one.
 *
 * The browser opens a broken connection again, and the server then repeats the current
 * state; onBroken() is called meanwhile, and onOpen() once there is a connection.
 */
export async function watch(id, { onEvent, onBroken = () => {}, onOpen = () => {}, signal }) {
  for (;;) {
    const last = await follow(id, { onEvent, onBroken, onOpen }, signal);
    if (last) return last;
    // The server refused the stream without telling why: a request tells.
    await ask(planPath(id), { signal }).catch((error) => {
      if (!RETRIED.includes(error.status)) throw error;
    });
    await sleep(PAUSE, signal);
  }
}

/* Follow one stream to its last event; return null if the browser gives it up. */
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
  signal.throwIfAborted(); // an event that has happened already is not sent again
  const over = AbortSignal.any([signal, AbortSignal.timeout(1000 * seconds)]);
  await new Promise((resolve) => over.addEventListener("abort", resolve));
  signal.throwIfAborted();
}
