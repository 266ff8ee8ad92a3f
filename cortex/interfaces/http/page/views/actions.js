// What is to be done: tick it, and it is done in the vault and in the minutes from which it came.

import { get, verb } from "../api.js";
import {
  ask, button, control, copyButton, count, empty, fill, h, noteAddress, problemList, row, tag, time, viewOf,
} from "../dom.js";

const MAX_ACTIONS = 500;
const SHOWN = { "": "Open", overdue: "Overdue", done: "Done" };
const ME = "cortex-me"; // whose "mine" is, in this browser

export const title = "Actions";

export function twin({ query }) {
  const is = (name) => query.get("show") === name || "";
  return verb("actions", { overdue: is("overdue"), done: is("done"), owner: query.get("owner"), number: MAX_ACTIONS });
}

export async function show(main, params, app) {
  const wanted = { show: params.query.get("show") ?? "", owner: params.query.get("owner") ?? "" };
  const [answer, every, server] = await Promise.all([
    get(twin(params), {}, { signal: app.signal }),
    get(verb("actions", { number: MAX_ACTIONS }), {}, { signal: app.signal }), // whose actions there are
    get("/api/server", {}, { signal: app.signal }),
  ]);
  const owners = [...new Set([wanted.owner, ...every.hits.map((one) => one.owner)])].filter(Boolean).sort();
  const rows = answer.hits.map((one) => action(one, app));
  const left = answer.total - rows.length;
  fill(main, bar(wanted, owners, answer.total, app), rows.length ? h("ul", { class: "rows" }, rows) : nothing(wanted),
    left > 0 && h("p", { class: "quiet" }, `${left} more are left out.`), problemList(answer.problems),
    subscription(`${location.origin}${server.calendar}`));
  app.keys({ x: (at) => at?.querySelector("input[type=checkbox]:enabled")?.click() });
  app.onChange((changes) => changes?.some((one) => one.type === "action" && !ticked.has(one.id)) && app.reload());
}

const ticked = new Set(); // here; they stay where they are until the list is shown anew

function bar(wanted, owners, total, app) {
  const go = (part) => app.navigate(viewOf("actions", "", { ...wanted, ...part }));
  const tabs = Object.entries(SHOWN).map(([name, words]) =>
    button(words, () => go({ show: name }), { "aria-pressed": String(wanted.show === name) }));
  const select = control({ name: "owner", value: wanted.owner, kind: "select", "aria-label": "Whose actions",
    options: [["", "everybody’s"], ...owners], onchange: (event) => go({ owner: event.target.value }) });
  const isMine = Boolean(wanted.owner) && wanted.owner === localStorage.getItem(ME);
  const mine = button("Mine", async () => {
    if (isMine) return go({ owner: "" });
    const kind = owners.length ? "select" : "text";
    const field = { name: "me", label: "As actions name their owner", kind, options: owners };
    const me = localStorage.getItem(ME) || (await ask("Which name is yours?", [field], "That is me"))?.me;
    if (!me) return undefined;
    localStorage.setItem(ME, me);
    return go({ owner: me });
  }, { "aria-pressed": String(isMine) });
  return h("div", { class: "bar" }, tabs, mine, select, h("span", { class: "count" }, count(total, "action")));
}

/** An action as a row with a box. A task of a person's own note is ticked there: Cortex does not write in it. */
function action(one, app) {
  const isDone = one.status === "done";
  const isTask = one.type === "task";
  const label = `Done: ${one.title}`;
  const box = h("input", { type: "checkbox", checked: isDone, disabled: isTask || one.ticked, "aria-label": label });
  const due = one.due && (one.overdue ? tag(["overdue ", time(one.due)], "bad") : ["due ", time(one.due)]);
  const own = (isTask && `a task in ${one.path}, to be ticked there`) || (one.ticked && "ticked in a note");
  const made = row({
    href: noteAddress(isTask ? one.path : one.id), title: one.title, mark: box, data: { id: one.id },
    meta: [due, one.owner, one.project && tag(one.project), isDone && time(one.date), own].filter(Boolean),
  });
  made.classList.toggle("done", isDone);
  box.addEventListener("change", async () => {
    ticked.add(one.id);
    const [name, given] = box.checked ? ["done", { id: one.id }] : ["revise", { id: one.id, status: "open" }];
    const answer = await app.change(name, given, `${box.checked ? "Done" : "Open again"}: ${one.title}`);
    if (!answer) box.checked = !box.checked;
    made.classList.toggle("done", box.checked);
  });
  return made;
}

function nothing({ show: shown, owner }) {
  if (shown === "overdue") return empty("Nothing is overdue.", "What is open has time, or no day.");
  if (shown === "done") return empty("Nothing is done yet.", "A tick in the list of what is open shows here.");
  return empty(owner ? `${owner} has nothing to do.` : "Nothing is to be done.",
    "A task in the minutes of a meeting becomes an action, and so does: cortex new action TITLE");
}

/** The address for calendar programs, and what it gives away. */
function subscription(address) {
  return h("section", { class: "panel subscription" }, h("h2", {}, "In your calendar"),
    h("p", {}, "Subscribe to this address: each open action that has a day is an event of that day."),
    h("p", { class: "command" }, h("code", {}, address), copyButton(address)),
    h("p", { class: "quiet" }, "Whoever has this address can read the titles, owners, days and paths of open actions, ",
      "and nothing else; it changes nothing. It works on this computer, while the server runs."));
}
