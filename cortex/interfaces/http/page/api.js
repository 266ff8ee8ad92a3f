// The server's answers, and what it has not acknowledged: a write that got no answer stays in a
// list until it is written, copied or dropped by whoever made it.

const KEPT = "cortex-unsaved";

/** What the server refuses, with its hint; status 0 if it does not answer at all. */
export class ApiError extends Error {
  constructor(status, message, hint = "") {
    super(message);
    Object.assign(this, { status, hint });
  }
}

/** Writes that were not acknowledged, oldest first; this tab keeps them over a reload. */
export const unsaved = JSON.parse(sessionStorage.getItem(KEPT) ?? "[]");
export const events = new EventTarget(); // "unsaved" when that list changes

function keep() {
  try {
    sessionStorage.setItem(KEPT, JSON.stringify(unsaved));
  } catch (error) {
    console.warn("unsaved writes last as long as this page alone:", error.message);
  }
  events.dispatchEvent(new Event("unsaved"));
}

/** An address with its query; empty values are left out, lists are written with commas. */
export function address(path, query = {}) {
  const given = Object.entries(query).filter(([, value]) => (value ?? "") !== "");
  const asked = new URLSearchParams(given.map(([name, value]) => [name, String(value)]));
  return asked.size ? `${path}?${asked}` : path;
}

/** The address of a verb's answer. */
export const verb = (name, query) => address(`/api/verbs/${name}`, query);

/** What an address answers; `preview`: it is no use of the notes. @throws {ApiError} */
export function get(path, query = {}, { signal, preview = false } = {}) {
  return ask(address(path, query), { signal, headers: preview ? { "Cortex-Preview": "1" } : {} });
}

/** Changes something; `what` says it in a few words, should it stay unsaved. @throws {ApiError} */
export const post = (path, body = {}, what = path) =>
  write({ method: "POST", path, body, headers: {}, what });

/** Writes a record that is still at this version. @throws {ApiError} 412 if it is not */
export const put = (path, body, version, what = path) =>
  write({ method: "PUT", path, body, headers: { "If-Match": `"${version}"` }, what });

/** Takes a one-time code for the cookie. @throws {ApiError} */
export const login = (code) => send({ method: "POST", path: "/api/login", body: { code } });

/** Does what undoes a change, one after the other. @throws {ApiError} */
export async function undo(calls) {
  for (const one of calls) await post(`/api/verbs/${one.verb}`, one.arguments, `undo: ${one.verb}`);
}

async function write(call) {
  try {
    return await send(call);
  } catch (error) {
    if (error.status === 0 || error.status >= 500) {
      unsaved.push({ ...call, error: error.message });
      keep();
    }
    throw error;
  }
}

/** Tries an unsaved write again; what is refused stays, with its reason. @throws {ApiError} */
export async function retry(call) {
  try {
    await send(call);
    drop(call);
  } catch (error) {
    call.error = error.hint ? `${error.message} — ${error.hint}` : error.message;
    keep();
    throw error;
  }
}

export function drop(call) {
  unsaved.splice(unsaved.indexOf(call), 1);
  keep();
}

function send({ method, path, body, headers = {} }) {
  const given = { ...headers, "Content-Type": "application/json" };
  return ask(path, { method, body: JSON.stringify(body), headers: given });
}

async function ask(path, options) {
  let answer, content;
  try {
    answer = await fetch(path, options);
    content = await answer.json();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    const isOther = error instanceof SyntaxError;
    const message = isOther ? `${path} answered no JSON` : "the server does not answer";
    throw new ApiError(isOther ? answer.status : 0, message, "cortex serve starts it");
  }
  if (!answer.ok) throw new ApiError(answer.status, content.error, content.hint);
  return content;
}
