// What changed lately, from git: who, when, what, and what takes it back.

import { get, verb } from "../api.js";
import { button, control, count, empty, fill, h, noteAddress, problemList, row, tag, time, viewOf } from "../dom.js";

const SPANS = [["", "this week"], ["2w", "in two weeks"], ["1m", "in a month"], ["3m", "in three months"]];
const MAX_NOTES = 12; // of a commit; the others are folded
const KINDS = { added: "good", removed: "bad" };

export const title = "Changed";

export const twin = ({ query }) => verb("history", { since: query.get("since"), number: 100 });

export async function show(main, params, app) {
  const since = params.query.get("since") ?? "";
  const span = control({ name: "since", value: since, kind: "select", options: SPANS, "aria-label": "Since when",
    onchange: (event) => app.navigate(viewOf("changed", "", { since: event.target.value })) });
  const bar = h("div", { class: "bar" }, h("label", { class: "field" }, "Changed", span));
  try {
    const answer = await get(twin(params), {}, { signal: app.signal });
    const left = answer.more > 0 && h("p", { class: "quiet" }, `${count(answer.more, "older commit")} left out.`);
    const none = !answer.commits.length && empty("Nothing changed in this time.", "A longer time may show something.");
    fill(main, bar, answer.commits.map((one) => commit(one, app)), none, left, problemList(answer.problems));
  } catch (error) {
    if (error.status !== 404) throw error;
    fill(main, bar, empty(error.message, error.hint)); // a vault without git has no history
  }
  app.onChange(() => main.querySelector("details[open], :focus") || app.reload()); // not under somebody's hands
}

function commit(one, app) {
  const rows = (notes) => notes.map((note) => changedNote(note, app));
  const [first, rest, more] = [one.notes.slice(0, MAX_NOTES), one.notes.slice(MAX_NOTES), h("ul", { class: "rows" })];
  const beside = [["event", one.events], ["briefing", one.briefings], ["other file", one.others]]
    .filter(([, many]) => many).map(([noun, many]) => count(many, noun));
  return h("section", { class: "commit" }, h("h2", {}, one.subject),
    h("p", { class: "meta" }, h("span", {}, one.author), h("span", {}, one.commit ? time(one.at) : "now"),
      h("span", {}, [count(one.notes.length + one.more, "note"), ...beside].join(", ")),
      one.commit && h("code", {}, one.commit.slice(0, 8))),
    first.length > 0 && h("ul", { class: "rows" }, rows(first)),
    rest.length > 0 && h("details", { ontoggle: () => more.hasChildNodes() || fill(more, rows(rest)) },
      h("summary", {}, `${rest.length} more`), more),
    one.more > 0 && h("p", { class: "quiet" }, `${count(one.more, "note")} more in this commit.`));
}

function changedNote(note, app) {
  const calls = note.undo_calls ?? [];
  const what = { added: "archive it", removed: "bring it back" }[note.change] ?? "as it was before";
  const undo = calls.length > 0 && button("Undo", async () => {
    for (const one of calls) if (!(await app.change(one.verb, one.arguments, `Undone: ${note.title}`))) return;
    await app.reload();
  }, { title: `${note.title}: ${what}`, "aria-label": `Undo ${note.title}: ${what}` });
  const isThere = note.file !== "";
  return row({
    href: isThere ? noteAddress(note.id) : viewOf("search", "", { q: note.title }), title: note.title,
    mark: tag(note.change, KINDS[note.change]), tools: undo || [],
    meta: [note.type, note.before && `was ${note.before}`].filter(Boolean),
  });
}
