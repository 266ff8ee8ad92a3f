// The shell: which view an address shows, keys, the status line with undo, the live connection,
// what is unsaved, and how a browser gets in.

import * as api from "./api.js";
import { button, closeLine, command, copyButton, count, facts, fill, h, shown } from "./dom.js";

// Views in the order of the navigation; those without a name are reached from others.
const VIEWS = {
  search: "Search", briefing: "Briefing", review: "Review", actions: "Actions",
  meetings: "Meetings", session: "Sessions", calendar: "Calendar", changed: "Changed",
  live: "Live", runs: "Runs", problems: "Problems", record: "", graph: "",
};
const KEYS = [
  ["/ or Ctrl K", "search"], ["j k", "down and up in a list"], ["Enter", "open"],
  ["[ ]", "the one before, the next"], ["e", "edit, or say it is wrong"],
  ["x", "archive, or tick"], ["u", "undo"], ["?", "these keys"],
];
const STATUS_MS = 8000;
const HIDDEN_MS = 10_000; // then a hidden page gives its connection back: a browser has six of them
const AGAIN_MS = 3000; // after a connection that the browser itself does not renew
const MAX_CHANGES = 500;

const $ = (id) => document.getElementById(id);
const find = $("find");
const state = {
  left: new AbortController(), keys: {}, listeners: new Set(), typed: null, // of the view
  undo: [], // {calls, what}, the last one last
  trail: [], // addresses of the list from which a view was reached
};

/** The changes that came while this page was open, oldest first; the view Live shows them. */
export const changes = [];

/** Shows what the address bar says. */
async function show({ scroll = 0, focus = true } = {}) {
  state.left.abort();
  const left = new AbortController();
  Object.assign(state, { left, keys: {}, listeners: new Set(), typed: null });
  const [first, ...rest] = location.pathname.slice(1).split("/");
  const name = Object.hasOwn(VIEWS, first) ? first : "search";
  for (const one of document.querySelectorAll(".side a")) {
    one.ariaCurrent = one.dataset.view === name ? "page" : null;
  }
  if (name !== "search") find.value = "";
  const heading = h("h1", { tabindex: -1 });
  const tools = h("span", {});
  const body = h("div", { class: `view ${name}` });
  try {
    const query = new URLSearchParams(location.search);
    const params = { id: rest.map(decodeURIComponent).join("/"), query };
    const view = await import(`./views/${name}.js`);
    if (left.signal.aborted) return;
    const app = appFor(left.signal, heading, tools);
    app.setTitle(view.title);
    app.setTwin(view.twin(params));
    fill($("view"), h("div", { class: "head" }, heading, tools), body);
    if (!scroll) window.scrollTo(0, 0);
    if (focus && document.activeElement !== find) heading.focus({ preventScroll: true });
    await view.show(body, params, app);
    if (scroll && !left.signal.aborted) window.scrollTo(0, scroll);
  } catch (error) {
    if (error.name !== "AbortError" && !left.signal.aborted) showError(error, heading, body);
  }
}

/** What a view is given. */
function appFor(signal, heading, tools) {
  return {
    signal, // aborted when the view is left
    find, // the field of the search
    navigate, reload, status, change,
    undo: offerUndo,
    refused: sayRefused,
    /** Has the address bar say this, and shows nothing anew. */
    setAddress: (path) => history.replaceState({}, "", path),
    /** Puts a text in the heading and in the window's title. */
    setTitle(text) {
      heading.textContent = text;
      document.title = text === "Search" ? "Cortex" : `${text} · Cortex`;
    },
    /** Which address answers what the view shows, as JSON. */
    setTwin: (href) => fill(tools, h("a", { class: "twin", href, target: "_blank" }, "JSON")),
    /** Keys of the view -> what they do, given the row that has the focus. */
    keys: (map) => Object.assign(state.keys, map),
    /** Whether [ and ] lead through the list from which the view was reached. */
    isListed: state.trail.includes(location.pathname),
    /** Has the changes of the vault as they come; null when some may have been missed. */
    onChange: (listener) => state.listeners.add(listener),
    /** Has what is typed in the field of the search, which otherwise leads to the search. */
    onTyped: (listener) => (state.typed = listener),
  };
}

function showError(error, heading, body) {
  if (error.status === 401) return showDoor();
  const isAnswer = error instanceof api.ApiError;
  if (!isAnswer) console.error(error);
  heading.textContent ||= "Not shown";
  fill(body, h("div", { class: "empty", role: "alert" },
    h("p", {}, isAnswer ? error.message : `The page has a fault: ${error.message}`),
    error.hint && h("p", { class: "quiet" }, error.hint), button("Try again", reload)));
  if (!body.isConnected) fill($("view"), heading, body);
}

/** How to get in, for a browser that has no cookie or an old one. */
function showDoor() {
  fill($("view"), h("div", { class: "door" }, h("h1", {}, "This page is locked"),
    h("p", {}, "It shows your memory to browsers that you let in. In a terminal, run"),
    h("p", {}, command("cortex web")),
    h("p", { class: "quiet" }, "It opens this page with a code that works once.")));
}

/** Goes to an address of this page. */
function navigate(path, { replace = false } = {}) {
  const listed = rows().map((one) => one.getAttribute("href"));
  if (!replace && listed.includes(path)) state.trail = listed;
  history.replaceState({ scroll: window.scrollY }, "");
  history[replace ? "replaceState" : "pushState"]({}, "", path);
  return show();
}

/** Shows the view anew, where it is scrolled to; the focus stays in it. */
const reload = () =>
  show({ scroll: window.scrollY, focus: $("view").contains(document.activeElement) });

let statusTimer = 0;

/** Says something in the status line for some seconds: texts and nodes. */
function status(...what) {
  clearTimeout(statusTimer);
  fill($("status"), what);
  statusTimer = setTimeout(() => fill($("status")), STATUS_MS);
}

/** Says what was done; `u` or a click takes it back. */
function offerUndo(calls, what = "Done") {
  if (!calls?.length) return status(what);
  state.undo.push({ calls, what });
  status(what, " ", button("Undo", undo, { key: "u" }));
}

async function undo() {
  const last = state.undo.pop();
  if (!last) return status("Nothing to undo");
  try {
    await api.undo(last.calls);
    status(`Undone: ${last.what}`);
  } catch (error) {
    sayRefused(error);
  }
  await reload();
}

function sayRefused(error) {
  if (error.name === "AbortError") return;
  status(h("b", {}, error.message), error.hint && ` — ${error.hint}`);
}

/** Posts to a verb, says `what` was done and offers to undo it; answers null if it was refused. */
async function change(verb, given, what) {
  try {
    const answer = await api.post(`/api/verbs/${verb}`, given, what);
    offerUndo(answer.undo_calls, what);
    return answer;
  } catch (error) {
    sayRefused(error);
    return null;
  }
}

function showUnsaved() {
  const again = (call) => api.retry(call).then(() => {
    status(`Saved: ${call.what}`);
    return reload();
  }, sayRefused);
  const list = api.unsaved.map((call) => h("li", {},
    h("span", {}, h("b", {}, call.what), ` — ${call.error}`), button("Retry", () => again(call)),
    copyButton(JSON.stringify(call.body, null, 2)), button("Drop", () => api.drop(call))));
  $("unsaved").hidden = !list.length;
  fill($("unsaved"), h("h2", {}, `${count(list.length, "change")} not saved`), h("ul", {}, list));
}

let source = null, hiddenTimer = 0;
let cursor = ""; // of the last change that this page has seen

function connect() {
  source?.close();
  source = new EventSource(api.address("/api/live", { since: cursor }));
  source.addEventListener("open", () => showConnection("live", "Changes show here at once"));
  source.addEventListener("change", (event) => hear(JSON.parse(event.data), false));
  source.addEventListener("resync", (event) => hear(JSON.parse(event.data), true));
  source.addEventListener("error", () => {
    showConnection("offline", "The server does not answer; what changed comes when it does");
    // The browser itself comes back, with the id of the last event; not so after a 401.
    if (source.readyState === EventSource.CLOSED) setTimeout(connect, AGAIN_MS);
  });
}

function hear(told, isGap) {
  if (told.cursor === cursor) return;
  cursor = told.cursor;
  const at = new Date().toISOString();
  const news = told.changes.map((one) => ({ ...one, at }));
  changes.push(...news);
  changes.splice(0, changes.length - MAX_CHANGES);
  for (const tell of news.length || isGap ? state.listeners : []) tell(isGap ? null : news);
}

function showConnection(word, title) {
  Object.assign($("connection"), { textContent: word, title }).dataset.state = word;
}

document.addEventListener("visibilitychange", () => {
  clearTimeout(hiddenTimer);
  if (document.hidden) hiddenTimer = setTimeout(() => source?.close(), HIDDEN_MS);
  else if (source?.readyState === EventSource.CLOSED) connect();
});

const rows = () => [...document.querySelectorAll("main [data-row]")];
const rowWithFocus = () => document.activeElement?.closest(".row");

/** Moves the focus in the list from the row in which it is, else to the first. */
function step(by) {
  const all = rows();
  const at = all.indexOf(rowWithFocus()?.querySelector("[data-row]"));
  all[Math.max(0, Math.min(all.length - 1, at + by))]?.focus();
}

/** Opens the one before or behind this in the list from which it was reached. */
function stepTrail(by) {
  const at = state.trail.indexOf(location.pathname);
  if (at >= 0 && state.trail[at + by]) navigate(state.trail[at + by], { replace: true });
  else status("No list leads further from here");
}

function showKeys() {
  const list = facts(KEYS.map(([key, what]) => [h("kbd", {}, key), what]));
  return shown(h("dialog", { "aria-label": "Keys" }, h("h2", {}, "Keys"), list, closeLine()));
}

const SHELL_KEYS = {
  "/": () => (find.focus(), find.select()), j: () => step(1), k: () => step(-1), u: undo,
  "[": () => stepTrail(-1), "]": () => stepTrail(1), "?": showKeys,
};

document.addEventListener("keydown", (event) => {
  const isCommand = event.ctrlKey || event.metaKey;
  const isTyping = event.target.closest("input, textarea, select, dialog");
  let act = null;
  if (isCommand && event.key.toLowerCase() === "k") act = SHELL_KEYS["/"];
  else if (isCommand || event.altKey) return;
  else if (event.target === find && event.key === "ArrowDown") act = () => rows()[0]?.focus();
  else if (!isTyping) act = state.keys[event.key] ?? SHELL_KEYS[event.key];
  if (!act) return;
  event.preventDefault();
  act(rowWithFocus());
});

/** Takes what is typed to the search, wherever one is. */
function typed() {
  if (state.typed) state.typed(find.value);
  else navigate(`/search?q=${encodeURIComponent(find.value)}`);
}

find.addEventListener("input", typed);
find.form.addEventListener("submit", (event) => {
  event.preventDefault();
  if (state.typed) rows()[0]?.focus();
  else typed();
});

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href]");
  const isPlain = !event.button && !event.ctrlKey && !event.metaKey && !event.shiftKey;
  if (!link || link.target || !isPlain) return;
  const url = new URL(link.href);
  if (url.origin !== location.origin || !Object.hasOwn(VIEWS, url.pathname.split("/")[1])) return;
  if (url.pathname === location.pathname && url.hash) return; // a place in the view itself
  event.preventDefault();
  navigate(url.pathname + url.search + url.hash);
});

addEventListener("popstate", ({ state: kept }) => {
  if (kept || !location.hash) show({ scroll: kept?.scroll }); // else a place in the view itself
});
addEventListener("beforeunload", (event) => api.unsaved.length && event.preventDefault());

async function start() {
  history.scrollRestoration = "manual";
  const links = Object.entries(VIEWS).filter(([, name]) => name).map(([view, name]) =>
    h("li", {}, h("a", { href: `/${view}`, data: { view } }, name)));
  fill(document.querySelector(".side"), h("ul", {}, links, h("li", {},
    button("Keys", showKeys, { key: "?", kind: "quiet-button" }))));
  const code = /^#k=(.+)$/.exec(location.hash)?.[1]; // of `cortex web`, which opens once
  if (code) {
    history.replaceState({}, "", location.pathname + location.search);
    await api.login(code).catch(sayRefused);
  }
  api.events.addEventListener("unsaved", showUnsaved);
  showUnsaved();
  await show({ focus: false });
  const server = await api.get("/api/server").catch(() => null);
  if (!server) return;
  Object.assign($("vault"), { textContent: server.vault, title: server.root });
  connect();
}

start();
