// What a note is connected to: a picture that is laid out in a worker, and the same as a table.

import { verb } from "../api.js";
import { button, control, count, empty, fill, h, problemList, tag, viewOf } from "../dom.js";
import { Picture, typeClass } from "./graph-picture.js";
import { lines, load, noteLink, quiet } from "./parts.js";

const MAX_NODES = 300;
const MAX_TOLD = 40; // connections beside the picture
const ROWS_A_FRAME = 40; // of the table, so that no frame is late
const COMPUTED = new Set(["similar", "shares_entity", "same_session"]);

export const title = "Graph";

const depthOf = (query) => Math.min(3, Math.max(1, Number(query.get("depth")) || 1));

export function twin({ id, query }) {
  return verb("graph", { note: id, depth: depthOf(query), number: MAX_NODES });
}

export async function show(main, params, app) {
  const none = empty("No note is in the middle.", "The page of a note leads to its graph.");
  if (!params.id) return void fill(main, none);
  const view = new View(params, app, await load(twin(params), app));
  fill(main, view.element);
  return view.change();
}

/** A graph's notes and edges, each note with its edges. */
function graphOf({ hits, edges }) {
  const nodes = hits.map((one) =>
    ({ ...one, title: one.title || one.id, type: one.type || "note", edges: [] }));
  const byId = new Map(nodes.map((one) => [one.id, one]));
  const own = edges.map((one) => ({ ...one, source: byId.get(one.from), target: byId.get(one.to) }))
    .filter((one) => one.source && one.target);
  for (const one of own) for (const end of new Set([one.source, one.target])) end.edges.push(one);
  return { nodes, edges: own };
}

/** What is left without some types and kinds, and without what hung on these alone. */
function visible({ nodes, edges }, hidden) {
  const isShown = (node) => node.depth === 0 || !hidden.has(`type:${node.type}`);
  const reached = new Set(nodes.slice(0, 1));
  for (const one of reached) { // which grows meanwhile
    for (const edge of one.edges) {
      const other = otherEnd(edge, one);
      if (!hidden.has(edge.kind) && isShown(other)) reached.add(other);
    }
  }
  const isLeft = ({ kind, source, target }) =>
    !hidden.has(kind) && reached.has(source) && reached.has(target);
  return { nodes: nodes.filter((one) => reached.has(one)), edges: edges.filter(isLeft) };
}

const otherEnd = (edge, node) => (edge.source === node ? edge.target : edge.source);
const said = (kind) => kind.replaceAll("_", " ");

/** An edge as it is said from one of its ends. */
function edgeWords(edge, node) {
  const [kind, link] = [said(edge.kind), noteLink(otherEnd(edge, node))];
  if (COMPUTED.has(edge.kind)) return [`${kind}: `, link, edge.why && quiet(` (${edge.why})`)];
  return edge.source === node ? [`${kind} `, link] : [link, ` ${kind} it`];
}

class View {
  constructor(params, app, answer) {
    Object.assign(this, { params, app, answer, graph: graphOf(answer) });
    this.hidden = new Set((params.query.get("hide") ?? "").split(",").filter(Boolean));
    this.isTable = params.query.get("as") === "table";
    this.picture = new Picture(app, (node) => this.tell(node));
    const label = { role: "region", "aria-label": "Connections" };
    this.table = h("div", { class: "table", tabindex: "0", ...label });
    this.about = h("aside", { class: "panel about", "aria-label": "The chosen note" });
    [this.filters, this.counts] = [h("div", { class: "filters" }), h("p", { class: "quiet" })];
    this.find = h("input", { type: "search", placeholder: "Find in the graph",
      "aria-label": "Find in the graph", oninput: () => this.search(),
      onkeydown: ({ key }) => key === "Enter" && this.picture.focusMatch() });
    app.setTitle(`Graph of ${this.graph.nodes[0].title}`);
    const options = [["1", "one step"], ["2", "two steps"], ["3", "three steps"]];
    const steps = control({ name: "depth", kind: "select", options, "aria-label": "How far",
      value: String(depthOf(params.query)), onchange: ({ target }) => this.go(target.value) });
    const table = button("Table", ({ currentTarget }) => {
      this.isTable = !this.isTable;
      currentTarget.ariaPressed = String(this.isTable);
      this.change();
    }, { "aria-pressed": String(this.isTable) });
    this.element = h("div", {}, h("div", { class: "bar" }, steps, this.find, table),
      this.filters, this.counts,
      h("div", { class: "panes" }, this.picture.element, this.table, this.about),
      problemList(answer.problems));
  }

  /** Goes so many steps; filters and places stay. */
  async go(steps) {
    this.params.query.set("depth", steps);
    try {
      this.answer = await load(twin(this.params), this.app);
    } catch (error) {
      return error.name !== "AbortError" && this.app.status(error.message);
    }
    this.graph = graphOf(this.answer);
    return this.change();
  }

  /** Shows what the filters leave, and keeps them in the address. */
  change() {
    const { query, id } = this.params;
    const hide = [...this.hidden].join();
    const kept = { depth: query.get("depth"), as: this.isTable && "table", hide };
    history.replaceState(history.state, "", viewOf("graph", id, kept));
    this.app.setTwin(twin(this.params));
    const shown = (this.shown = visible(this.graph, this.hidden));
    this.#fillFilters();
    const { cut, total } = this.answer;
    const more = cut ? `; of ${total.toLocaleString("en")} or more these are the nearest` : "";
    const isAlone = this.graph.nodes.length === 1;
    const [notes, connections] = [shown.nodes.length, shown.edges.length];
    fill(this.counts, `${count(notes, "note")}, ${count(connections, "connection")}${more}. `,
      isAlone ? "Nothing is connected to it yet: a link in a text, or cortex relate, does that."
        : "Arrows go from note to note, Enter opens, g shows the graph of that one.");
    this.table.hidden = !this.isTable;
    this.about.hidden = this.isTable;
    this.picture.element.toggleAttribute("hidden", this.isTable);
    if (this.isTable) fillTable(this.table, shown, () => this.search());
    else this.picture.draw(shown);
    this.search();
  }

  #fillFilters() {
    const boxes = (label, names, prefix, mark) => {
      const counts = new Map();
      for (const one of names.sort()) counts.set(one, (counts.get(one) ?? 0) + 1);
      const inputs = [...counts].map(([name, many]) => {
        const key = prefix + name;
        const onchange = () => (this.hidden.delete(key) || this.hidden.add(key), this.change());
        const checked = !this.hidden.has(key);
        const box = h("input", { type: "checkbox", data: { key }, checked, onchange });
        return h("label", {}, box, h("i", { class: mark(name) }), said(name), quiet(` ${many}`));
      });
      return counts.size > 0 && h("fieldset", { class: "choices" }, h("legend", {}, label), inputs);
    };
    const at = document.activeElement?.dataset?.key;
    const { nodes, edges } = this.graph;
    const dash = (kind) => (COMPUTED.has(kind) ? "dash dotted" : "dash");
    fill(this.filters,
      boxes("Types", nodes.map((one) => one.type), "type:", (type) => `dot ${typeClass(type)}`),
      boxes("Connections", edges.map((one) => one.kind), "", dash));
    if (at) this.filters.querySelector(`[data-key="${CSS.escape(at)}"]`)?.focus();
  }

  /** Shows what holds the words of the field. */
  search() {
    const words = this.find.value.trim().toLowerCase();
    const found = this.shown.nodes.filter((one) => one.title.toLowerCase().includes(words));
    this.picture.mark(words ? found : null);
    for (const one of this.table.querySelectorAll("tbody tr")) {
      one.hidden = !one.dataset.name.includes(words);
    }
    if (words) this.app.status(`${count(found.length, "note")} found in the graph`);
  }

  /** Tells about a note beside the picture. */
  tell(node) {
    const told = node.edges.slice(0, MAX_TOLD).map((one) => edgeWords(one, node));
    const rest = node.edges.length - told.length;
    const far = node.depth ? `${count(node.depth, "step")} away` : "in the middle";
    const own = node.depth > 0 && h("a", { href: viewOf("graph", node.id) }, "Its graph");
    fill(this.about, h("h2", {}, noteLink(node)),
      h("p", { class: "meta" }, tag(node.type), h("span", {}, `${node.status} ${far}`), own),
      told.length > 0 && lines(told), rest > 0 && quiet(`${rest} more stand in the table.`));
  }
}

/** The same as a table; each connection stands once, with the note that is farther away. */
async function fillTable(holder, { nodes, edges }, onRows) {
  const order = new Map(nodes.map((one, at) => [one, at]));
  const shown = new Set(edges);
  const body = h("tbody");
  const head = ["Note", "Type", "Steps", "Connections"];
  fill(holder, h("table", {},
    h("thead", {}, h("tr", {}, head.map((one) => h("th", { scope: "col" }, one)))), body));
  for (let at = 0; at < nodes.length && holder.contains(body); at += ROWS_A_FRAME) {
    body.append(...nodes.slice(at, at + ROWS_A_FRAME).map((node) => {
      const isNearer = (one) => order.get(otherEnd(one, node)) < order.get(node);
      const nearer = node.edges.filter((one) => shown.has(one) && isNearer(one));
      const link = noteLink(node);
      link.dataset.row = "";
      return h("tr", { data: { name: node.title.toLowerCase() } }, h("td", {}, link),
        h("td", {}, tag(node.type)), h("td", { class: "number" }, node.depth),
        h("td", {}, lines(nearer.map((one) => edgeWords(one, node)))));
    }));
    onRows();
    await new Promise(requestAnimationFrame);
  }
}
