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
  const turns = new Map(first.turns.map((one) => [one.number, one]));
  const list = h("ol", { class: "turns" });
  const above = h("p", {});
  app.setTitle(first.title || first.session);
  const bar = findBar(turns, first, list, draw);
  fill(main, properties(first), problemList(first.problems), bar, above, list, neighbours(first));
  const goTo = (one) => one && app.navigate(viewOf("session", one.id));
  app.keys({
    "[": () => goTo(first.earlier), "]": () => goTo(first.later), f: () => bar.firstChild.focus(),
  });
  if (!first.total) fill(list, h("li", {}, empty("Nothing of this session is kept.")));

  /** Draws these turns in their places, some at a time. */
  async function draw(numbers) {
    for (let at = 0; at < numbers.length && !app.signal.aborted; at += CHUNK) {
      const made = numbers.slice(at, at + CHUNK).filter((one) => !itemOf(one))
        .map((one) => turnItem(turns.get(one)));
      const last = Number(list.lastChild?.dataset.number ?? 0);
      const next = last > numbers[at]
        && [...list.children].find((one) => Number(one.dataset.number) > numbers[at]);
      next ? next.before(...made) : list.append(...made);
      await new Promise((resolve) => setTimeout(resolve)); // the browser has its turn
    }
  }

  /** Reads the other pages, so that words are found in all of it; draws what comes later. */
  async function readRest() {
    const starts = Array.from({ length: Math.ceil(first.total / PAGE) }, (_, at) => at * PAGE + 1);
    const later = starts.filter((one) => one > start);
    for (const from of [...later, ...starts.filter((one) => one < start)]) {
      const { turns: read_ } = await read(from);
      for (const one of read_) turns.set(one.number, one);
      if (from > start) await draw(read_.map((one) => one.number));
    }
    main.dataset.whole = true;
  }

  /** Draws the turns before those that are shown, which stay where they are on the screen. */
  async function drawEarlier() {
    fill(above);
    const here = list.firstChild;
    const { top } = here.getBoundingClientRect();
    await draw([...turns.keys()].filter((one) => one < start).sort((a, b) => a - b));
    window.scrollBy(0, here.getBoundingClientRect().top - top);
  }

  await draw([...turns.keys()]);
  if (location.hash) markTurn(itemOf(wanted));
  if (start > 1) fill(above, button(`Show the ${count(start - 1, "turn")} before`, drawEarlier));
  readRest().catch(app.refused); // the view is there already
}

const itemOf = (number) => document.getElementById(`turn-${number}`);

function markTurn(item) {
  item?.classList.add("wanted");
  item?.focus({ preventScroll: true });
  scrollTo(item, "start");
}

/** Scrolls to a turn: again while those above it, which are drawn on the way, take their heights. */
function scrollTo(item, block, times = 5) {
  item?.scrollIntoView({ block });
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
    ["Subagents", agents.length > 0 && h("span", { class: "list" }, agents)],
    ["Go on with it", told.resume && command(told.resume)],
    ["Its note", h("a", { href: noteAddress(told.id) }, "what was kept of it")],
  ]), UNREAD[told.transcript] && h("p", { class: "note" }, UNREAD[told.transcript])];
}

function neighbours(told) {
  const link = (one, word, key) => one && h("a", { href: viewOf("session", one.id) },
    h("kbd", { "aria-hidden": "true" }, key), ` ${word}: ${one.title}`);
  return h("nav", { class: "neighbours", "aria-label": "Neighbours" },
    link(told.earlier, "Before", "["), link(told.later, "Next", "]"));
}

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

// --- find ----------------------------------------------------------------------------------------

/** The field that finds words within the session, over what is drawn and what is not yet. */
function findBar(turns, first, list, draw) {
  const told = h("span", { class: "quiet", role: "status" });
  const texts = new Map(); // number -> all of a turn in lower case
  let matches = [], at = -1;

  const words = () => field.value.toLowerCase().trim();
  const textOf = (turn) => {
    if (!texts.has(turn.number)) {
      const tools = turn.tools.flatMap((one) => [one.name, one.summary, one.input, one.output]);
      texts.set(turn.number, [turn.about, turn.text, ...tools].join("\n").toLowerCase());
    }
    return texts.get(turn.number);
  };
  const look = () => {
    const asked = words();
    const found = [...turns.values()].filter((one) => asked && textOf(one).includes(asked));
    matches = found.map((one) => one.number).sort((a, b) => a - b);
    at = -1;
    const read = turns.size < first.total && `, ${turns.size} of ${first.total} turns read`;
    fill(told, asked && `${count(matches.length, "turn")} with it`, asked && read);
    highlight(list, asked);
  };
  const go = async (by) => {
    if (!matches.length) return;
    at = at < 0 && by < 0 ? matches.length - 1 : (at + by + matches.length) % matches.length;
    await draw([matches[at]]);
    const item = itemOf(matches[at]);
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
