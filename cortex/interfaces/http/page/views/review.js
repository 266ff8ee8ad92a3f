// What waits for a look, one after the other: keep it, fix it, or drop it. Each decision can be undone.

import { get, verb } from "../api.js";
import { button, command, empty, fill, h, noteAddress, problemList, rendered, tag, time, viewOf } from "../dom.js";

const GROUPS = {
  kept: "Kept for you", contradictions: "Contradictions", duplicates: "Near-duplicates", conflicts: "Conflicts",
  secrets: "Secrets", stale: "Stale", faded: "Faded",
};
const FIXES = { supersede: "This one holds", consolidate: "Make one of both", revise: "It is done" };
const MAX_ENTRIES = 200;
const decided = new Set(); // as long as this page is open: what is done of all
const later = new Set();

export const title = "Review";

export const twin = () => verb("review", { number: MAX_ENTRIES });

const keyOf = (group, entry) => [group, entry.id, entry.other, entry.why].join(" ");

export async function show(main, params, app) {
  const answer = await get(twin(), {}, { signal: app.signal });
  const asked = params.query.get("group");
  const names = Object.keys(GROUPS);
  const group = names.includes(asked) ? asked : names.find((one) => answer[one]?.total) ?? "kept";
  const entries = (answer[group]?.hits ?? []).map((one) => ({ ...one, key: keyOf(group, one) }));
  for (const one of entries) decided.delete(one.key); // what was undone waits again
  const tabs = Object.entries(GROUPS).map(([name, words]) => h("a", {
    href: viewOf("review", "", { group: name }), "aria-current": name === group ? "true" : null }, words, " ",
  h("b", {}, answer[name]?.total ?? 0)));
  const card = h("div");
  fill(main, h("nav", { class: "tabs", "aria-label": "What waits" }, tabs), card, problemList(answer.problems));
  const queue = [...entries.filter((one) => !later.has(one.key)), ...entries.filter((one) => later.has(one.key))];
  const total = answer[group]?.total ?? 0;
  await showNext(card, { group, queue, total, at: 0, app });
}

/** Shows the entry whose turn it is, and what can be decided about it. */
async function showNext(card, turn) {
  const { queue, at, app, group } = turn;
  const entry = queue[at];
  const none = empty("Nothing waits here.", "What an agent, a model or rules keep comes here for a look.");
  if (!entry) {
    fill(card, none);
    return;
  }
  const go = (by) => () => showNext(card, { ...turn, at: (at + by + queue.length) % queue.length });
  const decide = async (calls, what) => {
    if (turn.isDeciding) return; // a key that is held down decides once
    turn.isDeciding = true;
    for (const one of calls) {
      turn.isDeciding = (await app.change(one.verb, one.arguments, `${what}: ${entry.title}`)) !== null;
      if (!turn.isDeciding) return; // refused; the status line says why
    }
    decided.add(entry.key);
    await app.reload();
  };
  const choices = choicesOf(entry, group, decide, app, () => (later.add(entry.key), go(1)()));
  app.keys({ ...Object.fromEntries(choices.map((one) => [one.key, one.act])), "[": go(-1) });
  const done = [...decided].filter((one) => one.startsWith(`${group} `)).length;
  const all = done + turn.total;
  const ids = [entry.id, entry.other].filter(Boolean);
  card.dataset.key = entry.key;
  const texts = await Promise.all(ids.map((id) => text(id, ids.length > 1, app.signal)));
  if (card.dataset.key !== entry.key) return; // the next one is asked for meanwhile
  fill(card, h("div", { class: "bar" }, h("progress", { value: done, max: all, "aria-label": "Looked at" }),
    h("span", { class: "quiet" }, `${done} of ${all} looked at`)),
  h("article", { class: "panel entry" }, h("h2", {}, h("a", { href: noteAddress(entry.id) }, entry.title)),
    h("p", { class: "meta" }, entry.type && tag(entry.type), h("span", {}, entry.why), time(entry.date)),
    h("div", { class: "buttons" }, choices.map((one) => button(one.words, one.act, { key: one.key, kind: one.kind }))),
    group === "secrets" && [["If it is none", entry.keep], ["To take it out of the history, too", entry.drop]]
      .map(([words, line]) => line && h("p", { class: "quiet" }, `${words}: `, command(line))),
    h("div", { class: texts.length > 1 ? "pair" : "" }, texts)));
  if (decided.size || at) card.querySelector("h2 a").focus({ preventScroll: true }); // its buttons are gone
}

/** What can be decided, as words, key and act. */
function choicesOf(entry, group, decide, app, postpone) {
  const { keep_calls: keep = [], fix_calls: fix = [], drop_calls: drop = [] } = entry;
  const mends = fix.length > 0 && fix[0].verb !== "edit"; // an editor runs where the vault is, not in a browser
  const isHere = group !== "secrets"; // these commands reach beyond the vault: a person types them
  return [
    isHere && keep.length > 0 && { words: entry.other ? "Keep both" : "Keep", key: "y", kind: "primary",
      act: () => decide(keep, "Kept") },
    mends ? { words: FIXES[fix[0].verb] ?? "Fix", key: "e", act: () => decide(fix, "Fixed") }
      : { words: "Fix", key: "e", act: () => app.navigate(noteAddress(entry.id)) },
    isHere && drop.length > 0 && { words: "Drop", key: "x", kind: "danger", act: () => decide(drop, "Dropped") },
    { words: "Later", key: "]", act: postpone },
  ].filter(Boolean);
}

/** The text of a note; looking at it here is no use of it. */
async function text(id, isNamed, signal) {
  try {
    const note = await get(noteAddress(id).replace("/record/", "/api/rendered/"), {}, { signal, preview: true });
    return h("section", {}, isNamed && h("h3", {}, h("a", { href: noteAddress(id) }, note.title)), rendered(note.html));
  } catch (error) {
    if (error.name === "AbortError") throw error;
    return h("p", { class: "quiet" }, error.message);
  }
}
