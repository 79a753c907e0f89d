// The plan that is being made: following it, stopping it, and giving it up for another.

import { ServerError, ask, drop, planPath } from "./api.js";
import { byId, show } from "./elements.js";
import { watch } from "./watch.js";

export class RunningPlan {
  #id = null;
  #stopper = null;

  /*
   * Follow a plan and return its last event, {name, data}; null if it was given up. The
   * callbacks are those of watch().
   */
  async follow(id, callbacks) {
    const stopper = new AbortController();
    this.#set(id, stopper);
    try {
      return await watch(id, { ...callbacks, signal: stopper.signal });
    } catch (error) {
      if (error.name === "AbortError") return null;
      throw error;
    } finally {
      if (this.#stopper === stopper) this.#set(null, null);
    }
  }

  /* End the search: the stream then ends with the best plan so far. */
  async stop() {
    if (!this.#id) return;
    try {
      await ask(planPath(this.#id), { method: "DELETE" });
    } catch (error) {
      // 409: it has finished a moment before.
      if (!(error instanceof ServerError && error.status === 409)) throw error;
    }
  }

  /* Cancel the plan, because the user wants another. */
  giveUp() {
    if (!this.#id) return;
    const [id, stopper] = [this.#id, this.#stopper];
    this.#set(null, null);
    stopper.abort();
    drop(id);
  }

  // The button "Stop" replaces "Plan" while a plan is being made.
  #set(id, stopper) {
    [this.#id, this.#stopper] = [id, stopper];
    const [on, off] = id ? ["cancel", "plan"] : ["plan", "cancel"];
    const focused = document.activeElement === byId(off);
    show(byId(on), true);
    show(byId(off), false);
    if (focused) byId(on).focus();
  }
}
