// Meetings, newest first, and what came of each: its decisions, and its actions to tick.

import { get, verb } from "../api.js";
import { count, empty, fill, h, noteAddress, problemList, row, tag, time } from "../dom.js";

const PARTS = { decision: "Decisions", action: "Actions" };

export const title = "Meetings";

export const twin = ({ query }) => verb("meetings", { number: 100, project: query.get("project") });

export async function show(main, params, app) {
  const answer = await get(twin(params), {}, { signal: app.signal });
  const rows = answer.hits.map((one) => meeting(one, app));
  const left = answer.total - rows.length;
  const more = left > 0 && h("p", { class: "quiet" }, `${count(left, "older meeting")} left out.`);
  fill(main, rows.length ? h("ul", { class: "rows" }, rows) : empty("There are no meetings yet.",
    "cortex new meeting TITLE makes a note for minutes: tasks in it become actions, its decisions records."),
  more, problemList(answer.problems));
  app.onChange((changes) => {
    const isMeant = changes?.some((one) => ["meeting", "action"].includes(one.type)) ?? true;
    if (isMeant && !main.querySelector("details[open], :focus")) app.reload(); // not under somebody's hands
  });
}

/** A meeting; what came of it is asked for when it is unfolded. */
function meeting(one, app) {
  const [open, done] = [one.open_actions, one.done_actions];
  const max = open + done;
  const progress = max > 0 && h("progress", { value: done, max, "aria-label": `${done} of ${max} actions done` });
  const parts = h("div", { class: "parts" });
  const more = max + one.decisions > 0 && h("details", { ontoggle: async (event) => {
    if (!event.target.open || parts.hasChildNodes()) return;
    fill(parts, h("p", { class: "quiet" }, "…"));
    fill(parts, await outcomes(one.id, app.signal).catch((error) => error.message));
  } }, h("summary", {}, "What came of it"), parts);
  const made = row({
    href: noteAddress(one.id), title: one.title,
    meta: [time(one.date), one.project, one.decisions > 0 && count(one.decisions, "decision"),
      open > 0 && h("b", {}, `${count(open, "action")} open`), done > 0 && `${done} done`, progress].filter(Boolean),
  });
  made.querySelector(".text").append(more || "");
  return made;
}

/** The notes that a meeting is the source of, by kind. */
async function outcomes(id, signal) {
  const { hits } = await get(verb("graph", { note: id, depth: 1, kind: "derived_from" }), {}, { signal });
  const lists = Object.entries(PARTS).map(([type, heading]) => {
    const own = hits.filter((one) => one.type === type && one.depth === 1);
    const lines = own.map((one) => h("li", {}, tag(one.status, one.status === "done" ? "good" : ""), " ",
      h("a", { href: noteAddress(one.id) }, one.title)));
    return own.length > 0 && [h("h3", {}, heading), h("ul", { class: "plain" }, lines)];
  });
  return lists.some(Boolean) ? lists : h("p", { class: "quiet" }, "They stand in its minutes.");
}
