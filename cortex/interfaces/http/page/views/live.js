// The changes of the vault as they come, the newest first. The shell hears them while any view is
// open, and asks for what it missed when the server comes back.

import { get, verb } from "../api.js";
import { changes } from "../app.js";
import { clock, count, empty, fill, h, noteAddress, row, tag, viewOf } from "../dom.js";

const MOST = 200; // rows
const KINDS = { added: "good", gone: "bad" };
const titles = new Map(); // of notes that were shown, by id

export const title = "Live";

export const twin = () => verb("changes");

export async function show(main, _params, app) {
  const told = h("p", { class: "quiet", role: "status" });
  const list = h("ol", { class: "rows" });
  const hint = h("div", {});
  fill(main, told, hint, list);

  function add(news) {
    list.prepend(...news.map((one) => changeRow(one, app.signal)).reverse());
    while (list.children.length > MOST) list.lastChild.remove();
    const number = count(changes.length, "change");
    fill(told, changes.length > 0 && `${number} since this page was opened`);
    fill(hint, !changes.length && empty("Nothing has changed since this page was opened.",
      "What sessions and people write shows here at once: try cortex capture in a terminal."));
  }

  add(changes);
  app.onChange((news) => (news ? add(news) : list.prepend(h("li", { class: "row" },
    "The index was made anew: what changed meanwhile is not known."))));
}

/** A row whose title comes a moment later: the stream knows ids alone. */
function changeRow(one, signal) {
  const made = row({
    href: one.type === "session" ? viewOf("session", one.id) : noteAddress(one.id),
    title: titles.get(one.id) ?? one.id, data: { id: one.id },
    meta: [tag(one.what, KINDS[one.what]), one.type && tag(one.type), one.path, clock(one.at)],
  });
  if (one.what !== "gone") nameRow(made.querySelector("a"), one.id, signal);
  return made;
}

async function nameRow(link, id, signal) {
  try {
    const note = await get(verb("show", { note: id }), {}, { signal, preview: true });
    titles.set(id, note.title || id);
    link.textContent = titles.get(id);
  } catch (error) {
    if (error.name !== "AbortError" && error.status >= 500) throw error; // gone again meanwhile
  }
}
