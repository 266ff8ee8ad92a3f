// What waits for a look, one after the other: keep it, fix it, or drop it. Each can be undone.

import { verb } from "../api.js";
import {
  button, command, empty, encodeId, fill, h, noteAddress, problemList, rendered, tag, time, viewOf,
} from "../dom.js";
import { load, noteLink, quiet } from "./parts.js";

const GROUPS = {
  kept: "Kept for you", contradictions: "Contradictions", duplicates: "Near-duplicates",
  conflicts: "Conflicts", secrets: "Secrets", stale: "Stale", faded: "Faded",
};
const FIXES = { supersede: "This one holds", consolidate: "Make one of both", revise: "Done" };
const MAX_ENTRIES = 200;
const decided = new Set(); // as long as this page is open: what is done of all

export const title = "Review";

export const twin = () => verb("review", { number: MAX_ENTRIES });

export async function show(main, params, app) {
  const answer = await load(twin(), app);
  const asked = params.query.get("group");
  const names = Object.keys(GROUPS);
  const group = names.includes(asked) ? asked : names.find((one) => answer[one].total) ?? "kept";
  const entries = answer[group].hits.map((one) =>
    ({ ...one, key: [group, one.id, one.other, one.why].join(" ") }));
  for (const one of entries) decided.delete(one.key); // what was undone waits again
  const go = (name) => app.navigate(viewOf("review", "", { group: name }));
  const tabs = names.map((name) => button(`${GROUPS[name]} ${answer[name].total}`, () => go(name),
    { "aria-pressed": String(name === group) }));
  const card = h("div");
  fill(main, h("div", { class: "bar" }, tabs), card, problemList(answer.problems));
  await showNext(card, { group, queue: entries, total: answer[group].total, at: 0, app });
}

/** Shows the entry whose turn it is, and what can be decided about it. */
async function showNext(card, turn) {
  const { queue, at, app, group, total } = turn;
  const entry = queue[at];
  const why = "What an agent, a model or rules keep comes here for a look.";
  if (!entry) return void fill(card, empty("Nothing waits here.", why));
  const go = (by) => showNext(card, { ...turn, at: (at + by + queue.length) % queue.length });
  const choices = choicesOf(entry, turn, () => go(1));
  app.keys({ ...Object.fromEntries(choices.map((one) => [one.key, one.act])), "[": () => go(-1) });
  card.dataset.key = entry.key;
  const ids = [entry.id, entry.other].filter(Boolean);
  const texts = await Promise.all(ids.map((id) => text(id, ids.length > 1, app)));
  if (card.dataset.key !== entry.key) return; // the next one is asked for meanwhile
  const done = [...decided].filter((one) => one.startsWith(`${group} `)).length;
  const commands = [["If it is none", entry.keep], ["To erase it everywhere", entry.drop]];
  fill(card,
    h("div", { class: "bar" },
      h("progress", { value: done, max: done + total, "aria-label": "Looked at" }),
      quiet(`${done} of ${done + total} looked at`)),
    h("article", { class: "panel entry" }, h("h2", {}, noteLink(entry)),
      h("p", { class: "meta" }, entry.type && tag(entry.type), h("span", {}, entry.why),
        time(entry.date)),
      h("div", { class: "buttons" },
        choices.map(({ words, act, key, kind }) => button(words, act, { key, kind }))),
      group === "secrets" && commands.map(([words, line]) =>
        line && h("p", { class: "quiet" }, `${words}: `, command(line))),
      h("div", { class: texts.length > 1 ? "pair" : "" }, texts)));
  if (decided.size || at) card.querySelector("h2 a").focus({ preventScroll: true });
}

/** What can be decided, as words, key and act. */
function choicesOf(entry, turn, postpone) {
  const { keep_calls: keep = [], fix_calls: fix = [], drop_calls: drop = [] } = entry;
  const { app, group } = turn;
  const decide = (calls, what) => async () => {
    if (turn.isDeciding) return; // a key that is held down decides once
    turn.isDeciding = true;
    for (const one of calls) {
      const answer = await app.change(one.verb, one.arguments, `${what}: ${entry.title}`);
      turn.isDeciding = answer !== null;
      if (!turn.isDeciding) return; // refused; the status line says why
    }
    decided.add(entry.key);
    await app.reload();
  };
  const open = () => app.navigate(noteAddress(entry.id));
  const mends = fix.length > 0 && fix[0].verb !== "edit"; // an editor runs where the vault is
  const isHere = group !== "secrets"; // these reach beyond the vault: a person types them
  const kept = entry.other ? "Keep both" : "Keep";
  return [
    isHere && keep.length && { words: kept, key: "y", kind: "primary", act: decide(keep, "Kept") },
    mends ? { words: FIXES[fix[0].verb] ?? "Fix", key: "e", act: decide(fix, "Fixed") }
      : { words: "Fix", key: "e", act: open },
    isHere && drop.length
      && { words: "Drop", key: "x", kind: "danger", act: decide(drop, "Dropped") },
    { words: "Later", key: "]", act: postpone },
  ].filter(Boolean);
}

/** The text of a note; looking at it here is no use of it. */
async function text(id, isNamed, app) {
  try {
    const note = await load(`/api/rendered/${encodeId(id)}`, app, { preview: true });
    return h("section", {}, isNamed && h("h3", {}, noteLink(note)), rendered(note.html));
  } catch (error) {
    if (error.name === "AbortError") throw error;
    return quiet(error.message);
  }
}
