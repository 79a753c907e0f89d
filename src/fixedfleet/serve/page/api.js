// Asking the server: requests, errors as its sentences, and its event streams.

import { token } from "./address.js";

// The server said no, in a sentence.
export class ServerError extends Error {
  constructor(status, body, retryAfter) {
    super(body.error);
    this.status = status;
    this.where = body.where ?? null;
    this.missing = body.missing ?? [];
    this.retryAfter = retryAfter;
  }
}

async function request(path, { method = "GET", json, signal } = {}) {
  const headers = {};
  if (token()) headers.Authorization = `Bearer ${token()}`;
  if (json !== undefined) headers["Content-Type"] = "application/json";
  const body = json === undefined ? undefined : JSON.stringify(json);
  let response;
  try {
    response = await fetch(path, { method, headers, body, signal });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ServerError(0, { error: "the server cannot be reached" }, null);
  }
  if (!response.ok) throw await refusal(response);
  return response;
}

async function refusal(response) {
  const seconds = Number(response.headers.get("Retry-After"));
  let body;
  try {
    body = await response.json();
  } catch {
    body = {};
  }
  body.error ??= `the server answered ${response.status}`;
  if (response.status === 401) {
    body.error += "; open the page with #token=… at the end of its address";
  }
  return new ServerError(response.status, body, seconds || null);
}

export async function ask(path, options) {
  const response = await request(path, options);
  return response.status === 204 ? null : response.json();
}

export async function fetchFile(path) {
  return (await request(path)).blob();
}

/* The events of a stream, as {name, data}, until the server closes it. */
export async function* eventsOf(path, signal) {
  const response = await request(path, { signal });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  const parser = new EventParser();
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      yield* parser.take(value);
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

/* Server-sent events out of pieces of text that may end anywhere. */
export class EventParser {
  #rest = "";

  take(piece) {
    // A lone CR may be half of a CRLF whose other half is still to come.
    const blocks = (this.#rest + piece).replaceAll("\r\n", "\n").split("\n\n");
    this.#rest = blocks.pop();
    return blocks.map(readEvent).filter((event) => event !== null);
  }
}

function readEvent(block) {
  let name = "message";
  const data = [];
  for (const line of block.split("\n")) {
    const [, field, value] = /^([^:]*):? ?(.*)$/.exec(line);
    if (field === "event") name = value;
    if (field === "data") data.push(value);
  }
  return data.length ? { name, data: JSON.parse(data.join("\n")) } : null;
}
