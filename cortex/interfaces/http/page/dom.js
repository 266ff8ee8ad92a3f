// Elements, and the small things that every view is made of. Text of notes only ever becomes text
// nodes here; `rendered` alone takes HTML, of the address that sanitizes it.

const SAFE_ADDRESS = /^(\/(?!\/)|#|\?|https?:|mailto:)/i;
const WORD = /[\p{L}\p{N}_]+/gu;
const DAY = 86_400_000; // ms

/** An element. `on…` are listeners, `data` is its dataset, true and false set and leave out an
 * attribute; children are nodes, texts, or lists of them; null and false are nothing. */
export function h(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2).toLowerCase(), value);
    else if (name === "data") Object.assign(made.dataset, value);
    else if (name === "href" && !SAFE_ADDRESS.test(value)) continue;
    else made.setAttribute(name, value === true ? "" : value);
  }
  return fill(made, children);
}

/** Puts these in place of what an element holds. */
export function fill(element, ...children) {
  element.replaceChildren(...nodes(children));
  return element;
}

const nodes = (children) =>
  children.flat(Infinity).filter((one) => one === 0 || (one && one !== true));

/** HTML of `/api/rendered`, which the server has sanitized. */
export function rendered(html) {
  const made = h("div", { class: "prose" });
  made.innerHTML = html;
  return made;
}

/** An id as a part of a path; it may hold slashes, as the paths of people's own notes do. */
export const encodeId = (id) => id.split("/").map(encodeURIComponent).join("/");

/** The address of a view. */
export function viewOf(view, id = "", query = {}) {
  const path = id ? `/${view}/${encodeId(id)}` : `/${view}`;
  const asked = new URLSearchParams(Object.entries(query).filter(([, value]) => value));
  return asked.size ? `${path}?${asked}` : path;
}

/** The page of a note: events and records alike; a session has a reader of its own. */
export const noteAddress = (id) => viewOf("record", id);

/** A moment as people say it, with the exact one in its title; a day alone is no moment, and what was
 *  written with an offset keeps its clock. */
export function time(iso, say = sayTime) {
  const isDay = iso?.length <= 10;
  const at = new Date(isDay ? `${iso}T00:00` : iso?.replace(/(T.*)[+-]\d\d:\d\d$/, "$1"));
  if (!iso || Number.isNaN(at.getTime())) return iso ?? "";
  const exact = isDay ? iso : at.toLocaleString("en-GB", { dateStyle: "full", timeStyle: "short" });
  return h("time", { datetime: iso, title: exact }, isDay ? sayDay(at) : say(at));
}

/** A moment with its clock, for what happened within a day. */
export const clock = (iso) => time(iso, sayClock);

const sayClock = (at) =>
  `${sayDay(at)} ${at.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" })}`;

function sayTime(at) {
  const minutes = Math.floor((Date.now() - at) / 60_000);
  if (minutes >= 0 && minutes < 60) return minutes ? `${minutes} min ago` : "just now";
  return ["today", "yesterday"].includes(sayDay(at)) ? sayClock(at) : sayDay(at);
}

/** A day as a word, a weekday, or a date. */
function sayDay(at) {
  const now = new Date();
  const [from, to] = [at, now].map((one) => new Date(one).setHours(0, 0, 0, 0));
  const days = Math.round((to - from) / DAY);
  const near = { "-1": "tomorrow", 0: "today", 1: "yesterday" }[days];
  if (near) return near;
  if (days > 1 && days < 7) return at.toLocaleDateString("en-GB", { weekday: "long" });
  const year = at.getFullYear() === now.getFullYear() ? undefined : "numeric";
  return at.toLocaleDateString("en-GB", { day: "numeric", month: "short", year });
}

/** The words of a query that may be marked: no filters, no operators. */
export function wordsOf(query) {
  const found = query.replace(/\S+:\S*/g, " ").toLowerCase().match(WORD) ?? [];
  return [...new Set(found)].filter((one) => one.length > 1);
}

/** A text with these words marked, each to its end: `serv` marks all of `server`. */
export function marked(text, words) {
  const parts = [];
  let last = 0;
  for (const found of words.length ? text.matchAll(WORD) : []) {
    if (!words.some((one) => found[0].toLowerCase().startsWith(one))) continue;
    parts.push(text.slice(last, found.index), h("mark", {}, found[0]));
    last = found.index + found[0].length;
  }
  return [...parts, text.slice(last)];
}

/** A row of a list: j and k move between the links of rows. */
export function row({ href, title, snippet, meta = [], tools = [], data, mark }) {
  return h("li", { class: "row", data },
    mark && h("span", { class: "mark" }, mark),
    h("div", { class: "text" },
      h("a", { class: "title", href, "data-row": true }, title || "(no title)"),
      snippet && h("p", { class: "snippet" }, snippet),
      h("p", { class: "meta" }, nodes(meta).filter(Boolean).map((one) => h("span", {}, one)))),
    nodes([tools]).length > 0 && h("div", { class: "tools" }, tools));
}

export const tag = (text, kind = "") => h("span", { class: `tag ${kind}`.trim() }, text);

/** A button; `key` is the key that does the same. */
export function button(label, onclick, { key, kind, ...rest } = {}) {
  const shown = key ? [label, " ", h("kbd", { "aria-hidden": "true" }, key)] : label;
  const given = { type: "button", class: kind, onclick, "aria-keyshortcuts": key, ...rest };
  return h("button", given, shown);
}

/** A button that copies a text, and says so. */
export function copyButton(text, label = "Copy") {
  return button(label, async ({ currentTarget: made }) => {
    const copied = await navigator.clipboard.writeText(text).then(() => true, () => false);
    made.textContent = copied ? "Copied" : "Copying is not allowed here";
    setTimeout(() => (made.textContent = label), 1500);
  });
}

/** A command of a shell with a button that copies it. */
export const command = (text) =>
  h("span", { class: "command" }, h("code", {}, text), copyButton(text));

/** Names and values side by side; what has no value is left out. */
export const facts = (pairs) => h("dl", { class: "facts" }, pairs.map(([name, value]) =>
  value && [h("dt", {}, name), h("dd", {}, value)]));

/** What an empty list says, and what to do next. */
export const empty = (text, ...next) => h("div", { class: "empty" },
  h("p", {}, text), next.length > 0 && h("p", { class: "quiet" }, next));

/** What a verb could not read, with its hints; nothing where all is well. */
export function problemList(problems = []) {
  const lines = problems.map((one) => h("li", {}, h("b", {}, one.where), ` ${one.message}`,
    one.hint && h("span", { class: "quiet" }, ` — ${one.hint}`)));
  return lines.length > 0 && h("details", { class: "problems" },
    h("summary", {}, count(lines.length, "problem")), h("ul", {}, lines));
}

/** `1 note`, `2 notes`, `1,234 notes`. */
export const count = (number, noun) =>
  `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;

/** A text field, text area or selection; `kind`: a type of input, `area` or `select`. */
export function control({ value = "", kind = "text", options = [], ...rest }) {
  if (kind === "area") return h("textarea", rest, value);
  if (kind !== "select") return h("input", { value, type: kind, autocomplete: "off", ...rest });
  const offered = options.map((one) => (Array.isArray(one) ? one : [one, one]));
  return h("select", rest,
    offered.map(([key, text]) => h("option", { value: key, selected: key === value }, text)));
}

/** A control below its label. */
export const field = (label, given) => h("label", { class: "field" }, label, control(given));

/** Asks in a dialog, by fields as of `control` with a `label`; answers null if it was left. */
export function ask(title, fields, action = "Save") {
  const form = h("form", { method: "dialog" }, h("h2", {}, title),
    fields.map(({ label, ...given }) => field(label, given)),
    h("div", { class: "buttons" }, h("button", { class: "primary", value: "given" }, action),
      h("button", { value: "left", formnovalidate: true }, "Cancel")));
  return shown(h("dialog", { "aria-label": title }, form), (made) =>
    made.returnValue === "given" ? Object.fromEntries(new FormData(form)) : null);
}

/** Shows a dialog until it is closed; answers what `read` makes of it. */
export function shown(dialog, read = () => null) {
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      resolve(read(dialog));
      dialog.remove();
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

/** The last line of a dialog that only shows something. */
export const closeLine = (...more) => h("form", { method: "dialog", class: "buttons" },
  h("button", { class: "primary" }, "Close"), more);
