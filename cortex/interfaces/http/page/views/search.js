// Find notes as one types; without words the newest. The address holds what was asked.

import { get, verb } from "../api.js";
import {
  button, count, empty, field, fill, h, marked, noteAddress, problemList, row, tag, time, viewOf,
  wordsOf,
} from "../dom.js";

const FIRST = 20, MORE = 40; // hits
const DEBOUNCE_MS = 80;
const FILTERS = ["type", "project", "status", "after", "before"]; // as the verb calls them
const ANY = "any"; // status
const STATUSES = ["active", "open", "done", "superseded", "archived", "withdrawn", ANY];
const UNTOLD = ["", "active", "open", "normalized"]; // of a status that goes without saying

export const title = "Search";

export const twin = ({ query }) => verb("search", parameters(query));

function parameters(query) {
  const given = { query: query.get("q")?.trim(), number: FIRST };
  for (const name of FILTERS) given[name] = query.get(name);
  return given.status === ANY ? { ...given, status: "", all: true } : given;
}

export async function show(main, { query }, app) {
  const told = h("span", { class: "count", role: "status" });
  const filters = h("form", { class: "bar", "aria-label": "Filters" });
  const list = h("div", {});
  let pending = new AbortController(), timer = 0, last = 0;

  /** Asks and shows the answer; what was asked before is given up. */
  async function refresh() {
    pending.abort();
    pending = new AbortController();
    last = performance.now();
    const signal = AbortSignal.any([pending.signal, app.signal]);
    try {
      const answer = await get(twin({ query }), {}, { signal, preview: true });
      const here = list.contains(document.activeElement) && document.activeElement.href;
      fill(list, page(answer, query, more));
      const links = [...list.querySelectorAll("a")];
      if (here) (links.find((one) => one.href === here) ?? links[0])?.focus();
      tell(answer.hits.length, answer.total);
    } catch (error) {
      if (error.name === "AbortError") return;
      if (error.status === 401) throw error;
      fill(told);
      fill(list, empty(error.message, error.hint));
    }
  }

  /** Has the address say what is asked, and asks: at once, but later where keys come fast. */
  function ask(name, value) {
    value ? query.set(name, value) : query.delete(name);
    app.setAddress(viewOf("search", "", Object.fromEntries(query)));
    app.setTwin(twin({ query }));
    clearTimeout(timer);
    if (performance.now() - last > DEBOUNCE_MS) return refresh();
    timer = setTimeout(refresh, DEBOUNCE_MS);
  }

  /** Puts the next hits behind those that are shown. */
  async function more(cursor, rows, made) {
    const asked = { ...parameters(query), number: MORE, cursor };
    const answer = await get(verb("search", asked), {}, { signal: app.signal, preview: true });
    const added = hitRows(answer, query);
    rows.append(...added);
    added[0]?.querySelector("a").focus();
    made.replaceWith(moreButton(answer, rows, more));
    tell(rows.children.length, answer.total);
  }

  const tell = (shown, total) => fill(told, shown < total && `${shown} of `, count(total, "note"));

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

function page(answer, query, more) {
  const fixed = Object.entries(answer.corrected).map(([from, to]) => `${to} instead of ${from}`);
  const rows = h("ol", { class: "rows" }, hitRows(answer, query));
  const aside = answer.set_aside > 0
    && `${count(answer.set_aside, "note")} set aside: the status “${ANY}” shows them too.`;
  return [
    fixed.length > 0 && h("p", { class: "quiet" }, `Shown for ${fixed.join(", ")}`),
    answer.hits.length > 0 ? rows : nothing(answer, query),
    moreButton(answer, rows, more),
    aside && h("p", { class: "quiet" }, aside), problemList(answer.problems),
  ];
}

function moreButton(answer, rows, more) {
  if (!answer.next_cursor) return "";
  const made = button("Show more", () => more(answer.next_cursor, rows, made), { kind: "more" });
  return made;
}

function hitRows(answer, query) {
  const words = wordsOf(query.get("q") ?? "");
  return answer.hits.map((one) => row({
    href: one.type === "session" ? viewOf("session", one.id) : noteAddress(one.id),
    title: marked(one.title, words), snippet: marked(one.snippet, words),
    meta: [
      one.type && tag(one.type), !UNTOLD.includes(one.status) && tag(one.status), one.project,
      one.owner && `@${one.owner}`, one.due && ["due ", time(one.due)], time(one.date),
      ...one.others.slice(0, 2).map((other) =>
        h("a", { href: noteAddress(other.id) }, `${other.type || "note"}: ${other.title}`)),
    ],
  }));
}

const nothing = (answer, query) => (query.size
  ? empty("Nothing was found.", answer.hint || "Fewer words find more, and so do fewer filters.")
  : empty("The memory is empty.", "cortex capture keeps a first note; cortex hooks install has"
    + " sessions of agents kept."));
