// Requests to the server, and its refusals as errors.

/* The server refused a request: the sentence, and the field it is about, if any. */
export class ServerError extends Error {
  constructor(status, { error, where = null, missing = [] }, retryAfter) {
    super(error);
    this.status = status;
    this.field = where ?? missing[0] ?? null;
    this.retryAfter = retryAfter;
  }
}

/* Send a request, with a document if there is one, and return the document it answers. */
export async function ask(path, { method = "GET", json, signal } = {}) {
  const headers = json === undefined ? {} : { "Content-Type": "application/json" };
  const body = json === undefined ? undefined : JSON.stringify(json);
  let response;
  try {
    response = await fetch(path, { method, headers, body, signal });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ServerError(0, { error: "the server cannot be reached" }, null);
  }
  if (!response.ok) throw await refusal(response);
  return response.json();
}

async function refusal(response) {
  const seconds = Number(response.headers.get("Retry-After"));
  const body = await response.json().catch(() => ({}));
  body.error ??= `the server answered ${response.status}`;
  return new ServerError(response.status, body, seconds || null);
}

export const planPath = (id) => `plans/${encodeURIComponent(id)}`;

/* Cancel a plan that nobody will look at any more. */
export function drop(id) {
  ask(planPath(id), { method: "DELETE" }).catch(() => {});
}
