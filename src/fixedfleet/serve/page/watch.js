// Following a plan until it is finished, over broken connections too.

import { ServerError, eventsOf } from "./api.js";

const LAST = ["done", "failed"];
const LONGEST_PAUSE = 8;

/*
 * Call onEvent(name, data) for each event of a plan until the last, and return that one.
 *
 * The server replays the latest state to whoever connects, so a connection that breaks
 * is made again; onBroken() tells of it.
 */
export async function watch(id, { onEvent, onBroken = () => {}, signal }) {
  let pause = 0.5;
  for (;;) {
    try {
      for await (const { name, data } of eventsOf(eventsPath(id), signal)) {
        pause = 0.5;
        onEvent(name, data);
        if (LAST.includes(name)) return { name, data };
      }
    } catch (error) {
      if (error.name === "AbortError") throw error;
      if (error instanceof ServerError && refused(error.status)) throw error;
    }
    onBroken();
    await sleep(pause, signal);
    pause = Math.min(LONGEST_PAUSE, 2 * pause);
  }
}

const eventsPath = (id) => `plans/${encodeURIComponent(id)}/events`;

// Asking again would be answered alike, unlike a server that is full or restarting.
const refused = (status) => status >= 400 && status < 500 && status !== 429;

export async function sleep(seconds, signal) {
  signal?.throwIfAborted(); // what has happened already is no event any more
  await new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, 1000 * seconds);
    signal?.addEventListener("abort", stop, { once: true });
  });
}
