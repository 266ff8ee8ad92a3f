// A session turn by turn, as its transcript on this machine has it: tools folded, words found at
// once, the sessions before and behind it. Without a name the sessions themselves.

import { get, verb } from "../api.js";
import {
  button, clock, command, count, empty, facts, fill, h, noteAddress, problemList, row, tag, time,
  viewOf,
} from "../dom.js";

const LIST = "/api/sessions?limit=100";
const PAGE = 100; // turns of a request
const CHUNK = 10; // turns that are drawn at once: a few ms
const SPEAKERS = {
  user: "You", assistant: "Agent", agent: "Asked by the agent", host: "Summary of the host",
  capture: "Captured",
};
const UNREAD = {
  gone: "The transcript is no longer on this machine: these are the turns that were captured.",
  none: "No transcript of it was read on this machine: these are the turns that were captured.",
};

export const title = "Sessions";

const pageOf = (id, from = 1) => verb("transcript", { session: id, from_: from, number: PAGE });

export const twin = ({ id }) => (id ? pageOf(id) : LIST);

export const show = (main, { id }, app) => (id ? showSession(main, id, app) : showList(main, app));

async function showList(main, app) {
  const told = await get(LIST, {}, { signal: app.signal });
  const rows = told.hits.map((one) => row({
    href: viewOf("session", one.name || one.id), title: one.title, snippet: one.snippet,
    meta: [
      tag(one.state || one.status, one.state === "live" ? "good" : ""), one.project, one.branch,
      time(one.last || one.date), count(one.events, "capture"), count(one.records, "record"),
    ],
  }));
  fill(main, h("ol", { class: "rows" }, rows), problemList(told.problems));
  if (!rows.length) fill(main, empty("No session was kept yet.",
    "cortex hooks install has agents tell what they do; cortex import reads what is there."));
}

async function showSession(main, id, app) {
  const wanted = Number(/^#turn-(\d+)$/.exec(location.hash)?.[1] ?? 1);
  const start = Math.floor((wanted - 1) / PAGE) * PAGE + 1;
  const read = (from) => get(pageOf(id, from), {}, { signal: app.signal });
  const first = await read(start);
  const texts = new Map(); // number of a turn -> all of its text in lower case
  const list = h("ol", { class: "turns" });
  const bar = findBar(texts, first.total, list);
  app.setTitle(first.title || first.session);
  fill(main, properties(first), problemList(first.problems), bar, list, neighbours(first));
  const goTo = (one) => one && app.navigate(viewOf("session", one.id));
  app.keys({ f: () => bar.firstChild.focus() });
  if (!app.isListed) app.keys({ "[": () => goTo(first.earlier), "]": () => goTo(first.later) });
  if (!first.total) fill(list, h("li", {}, empty("Nothing of this session is kept.")));

  /** Draws the turns of a page, some at a time, behind those that are there, or before them. */
  async function draw(page) {
    const next = page[0]?.number < start ? list.firstChild : null;
    for (let at = 0; at < page.length && !app.signal.aborted; at += CHUNK) {
      for (const one of page.slice(at, at + CHUNK)) {
        texts.set(one.number, textOf(one));
        list.insertBefore(turnItem(one), next);
      }
      await new Promise((resolve) => setTimeout(resolve)); // the browser has its turn
    }
  }

  /** Reads the other pages, those behind first; what is on the screen stays where it is. */
  async function readRest() {
    const froms = Array.from({ length: Math.ceil(first.total / PAGE) }, (_, at) => at * PAGE + 1);
    const before = froms.filter((one) => one < start).reverse();
    for (const from of [...froms.filter((one) => one > start), ...before]) {
      await draw((await read(from)).turns);
    }
    main.dataset.whole = true;
  }

  await draw(first.turns);
  const item = location.hash && itemOf(wanted);
  if (item) {
    item.classList.add("wanted");
    item.focus({ preventScroll: true });
    scrollTo(item, "start");
  }
  readRest().catch(app.refused); // the view is there already
}

const itemOf = (number) => document.getElementById(`turn-${number}`);

/** Scrolls to a turn, and again while those above it, drawn on the way, take their heights. */
function scrollTo(item, block, times = 5) {
  item.scrollIntoView({ block });
  if (times) requestAnimationFrame(() => scrollTo(item, block, times - 1));
}

function properties(told) {
  const [whole, part] = told.session.split("/");
  const link = (name, text) => h("a", { href: viewOf("session", name) }, text);
  const agents = told.subagents.map((one) => link(one, one.split("/")[1]));
  return [facts([
    ["Project", told.project], ["Host", told.host], ["Began", clock(told.started)],
    ["Ended", clock(told.ended)], ["Turns", told.total.toLocaleString("en")],
    ["Part of", part && link(whole, "the session that started it")],
    ["Subagents", agents.length > 0 && h("span", { class: "meta" }, agents)],
    ["Go on with it", told.resume && command(told.resume)],
    ["Its note", h("a", { href: noteAddress(told.id) }, "what was kept of it")],
  ]), UNREAD[told.transcript] && h("p", { class: "note" }, UNREAD[told.transcript])];
}

const neighbours = (told) => h("nav", { class: "meta panel", "aria-label": "Neighbours" },
  [["Before", told.earlier], ["Next", told.later]].map(([word, one]) =>
    one && h("a", { href: viewOf("session", one.id) }, `${word}: ${one.title}`)));

function turnItem(turn) {
  const id = `turn-${turn.number}`;
  const link = h("a", { href: `#${id}`, "aria-label": `Link to ${id}` }, `#${turn.number}`);
  const given = { class: `turn ${turn.who}`, id, tabindex: -1, data: { number: turn.number } };
  return h("li", given,
    h("p", { class: "who" }, h("b", {}, SPEAKERS[turn.who]), " ", clock(turn.at), " ", link),
    turn.about && h("blockquote", {}, turn.about), blocks(turn.text),
    turn.cut && h("p", { class: "quiet" }, "… cut: the transcript has more"),
    turn.tools.map(toolFold));
}

/** A text with its fenced blocks as such; all of it text. */
const blocks = (text) => text.split(/^```[^\n]*\n?/m).map((part, at) =>
  part.trim() && h(at % 2 ? "pre" : "div", { class: at % 2 ? "text" : "said" }, part.trimEnd()));

/** A tool's call, folded; what it was given and answered is drawn when it is opened. */
function toolFold(tool) {
  const line = h("summary", {}, h("b", {}, tool.name), ` ${tool.summary} `,
    tool.failed && tag("failed", "bad"));
  const fold = h("details", { class: "tool" }, line);
  const block = (text, isCut) =>
    text && h("pre", { class: "text", tabindex: 0 }, text, isCut && "\n… cut");
  const unfold = () =>
    fill(fold, line, block(tool.input, tool.input_cut), block(tool.output, tool.output_cut));
  fold.addEventListener("toggle", unfold, { once: true });
  return Object.assign(fold, { textOfTool: `${tool.input}\n${tool.output}`.toLowerCase() });
}

const textOf = ({ about, text, tools }) => [about, text, ...tools.flatMap((one) =>
  [one.name, one.summary, one.input, one.output])].join("\n").toLowerCase();

/** The field that finds words within the session, in all that is read of it. */
function findBar(texts, total, list) {
  const told = h("span", { class: "quiet", role: "status" });
  let matches = [], at = -1;

  const words = () => field.value.toLowerCase().trim();
  const look = () => {
    const asked = words();
    const found = [...texts].filter(([, text]) => asked && text.includes(asked));
    matches = found.map(([number]) => number).sort((a, b) => a - b);
    at = -1;
    const read = texts.size < total && `, ${texts.size} of ${total} turns read`;
    fill(told, asked && `${count(matches.length, "turn")} with it`, asked && read);
    highlight(list, asked);
  };
  const go = (by) => {
    at = at < 0 && by < 0 ? matches.length - 1 : (at + by + matches.length) % matches.length;
    const item = itemOf(matches[at]);
    if (!item) return;
    for (const one of item.querySelectorAll("details")) {
      one.open ||= one.textOfTool.includes(words());
    }
    scrollTo(item, "center");
    fill(told, `${at + 1} of ${count(matches.length, "turn")}`);
    setTimeout(() => highlight(list, words())); // when what was folded is drawn
  };
  const field = h("input", {
    type: "search", name: "within", placeholder: "Find within", oninput: look,
    "aria-label": "Find within this session", "aria-keyshortcuts": "f",
    onkeydown: (event) => event.key === "Enter" && go(event.shiftKey ? -1 : 1),
  });
  return h("div", { class: "bar within" }, field, button("Next", () => go(1)),
    button("Previous", () => go(-1)), told);
}

/** Marks the words in what is on the screen, without touching what is drawn. */
function highlight(list, words) {
  if (!globalThis.CSS?.highlights) return; // an old browser finds them without a mark
  const ranges = [];
  const isSeen = (one) => one.getBoundingClientRect().bottom > 0
    && one.getBoundingClientRect().top < innerHeight;
  for (const item of words ? [...list.children].filter(isSeen) : []) {
    const walker = document.createTreeWalker(item, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const node = walker.currentNode;
      const text = node.data.toLowerCase();
      for (let from = text.indexOf(words); from >= 0; from = text.indexOf(words, from + 1)) {
        const ends = { startOffset: from, endOffset: Math.min(node.length, from + words.length) };
        ranges.push(new StaticRange({ startContainer: node, endContainer: node, ...ends }));
      }
    }
  }
  CSS.highlights.set("found", new Highlight(...ranges));
}
