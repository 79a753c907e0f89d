// Sends requests to the server, and turns its refusals into errors.

import { t } from "./language.js";
import { fromServer } from "./sentences.js";

/*
 * The server refused a request. The error has a sentence that says why, and the field that is
 * wrong, if any. If the server needs to know more about a table, table describes it
 * {headings, columns, …}. If addresses are being looked up, progress is {done, total}.
 */
class ServerError extends Error {
  constructor(status, { error, where = null, table = null, progress = null }, retryAfter) {
    super(fromServer(error));
    this.status = status;
    this.field = where;
    this.table = table;
    this.progress = progress;
    this.retryAfter = retryAfter;
  }
}

/*
 * Send a request, with a JSON document or a file {bytes, type} if there is one. Return the
 * document with which the server answers.
 */
export async function ask(path, { method = "GET", json, file, signal } = {}) {
  const type = json === undefined ? file?.type : "application/json";
  const headers = type ? { "Content-Type": type } : {};
  const body = json === undefined ? file?.bytes : JSON.stringify(json);
  let response;
  try {
    response = await fetch(path, { method, headers, body, signal });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ServerError(0, { error: t`the server cannot be reached` }, null);
  }
  if (!response.ok) throw await refusal(response);
  return response.json();
}

async function refusal(response) {
  const seconds = Number(response.headers.get("Retry-After"));
  const body = await response.json().catch(() => ({}));
  body.error ??= t`the server answered ${response.status}`;
  return new ServerError(response.status, body, seconds || null);
}

/*
 * Send customers with options. The customers are a file {file: {bytes, type}} or a document
 * such as {text} or {plan: id}. With a file, the options are sent in the query of the URL.
 */
export function send(path, { file, ...given }, options, signal) {
  const values = { ...given, ...options };
  if (!file) return ask(path, { method: "POST", json: values, signal });
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    for (const one of [value ?? []].flat()) {
      query.append(name, typeof one === "object" ? JSON.stringify(one) : one);
    }
  }
  return ask(`${path}?${query}`, { method: "POST", file, signal });
}

export const planPath = (id) => `plans/${encodeURIComponent(id)}`;

/* Cancel a plan that nobody will look at any more. */
export function drop(id) {
  ask(planPath(id), { method: "DELETE" }).catch(() => {});
}
