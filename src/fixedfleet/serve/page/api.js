// Requests to the server, and its refusals as errors.

import { t } from "./language.js";
import { fromServer } from "./sentences.js";

/*
 * The server refused a request: the sentence, and the field it is about, if any; also the
 * table {headings, columns} whose columns it does not know, and the progress {done, total} of
 * what must be done before it can answer.
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
 * Send a request, with a document or a file {bytes, type} if there is one, and return the
 * document it answers.
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
 * Send customers with options. They are given as {file: {bytes, type}}, with which options
 * are in the query, or as a document such as {text} or {plan: id}.
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
