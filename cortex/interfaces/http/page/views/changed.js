// What changed lately, from git: who, when, what, and what takes it back.

import { verb } from "../api.js";
import {
  button, count, empty, field, fill, h, noteAddress, problemList, tag, time, viewOf,
} from "../dom.js";
import { isInUse, load, noteRow, quiet } from "./parts.js";

const SPANS = [["", "this week"], ["2w", "in 2 weeks"], ["1m", "this month"], ["3m", "lately"]];
const MAX_NOTES = 12; // of a commit; the others are folded
const KINDS = { added: "good", removed: "bad" };
const UNDONE = { added: "archive it", removed: "bring it back", changed: "as it was before" };

export const title = "Changed";

export const twin = ({ query }) => verb("history", { since: query.get("since"), number: 100 });

export async function show(main, params, app) {
  const value = params.query.get("since") ?? "";
  const onchange = ({ target }) => app.navigate(viewOf("changed", "", { since: target.value }));
  const bar = h("div", { class: "bar" },
    field("Changed", { name: "since", value, kind: "select", options: SPANS, onchange }));
  const { commits, more, problems } = await load(twin(params), app);
  const none = empty("Nothing changed in this time.", "A longer time may show something.");
  fill(main, bar, commits.length ? commits.map((one) => commit(one, app)) : none,
    more > 0 && quiet(`${count(more, "older commit")} left out.`), problemList(problems));
  app.onChange(() => isInUse(main) || app.reload());
}

function commit(one, app) {
  const rows = (notes) => notes.map((note) => changedNote(note, app));
  const [first, rest] = [one.notes.slice(0, MAX_NOTES), one.notes.slice(MAX_NOTES)];
  const folded = h("ul", { class: "rows" });
  const unfold = () => folded.hasChildNodes() || fill(folded, rows(rest));
  const beside = [["event", one.events], ["briefing", one.briefings], ["other file", one.others]];
  const counts = beside.filter(([, many]) => many).map(([noun, many]) => count(many, noun));
  return h("section", { class: "commit" }, h("h2", {}, one.subject),
    h("p", { class: "meta" }, h("span", {}, one.author), one.commit ? time(one.at) : "now",
      h("span", {}, [count(one.notes.length + one.more, "note"), ...counts].join(", ")),
      one.commit && h("code", {}, one.commit.slice(0, 8))),
    first.length > 0 && h("ul", { class: "rows" }, rows(first)),
    rest.length > 0 && h("details", { ontoggle: unfold },
      h("summary", {}, `${rest.length} more`), folded),
    one.more > 0 && quiet(`${count(one.more, "note")} more in this commit.`));
}

function changedNote(note, app) {
  const calls = note.undo_calls ?? [];
  const what = `${note.title}: ${UNDONE[note.change] ?? UNDONE.changed}`;
  const undo = button("Undo", async () => {
    const words = `Undone: ${note.title}`;
    for (const one of calls) if (!(await app.change(one.verb, one.arguments, words))) return;
    await app.reload();
  }, { title: what, "aria-label": `Undo ${what}` });
  const search = viewOf("search", "", { q: note.title });
  return noteRow({ href: note.file ? noteAddress(note.id) : search, title: note.title,
    mark: tag(note.change, KINDS[note.change]), tools: calls.length ? undo : [],
    meta: [note.type, note.before && `was ${note.before}`] });
}
