// Find notes as one types; without words the newest. The address holds what was asked.

import { get, verb } from "../api.js";
import {
  button, count, empty, field, fill, h, marked, noteAddress, problemList, row, tag, time, viewOf,
  wordsOf,
} from "../dom.js";

const FIRST = 20, MOST = 1000; // hits; each time that more are asked for, three times as many
const DEBOUNCE_MS = 80;
const FILTERS = ["type", "project", "status", "after", "before"]; // as the verb calls them
const ANY = "any"; // status
const STATUSES = ["active", "open", "done", "superseded", "archived", "withdrawn", ANY];
const UNTOLD = ["", "active", "open", "done", "normalized"]; // a status that needs no word

export const title = "Search";

export function twin({ query, number = FIRST }) {
  const given = { query: query.get("q")?.trim(), number };
  for (const name of FILTERS) given[name] = query.get(name);
  return verb("search", given.status === ANY ? { ...given, status: "", all: true } : given);
}

export async function show(main, { query }, app) {
  const told = h("span", { class: "count", role: "status" });
  const filters = h("form", { class: "bar", "aria-label": "Filters" });
  const list = h("div", {});
  let pending = new AbortController(), timer = 0, last = 0, number = FIRST;

  /** Asks and shows the answer; what was asked before is given up. */
  async function refresh() {
    pending.abort();
    pending = new AbortController();
    last = performance.now();
    const signal = AbortSignal.any([pending.signal, app.signal]);
    try {
      const answer = await get(twin({ query, number }), {}, { signal, preview: true });
      const { href } = list.contains(document.activeElement) ? document.activeElement : {};
      const isMore = answer.total > number && number < MOST;
      fill(list, page(answer, query), isMore && button("Show more", more));
      const links = [...list.querySelectorAll("a")];
      if (href) (links.find((one) => one.href === href) ?? links[0])?.focus();
      const some = answer.total > answer.hits.length && `${answer.hits.length} of `;
      fill(told, some, count(answer.total, "note"));
    } catch (error) {
      if (error.name === "AbortError") return;
      if (error.status === 401) throw error; // at the first time the shell says how to get in
      fill(told);
      fill(list, empty(error.message, error.hint));
    }
  }

  /** Has the address say what is asked, and asks: at once, but later where keys come fast. */
  function ask(name, value) {
    value ? query.set(name, value) : query.delete(name);
    app.setAddress(viewOf("search", "", Object.fromEntries(query)));
    app.setTwin(twin({ query }));
    number = FIRST;
    clearTimeout(timer);
    if (performance.now() - last > DEBOUNCE_MS) return refresh();
    timer = setTimeout(refresh, DEBOUNCE_MS);
  }

  async function more() {
    const at = number;
    number = Math.min(MOST, 3 * number);
    await refresh();
    list.querySelectorAll("[data-row]")[at]?.focus();
  }

  if (document.activeElement !== app.find) app.find.value = query.get("q") ?? "";
  app.onTyped((words) => ask("q", words));
  app.onChange(() => list.contains(document.activeElement) || refresh());
  fill(main, filters, list);
  fill(filters, filterFields({}, query, ask), told);
  await refresh();
  const status = await get(verb("status"), {}, { signal: app.signal });
  fill(filters, filterFields(status, query, ask), told);
}

/** The filters, with the types and projects that there are. */
function filterFields({ types = {}, projects = {} }, query, ask) {
  const shared = (name) => ({
    name, value: query.get(name) ?? "", onchange: (event) => ask(name, event.target.value),
  });
  const select = (label, name, names, none = "any") => {
    const known = new Set([...names, query.get(name)].filter((one) => one && !one.startsWith("(")));
    return field(label, { ...shared(name), kind: "select", options: [["", none], ...known] });
  };
  return [
    select("Type", "type", Object.keys(types)), select("Project", "project", Object.keys(projects)),
    select("Status", "status", STATUSES, "current"),
    field("Changed since", { ...shared("after"), kind: "date" }),
    field("Changed before", { ...shared("before"), kind: "date" }),
  ];
}

function page(answer, query) {
  const fixed = Object.entries(answer.corrected).map(([from, to]) => `${to} instead of ${from}`);
  const aside = answer.set_aside > 0
    && `${count(answer.set_aside, "note")} set aside: the status “${ANY}” shows them too.`;
  return [
    fixed.length > 0 && h("p", { class: "quiet" }, `Shown for ${fixed.join(", ")}`),
    answer.hits.length > 0 && h("ol", { class: "rows" }, hitRows(answer, query)),
    !answer.hits.length && nothing(answer, query),
    aside && h("p", { class: "quiet" }, aside), problemList(answer.problems),
  ];
}

function hitRows(answer, query) {
  const words = wordsOf(query.get("q") ?? "");
  return answer.hits.map((one) => row({
    href: one.type === "session" ? viewOf("session", one.id) : noteAddress(one.id),
    title: marked(one.title, words), snippet: marked(one.snippet, words),
    meta: [
      one.type && tag(one.type), !UNTOLD.includes(one.status) && tag(one.status), one.project,
      one.owner && `@${one.owner}`, one.due && ["due ", time(one.due)], time(one.date),
      one.others.filter((other) => other.title !== one.title).slice(0, 2).map((other) =>
        h("a", { href: noteAddress(other.id) }, `${other.type || "note"}: ${other.title}`)),
    ],
  }));
}

const nothing = (answer, query) => (query.size
  ? empty("Nothing was found.", answer.hint || "Fewer words find more, and so do fewer filters.")
  : empty("The memory is empty.", "cortex capture keeps a first note; cortex hooks install has"
    + " sessions of agents kept."));
