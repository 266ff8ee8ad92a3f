// Meetings, newest first, and what came of each: its decisions and its actions.

import { verb } from "../api.js";
import { count, empty, fill, h, noteAddress, problemList, tag, time } from "../dom.js";
import { isInUse, lines, load, noteLink, noteRow, quiet } from "./parts.js";

export const title = "Meetings";

export const twin = ({ query }) => verb("meetings", { number: 100, project: query.get("project") });

export async function show(main, params, app) {
  const { hits, total, problems } = await load(twin(params), app);
  const rows = hits.map((one) => meeting(one, app));
  const left = total - rows.length;
  fill(main, rows.length ? h("ul", { class: "rows" }, rows) : empty("There are no meetings yet.",
    "cortex new meeting TITLE makes a note for minutes, of which tasks become actions."),
  left > 0 && quiet(`${count(left, "older meeting")} left out.`), problemList(problems));
  app.onChange((changes) => {
    const isMeant = changes?.some((one) => ["meeting", "action"].includes(one.type)) ?? true;
    if (isMeant && !isInUse(main)) app.reload();
  });
}

/** A meeting; what came of it is asked for when it is unfolded. */
function meeting(one, app) {
  const [open, done] = [one.open_actions, one.done_actions];
  const max = open + done;
  const label = `${done} of ${max} actions done`;
  const parts = h("div", { class: "parts" });
  const unfold = async ({ target }) => {
    if (!target.open || parts.hasChildNodes()) return;
    fill(parts, quiet("…"));
    fill(parts, await outcomes(one.id, app).catch((error) => error.message));
  };
  const made = noteRow({ href: noteAddress(one.id), title: one.title,
    meta: [time(one.date), one.project, one.decisions && count(one.decisions, "decision"),
      open && h("b", {}, `${count(open, "action")} open`), done && `${done} done`,
      max && h("progress", { value: done, max, "aria-label": label })] });
  if (max + one.decisions) {
    const summary = h("summary", {}, "What came of it");
    made.querySelector(".text").append(h("details", { ontoggle: unfold }, summary, parts));
  }
  return made;
}

/** The notes that a meeting is the source of: decisions first. */
async function outcomes(note, app) {
  const { hits } = await load(verb("graph", { note, depth: 1, kind: "derived_from" }), app);
  const of = (type) => hits.filter((one) => one.type === type && one.depth === 1);
  const actions = of("action").map((one) =>
    [tag(one.status, one.status === "done" ? "good" : ""), " ", noteLink(one)]);
  const all = [...of("decision").map((one) => [tag("decision"), " ", noteLink(one)]), ...actions];
  return all.length ? lines(all) : quiet("It stands in the minutes.");
}
