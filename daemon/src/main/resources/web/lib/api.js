// Requests to the agent that served this page.
import { signal } from "@preact/signals";

const API = "/api/v1";

/**
 * The session of this browser: null while unknown, false when there is none.
 * @type {import("@preact/signals").Signal<any>}
 */
export const session = signal(null);

/** What the agent refused, with its reason. */
export class Problem extends Error {
  constructor(status, document) {
    super(document.detail || `the agent answered ${status}`);
    this.status = status;
    this.document = document;
    this.lastLines = document.last_lines || [];
  }
}

/** Logs in with the secret of the link, or continues the session of the cookie. */
export async function begin() {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (token) {
    history.replaceState(null, "", location.pathname);
    const answer = await send("POST", "/session", { token });
    session.value = await answer.json();
    return;
  }
  try {
    session.value = await (await send("GET", "/session")).json();
  } catch (problem) {
    session.value = false;
    throw problem;
  }
}

export async function logout() {
  await send("DELETE", "/session");
  session.value = false;
}

async function send(method, path, body, options = {}) {
  const headers = { Accept: "application/json", ...options.headers };
  if (session.value && method !== "GET") {
    headers["X-CSRF-Token"] = session.value.csrf;
  }
  const text = typeof body === "string";
  if (body !== undefined) {
    headers["Content-Type"] = text ? "application/yaml" : "application/json";
  }
  const answer = await (asked(method, path, options) ?? fetch(path, {
    method,
    headers,
    body: body === undefined ? undefined : text ? body : JSON.stringify(body),
    signal: options.signal,
    cache: "no-store",
  }));
  if (!answer.ok) {
    const problem = new Problem(answer.status, await answer.json().catch(() => ({})));
    if (answer.status === 401 && path !== "/session") {
      session.value = false;
    }
    throw problem;
  }
  return answer;
}

/** The answer to a question that was asked before this script was loaded. */
function asked(method, path, options) {
  const answer = method === "GET" && !options.headers ? globalThis.early?.get(path) : undefined;
  globalThis.early?.delete(path);
  return answer;
}

/** @template {string} P @param {P} path @returns {Promise<import("api").Answer<P>>} */
export const get = async (path) => (await send("GET", API + path)).json();
export const getText = async (path) => (await send("GET", API + path)).text();
export const post = (path, body) => send("POST", API + path, body);
export const put = (path, body) => send("PUT", API + path, body);
export const del = (path) => send("DELETE", API + path);

/** The objects of a stream, one per line, as they come. */
export async function* lines(method, path, options = {}) {
  const answer = await send(method, API + path, options.body, {
    signal: options.signal,
    headers: { Accept: "application/x-ndjson" },
  });
  for await (const line of textLines(answer)) {
    if (line) {
      const object = JSON.parse(line);
      if (object.type === "error") {
        throw new Problem(object.status, object);
      }
      yield object;
    }
  }
}

/** The blocks of a stream of server-sent events, as they come. */
export async function* events(path, last, abort) {
  const headers = { Accept: "text/event-stream" };
  if (last !== null) {
    headers["Last-Event-ID"] = String(last);
  }
  const answer = await send("GET", API + path, undefined, { headers, signal: abort });
  yield null; // it is open
  let event = {};
  for await (const line of textLines(answer)) {
    if (line === "") {
      if (event.data !== undefined) {
        yield event;
      }
      event = {};
    } else {
      const colon = line.indexOf(": ");
      if (colon > 0) {
        event[line.slice(0, colon)] = line.slice(colon + 2);
      }
    }
  }
}

async function* textLines(answer) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) {
        return;
      }
      const parts = (rest + value).split("\n");
      rest = parts.pop();
      yield* parts;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

/** Where a browser fetches a file itself. */
export const address = (path) => API + path;

/** One name as a part of a path. */
export const part = encodeURIComponent;
