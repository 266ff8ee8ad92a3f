// What is to be done: tick it, and it is done in the vault and in the minutes from which it came.

import { verb } from "../api.js";
import {
  ask, button, control, copyButton, count, empty, fill, h, noteAddress, problemList, tag, time,
  viewOf,
} from "../dom.js";
import { load, noteRow, quiet } from "./parts.js";

const MAX_ACTIONS = 500;
const SHOWN = { "": "Open", overdue: "Overdue", done: "Done" };
const ME = "cortex-me"; // whose "mine" is, in this browser
const ticked = new Set(); // here; they stay where they are until the list is shown anew

export const title = "Actions";

export function twin({ query }) {
  const is = (name) => query.get("show") === name || "";
  const owner = query.get("owner");
  return verb("actions", { overdue: is("overdue"), done: is("done"), owner, number: MAX_ACTIONS });
}

export async function show(main, params, app) {
  const [shown, owner] = ["show", "owner"].map((name) => params.query.get(name) ?? "");
  const every = verb("actions", { number: MAX_ACTIONS }); // to know whose actions there are
  const asked = [twin(params), every, "/api/server"].map((path) => load(path, app));
  const [answer, { hits }, server] = await Promise.all(asked);
  const names = [...new Set([owner, ...hits.map((one) => one.owner)])].filter(Boolean).sort();
  const rows = answer.hits.map((one) => action(one, app));
  const left = answer.total - rows.length;
  fill(main, bar({ show: shown, owner }, names, answer.total, app),
    rows.length ? h("ul", { class: "rows" }, rows) : nothing(shown, owner),
    left > 0 && quiet(`${left} more are left out.`), problemList(answer.problems),
    subscription(location.origin + server.calendar));
  app.keys({ x: (at) => at?.querySelector("input[type=checkbox]:enabled")?.click() });
  const isNews = (one) => one.type === "action" && !ticked.has(one.id);
  app.onChange((changes) => changes?.some(isNews) && app.reload());
}

function bar(wanted, owners, total, app) {
  const go = (part) => app.navigate(viewOf("actions", "", { ...wanted, ...part }));
  const pressed = (is) => ({ "aria-pressed": String(is) });
  const tabs = Object.entries(SHOWN).map(([name, words]) =>
    button(words, () => go({ show: name }), pressed(wanted.show === name)));
  const select = control({ name: "owner", kind: "select", value: wanted.owner,
    options: [["", "everybody’s"], ...owners], "aria-label": "Whose actions",
    onchange: ({ target }) => go({ owner: target.value }) });
  const isMine = Boolean(wanted.owner) && wanted.owner === localStorage.getItem(ME);
  const mine = button("Mine", async () => {
    if (isMine) return go({ owner: "" });
    const label = "As actions name their owner";
    const field = { name: "me", label, kind: owners.length ? "select" : "text", options: owners };
    const known = localStorage.getItem(ME);
    const me = known || (await ask("Which name is yours?", [field], "That is me"))?.me;
    if (!me) return undefined;
    localStorage.setItem(ME, me);
    return go({ owner: me });
  }, pressed(isMine));
  return h("div", { class: "bar" }, tabs, mine, select,
    h("span", { class: "count" }, count(total, "action")));
}

/** An action with its box. A task of a person's own note is ticked there: Cortex does not write. */
function action(one, app) {
  const isDone = one.status === "done";
  const isTask = one.type === "task";
  const box = h("input", { type: "checkbox", checked: isDone, disabled: isTask || one.ticked,
    "aria-label": `Done: ${one.title}` });
  const day = one.due && time(one.due);
  const due = day && (one.overdue ? tag(["overdue ", day], "bad") : h("span", {}, "due ", day));
  const own = isTask ? `a task in ${one.path}, to tick there` : one.ticked && "ticked in a note";
  const made = noteRow({ href: noteAddress(isTask ? one.path : one.id), title: one.title, mark: box,
    meta: [due, one.owner, one.project && tag(one.project), isDone && time(one.date), own] });
  made.classList.toggle("done", isDone);
  box.addEventListener("change", async () => {
    ticked.add(one.id);
    const answer = box.checked ? await app.change("done", { id: one.id }, `Done: ${one.title}`)
      : await app.change("revise", { id: one.id, status: "open" }, `Open again: ${one.title}`);
    if (!answer) box.checked = !box.checked;
    made.classList.toggle("done", box.checked);
  });
  return made;
}

function nothing(shown, owner) {
  if (shown === "overdue") return empty("Nothing is overdue.", "What is open has time, or no day.");
  if (shown === "done") return empty("Nothing is done yet.", "What you tick in Open shows here.");
  return empty(owner ? `${owner} has nothing to do.` : "Nothing is to be done.",
    "A task in minutes becomes an action, and so does: cortex new action TITLE");
}

/** The address for calendar programs, and what it gives away. */
function subscription(address) {
  return h("section", { class: "panel subscription" }, h("h2", {}, "In your calendar"),
    h("p", {}, "Subscribe to this address: each open action with a day is an event of that day."),
    h("p", { class: "command" }, h("code", {}, address), copyButton(address)),
    h("p", { class: "quiet" }, "Whoever has it can read titles, owners, days and paths of open ",
      "actions, and nothing else; it changes nothing. It works here, while the server runs."));
}
