// A note: its text, its properties, where it came from down to the sentence in the transcript, what
// is near it and what it was; and the changes that a person makes, which can be taken back.

import { get, put, verb } from "../api.js";
import {
  ask, button, closeLine, command, copyButton, encodeId, facts, field, fill, h, noteAddress,
  problemList, rendered, row, shown, tag, time, viewOf,
} from "../dom.js";

const DRAFT = "cortex-draft:"; // a text that was not saved, by id, as long as the tab is open
const NONE = "none"; // takes a field out
const MAX_NEAR = 16; // notes
const SET_ASIDE = ["archived", "superseded", "withdrawn", "deleted", "pruned"];
// Properties that are told elsewhere on the page, or to programs alone.
const UNSHOWN = ["id", "aliases", "title", "provenance", "events", "layer", "line_digest"];
const SPEAKERS = {
  user: "a person said", assistant: "the agent said", agent: "an agent asked",
  host: "the host summed up", capture: "somebody wrote",
};

export const title = "Record";

export const twin = ({ id }) => `/api/rendered/${encodeId(id)}`;

export async function show(main, { id }, app) {
  const note = await get(twin({ id }), {}, { signal: app.signal });
  if (note.type === "run") return app.navigate(viewOf("runs", note.id), { replace: true });
  app.setTitle(note.title);
  const view = {
    note, app, isEditing: false, version: note.version, // the one that a change is of
    bar: h("div", { class: "bar" }), notice: h("div", { role: "status" }), text: h("div", {}),
  };
  const panels = h("div", {});
  fill(main, view.bar, view.notice, h("div", { class: "columns" }, view.text, properties(note)),
    problemList(note.problems), panels);
  read(view);
  app.onChange((news) => noticeChange(view, news));
  const told = (name, more) =>
    get(verb(name, { note: note.id, ...more }), {}, { signal: app.signal, preview: true });
  await Promise.all([
    panel(panels, "Where it came from", () => told("origin"), origin),
    panel(panels, "Related", () => told("graph", { depth: 1, number: MAX_NEAR }), related),
    panel(panels, "Before and after it", () => told("timeline", { number: 3 }), around),
    panel(panels, "What it was", () => told("history"), past),
  ]);
}

/** A part of the page that comes later, in its place; it is left out if there is nothing in it. */
async function panel(panels, name, load, draw) {
  const heading = h("h2", {}, name);
  const made = h("section", { class: "panel", "aria-label": name }, heading);
  panels.append(made);
  try {
    const drawn = draw(await load());
    drawn ? fill(made, heading, drawn) : made.remove();
  } catch (error) {
    if (error.name !== "AbortError") fill(made, heading, h("p", { class: "quiet" }, error.message));
  }
}

/** Shows the text, and what can be done with it; events and people's own notes are only read. */
function read(view) {
  const { note, app, text, bar } = view;
  const isAside = SET_ASIDE.includes(note.status);
  const isPinned = Boolean(note.fields.pinned);
  const isOpen = note.type === "action" && note.status !== "done" && !isAside;
  const act = async (name, given, what) =>
    (await app.change(name, given, `${what}: ${note.title}`)) && app.reload();
  const edit = () => write(view);
  const archive = () => (isAside ? act("restore", { ids: [note.id] }, "Restored")
    : act("archive", { id: note.id }, "Archived"));
  const pin = () => act("pin", { id: note.id, remove: isPinned }, isPinned ? "Unpinned" : "Pinned");
  const isRecord = note.fields.id && /(^|\/)records\//.test(note.path) && !note.cut;
  view.isEditing = false;
  fill(text, rendered(note.html),
    note.cut && h("p", { class: "quiet" }, "… cut: ", command(`cortex show ${note.id}`)));
  fill(bar, note.type && tag(note.type, "accent"),
    note.status && tag(note.status, isAside ? "bad" : ""), isPinned && tag("pinned"),
    isRecord && [
      button("Edit", edit, { key: "e" }),
      isOpen && button("Done", () => act("done", { id: note.id }, "Done")),
      button(isAside ? "Restore" : "Archive", archive, { key: "x" }),
      !isAside && button("Supersede…", () => supersede(act, note)),
      button(isPinned ? "Unpin" : "Pin", pin),
    ],
    note.type === "session" && h("a", { href: viewOf("session", note.id) }, "Read the session"),
    h("a", { href: viewOf("graph", note.id) }, "Graph"));
  if (!isRecord) return;
  app.keys({ e: edit, x: archive });
  const draft = sessionStorage.getItem(DRAFT + note.id);
  const isSaved = draft === JSON.stringify(editable(note)); // by Retry, say
  if (location.search === "?edit=1" || (draft && !isSaved)) edit();
}

async function supersede(act, note) {
  const given = await ask(`What holds in the place of “${note.title}”?`, [
    { label: "The id of a record, or none", name: "by" }, { label: "Why", name: "reason" },
  ], "Supersede");
  if (given) act("supersede", { old: note.id, ...given }, "Superseded");
}

/** What of a note is edited: its text is that below the properties and the heading. */
function editable({ title, text, fields }) {
  const below = text.replace(/^---\n[\s\S]*?\n---\n/, "").trimStart();
  const content = below.replace(/^# [^\n]*\n+/, "").trimEnd();
  return { title, content, tags: [fields.tags ?? []].flat().join(", ") };
}

/** Has title, text and tags edited in place. What was typed outlives leaving the page. */
function write(view) {
  const { note, app, text } = view;
  const draft = DRAFT + note.id;
  const before = editable(note);
  const value = { ...before, ...JSON.parse(sessionStorage.getItem(draft) ?? "{}") };
  const given = () => Object.fromEntries(new FormData(form));
  const changes = () => Object.entries(given()).filter(([name, one]) => one !== before[name]);
  const leave = (then) => {
    sessionStorage.removeItem(draft);
    app.setAddress(location.pathname);
    then();
  };
  const close = () => leave(() => {
    read(view);
    view.bar.querySelector("button").focus();
  });
  const save = async (event) => {
    event.preventDefault();
    const changed = Object.fromEntries(changes());
    if (!changes().length) return close();
    if ("tags" in changed) changed.tags = (changed.tags || NONE).split(/[\s,]+/).filter(Boolean);
    const what = `Edited: ${given().title}`;
    const path = `/api/observations/${encodeId(note.id)}`;
    try {
      const answer = await put(path, changed, view.version, what);
      app.undo(answer.undo_calls, what);
      leave(app.reload);
    } catch (error) {
      if (error.status === 412) return showClash(view, clash, given(), leave);
      app.refused(error);
    }
  };
  const keys = ({ key, ctrlKey, metaKey }) => {
    if (key === "Enter" && (ctrlKey || metaKey)) form.requestSubmit();
    if (key === "Escape" && !changes().length) close();
  };
  const rows = Math.min(28, value.content.split("\n").length + 6);
  const clash = h("div", {});
  const form = h("form", {
    class: "edit", onsubmit: save, onkeydown: keys,
    oninput: () => sessionStorage.setItem(draft, JSON.stringify(given())),
  },
  field("Title", { name: "title", value: value.title, required: true }),
  field("Text", { name: "content", value: value.content, kind: "area", rows }),
  field("Tags", { name: "tags", value: value.tags }),
  h("div", { class: "buttons" }, h("button", { class: "primary" }, "Save"), button("Cancel", close),
    h("span", { class: "quiet" }, "Ctrl Enter saves")), clash);
  view.isEditing = true;
  fill(text, form);
  form.elements.content.focus();
}

/** Shows what somebody else wrote meanwhile; the own text stays in the form until it is saved. */
async function showClash(view, clash, mine, leave) {
  const now = await get(twin({ id: view.note.id })).catch(() => null);
  if (!now) return view.app.status("It was changed meanwhile; your text is still here");
  const theirs = editable(now);
  view.version = now.version;
  fill(clash, h("div", { class: "panel", role: "alert" }, h("h2", {}, "It was changed meanwhile"),
    h("p", {}, "Your text is in the form above; Save puts it in the place of this one."),
    h("h3", {}, theirs.title), h("p", { class: "quiet" }, theirs.tags),
    h("pre", { class: "text", tabindex: 0 }, theirs.content),
    h("div", { class: "buttons" }, copyButton(mine.content, "Copy mine"),
      button("Take theirs", () => leave(view.app.reload)))));
  clash.scrollIntoView({ block: "nearest" });
}

/** Shows it anew when somebody else changes it; where it is being edited, it says so instead. */
async function noticeChange(view, news) {
  if (news && !news.some((one) => one.id === view.note.id)) return;
  const now = await get(twin({ id: view.note.id })).catch(() => null);
  if (!now || now.version === view.note.version || view.app.signal.aborted) return;
  if (!view.isEditing) return view.app.reload();
  fill(view.notice, h("p", { class: "note" }, "It was changed meanwhile: Save shows both texts."));
}

function properties(note) {
  const told = Object.entries(note.fields).filter(([name]) => !UNSHOWN.includes(name));
  return h("aside", { "aria-label": "Properties" }, facts([
    ...told.map(([name, value]) => [name.replaceAll("_", " "), sayValue(value)]),
    ["file", h("code", {}, note.path)], ["id", h("code", {}, note.id)],
  ]));
}

/** A property: links to notes lead there, moments are said as such. */
function sayValue(value) {
  if (Array.isArray(value)) return value.map((one, at) => [at > 0 && ", ", sayValue(one)]);
  if (value && typeof value === "object") {
    return Object.entries(value).map(([name, one]) => [`${name} `, sayValue(one), " "]);
  }
  const text = String(value);
  const link = /^\[\[([^\]|]+)(?:\|([^\]]+))?\]\]$/.exec(text);
  if (link) return h("a", { href: noteAddress(link[1]) }, link[2] ?? link[1]);
  return /^\d{4}-\d\d-\d\d(T[\d:.]+Z)?$/.test(text) ? time(text) : text;
}

/** The chain from the note over its events to the sentence in the transcript. */
const origin = (told) => told.sources.length > 0
  && [h("ol", { class: "chain" }, told.sources.map(sourceItem)), problemList(told.problems)];

function sourceItem(one) {
  const turn = one.turn > 0 && `${viewOf("session", one.session)}#turn-${one.turn}`;
  const how = one.transcript === "gone" ? "as it was captured: its transcript is no longer here"
    : turn ? ["in turn ", h("a", { href: turn }, one.turn)] : one.session && "as it was captured";
  const around = (text) => text && h("span", { class: "around" }, text);
  return h("li", {},
    h("p", { class: "meta" }, time(one.at), h("span", {}, SPEAKERS[one.who], " ", how),
      one.session && h("a", { href: viewOf("session", one.session) }, "its session"),
      h("a", { href: noteAddress(one.event) }, one.type ? `event: ${one.type}` : "event")),
    one.sentence && h("blockquote", {},
      around(one.before), h("mark", {}, one.sentence), around(one.after)),
    turn && h("a", { href: turn, class: "to-turn" }, "Read it in the session →"));
}

function related(told) {
  const by = new Map(told.hits.map((one) => [one.id, one]));
  const rows = [];
  by.delete(told.asked);
  for (const edge of [...told.edges].sort((a, b) => b.strength - a.strength)) {
    const other = by.get(edge.from) ?? by.get(edge.to);
    if (!other || !by.delete(other.id)) continue; // told already, by a stronger edge
    rows.push(row({ href: noteAddress(other.id), title: other.title,
      meta: [tag(edge.kind.replaceAll("_", " ")), other.type, edge.why] }));
  }
  return rows.length > 0 && h("ul", { class: "rows" }, rows);
}

const around = (told) => told.hits.length > 1 && h("ul", { class: "rows" }, told.hits.map((one) =>
  row({ href: noteAddress(one.id), title: one.title,
    meta: [one.type, time(one.date), one.id === told.focus && tag("this note", "accent")] })));

/** Its commits, and the texts of its events; each opens as it was. */
function past(told) {
  const open = async (at) => {
    const then = await get(verb("history", { note: told.id, at }));
    shown(h("dialog", { "aria-label": "As it was" }, h("h2", {}, `As it was in ${at.slice(0, 12)}`),
      h("pre", { class: "text", tabindex: 0 }, then.text), closeLine(copyButton(then.text))));
  };
  const item = (at, text, ...meta) => h("li", {}, button(text, () => open(at), { kind: "link" }),
    h("p", { class: "meta" }, meta.map((one) => h("span", {}, one))));
  return h("ol", { class: "past" },
    told.versions.map((one) =>
      item(one.commit, one.subject, one.change, one.author, time(one.date))),
    told.texts.map((one) => item(one.event, one.preview.slice(0, 120), "captured", time(one.at))));
}
