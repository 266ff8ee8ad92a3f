// The picture of a graph: links of notes in an SVG, which arrows lead through. A worker says where
// they lie.

import { noteAddress, viewOf } from "../dom.js";

// Types that have a colour.
const TYPES = ["decision", "gotcha", "pattern", "preference", "session", "meeting", "action"];
const MAX_LABELS = 24; // more would lie over each other
const MAX_LABEL = 34; // signs
const PADDING = 34; // pixels around
const MAX_SCALE = 2.6; // pixels for a unit of the worker
const STEPS = {
  ArrowRight: 1, ArrowDown: 1, j: 1, ArrowLeft: -1, ArrowUp: -1, k: -1, Home: -1e9, End: 1e9,
};
const DWELL = 150; // milliseconds after which a pointer that rests on a note means it

export const typeClass = (type) => `type-${TYPES.includes(type) ? type : "other"}`;

function svg(tag, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** Where a note lies at first: by its id, so that the same graph always looks the same. */
function seed({ id, depth }) {
  let sum = 2166136261;
  for (const sign of id) sum = Math.imul(sum ^ sign.codePointAt(0), 16777619);
  const angle = (2 * Math.PI * (sum >>> 0)) / 2 ** 32;
  return { x: 90 * depth * Math.cos(angle), y: 90 * depth * Math.sin(angle) };
}

const shorten = (text) => (text.length > MAX_LABEL ? `${text.slice(0, MAX_LABEL - 1)}…` : text);

export class Picture {
  /** `tell` is called with the note that is chosen. */
  constructor(app, tell) {
    Object.assign(this, { app, tell, nodes: [], edges: [], matches: [] });
    [this.drawn, this.places] = [new Map(), new Map()]; // by the ids of notes
    const path = (name) => svg("path", { class: name });
    [this.stated, this.computed, this.near] = ["stated", "computed", "near"].map(path);
    this.group = svg("g");
    const label = "Graph; the table says the same";
    this.element = svg("svg", { class: "picture", role: "group", "aria-label": label },
      this.computed, this.stated, this.near, this.group);
    const on = (name, act) =>
      this.element.addEventListener(name, (event) => act(event, this.#nodeOf(event)));
    on("keydown", (event, node) => this.#key(event, node));
    on("click", (event, node) => this.#click(event, node));
    on("focusin", (_, node) => this.choose(node));
    on("pointerover", (_, node) => this.#hover(node));
    this.worker = new Worker("/page/views/graph-worker.js", { type: "module" });
    this.worker.addEventListener("message", ({ data }) => this.#take(data));
    this.asked = 0;
    this.sizes = new ResizeObserver(() => this.spots && this.#place());
    this.sizes.observe(this.element);
    app.signal.addEventListener("abort", () => (this.worker.terminate(), this.sizes.disconnect()));
  }

  /** Draws these notes and edges; what was there before begins where it was. */
  draw({ nodes, edges }) {
    Object.assign(this, { nodes, edges });
    for (const one of nodes) if (!this.places.has(one.id)) this.places.set(one.id, seed(one));
    this.drawn = new Map(nodes.map((one) => [one.id, this.#draw(one)]));
    const byEdges = nodes.toSorted((one, other) => other.edges.length - one.edges.length);
    for (const one of byEdges.slice(0, MAX_LABELS)) this.drawn.get(one.id).classList.add("named");
    this.group.replaceChildren(...[...this.drawn.values()].reverse()); // the nearest lie on top
    if (this.spots) this.#place();
    this.choose(nodes.find((one) => one.id === this.chosen?.id) ?? nodes[0]);
    const at = new Map(nodes.map((one, number) => [one, number]));
    const links = edges.map((one) => [at.get(one.source), at.get(one.target), one.strength]);
    const own = nodes.map((one) => ({ ...this.places.get(one.id), pinned: one.depth === 0 }));
    this.worker.postMessage({ asked: (this.asked += 1), nodes: own, edges: links });
  }

  #draw(node) {
    const radius = Math.min(13, 4 + Math.sqrt(node.edges.length) + (node.depth ? 0 : 3));
    const name = `${node.title}, ${node.type}, ${node.edges.length} connections`;
    const href = noteAddress(node.id);
    const kind = `node ${typeClass(node.type)}`;
    return svg("a", { href, class: kind, tabindex: -1, "data-id": node.id, "aria-label": name },
      svg("circle", { r: radius }), svg("text", { y: radius + 12 }, shorten(node.title)));
  }

  #take({ asked, places }) {
    if (asked !== this.asked) return; // another question is asked meanwhile
    this.nodes.forEach((one, at) => this.places.set(one.id, places[at]));
    this.element.dataset.settled = asked;
    this.#place();
  }

  /** Puts everything in its place: the units of the worker are scaled to the room that there is. */
  #place() {
    const { clientWidth: width, clientHeight: height } = this.element;
    if (!width || !this.nodes.length) return;
    const all = this.nodes.map((one) => this.places.get(one.id));
    const ends = (numbers) => [Math.min(...numbers), Math.max(...numbers)];
    const [left, right] = ends(all.map((one) => one.x));
    const [top, bottom] = ends(all.map((one) => one.y));
    const across = (width - 2 * PADDING) / (right - left || 1);
    const scale = Math.min(MAX_SCALE, across, (height - 2 * PADDING) / (bottom - top || 1));
    const spot = ({ x, y }) => [width / 2 + scale * (x - (left + right) / 2),
      height / 2 + scale * (y - (top + bottom) / 2)].map((one) => Math.round(10 * one) / 10);
    this.spots = new Map(this.nodes.map((one, at) => [one, spot(all[at])]));
    for (const [node, [x, y]] of this.spots) {
      const made = this.drawn.get(node.id);
      made.setAttribute("transform", `translate(${x},${y})`);
      // The name of a node at the edge stays within the picture.
      const side = x < 0.2 * width ? "start" : x > 0.8 * width ? "end" : "middle";
      made.lastChild.setAttribute("text-anchor", side);
    }
    const isStated = (one) => one.strength === 1 && !one.why;
    this.stated.setAttribute("d", this.#path(this.edges.filter(isStated)));
    this.computed.setAttribute("d", this.#path(this.edges.filter((one) => !isStated(one))));
    this.#showNear();
  }

  #path(edges) {
    const line = ({ source, target }) => `M${this.spots.get(source)}L${this.spots.get(target)}`;
    return edges.map(line).join("");
  }

  /** Makes a note the one that Tab reaches, and shows what it is connected to. */
  choose(node) {
    if (!node) return;
    if (this.chosen) this.drawn.get(this.chosen.id)?.setAttribute("tabindex", -1);
    this.chosen = node;
    this.drawn.get(node.id)?.setAttribute("tabindex", 0);
    this.#showNear();
    this.tell(node);
  }

  #showNear() {
    if (!this.chosen || !this.spots) return;
    const shown = new Set(this.edges);
    const own = this.chosen.edges.filter((one) => shown.has(one));
    this.near.setAttribute("d", this.chosen.depth ? this.#path(own) : ""); // the middle has most
    const near = new Set([this.chosen, ...own.flatMap((one) => [one.source, one.target])]);
    for (const one of this.nodes) {
      this.drawn.get(one.id).classList.toggle("beside", near.size <= MAX_LABELS && near.has(one));
      this.drawn.get(one.id).classList.toggle("chosen", one === this.chosen);
    }
  }

  /** Marks the notes that were found; null if nothing is looked for. */
  mark(found) {
    this.matches = found ?? [];
    for (const one of this.nodes) {
      this.drawn.get(one.id).classList.toggle("match", this.matches.includes(one));
    }
    this.element.classList.toggle("searched", found !== null);
  }

  /** Focuses the next note that was found. */
  focusMatch() {
    const next = this.matches[(this.matches.indexOf(this.chosen) + 1) % this.matches.length];
    if (next) this.#focus(next);
  }

  #focus(node) {
    this.choose(node);
    this.drawn.get(node.id).focus();
  }

  #nodeOf(event) {
    const id = event.target.closest?.("a.node")?.dataset.id;
    return this.nodes.find((one) => one.id === id);
  }

  #hover(node) {
    clearTimeout(this.dwell);
    if (node && node !== this.chosen) this.dwell = setTimeout(() => this.choose(node), DWELL);
  }

  #click(event, node) {
    if (!node || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    this.app.navigate(noteAddress(node.id));
  }

  #key(event, node) {
    const by = STEPS[event.key];
    if (!node || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "g") this.app.navigate(viewOf("graph", node.id));
    else if (event.key === "Enter") this.app.navigate(noteAddress(node.id));
    else if (by) {
      const next = Math.max(0, Math.min(this.nodes.length - 1, this.nodes.indexOf(node) + by));
      this.#focus(this.nodes[next]);
    } else return;
    event.preventDefault();
  }
}
