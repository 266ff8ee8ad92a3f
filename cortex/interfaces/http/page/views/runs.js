// Runs of agents, the newest first; one of them with its log as it is written, and its result.

import { address } from "../api.js";
import {
  ask, button, clock, count, empty, encodeId, facts, field, fill, h, noteAddress, problemList,
  rendered, tag, time, viewOf,
} from "../dom.js";
import { isInUse, load, noteRow, quiet } from "./parts.js";

const LOOK_MS = 2000; // between two looks at a list in which something runs
const SIGNS = { running: "…", finished: "✓", failed: "✗", stopped: "✗", skipped: "–" };
const KINDS = { running: "accent", finished: "good", failed: "bad", stopped: "bad" };
const LAST = ["finish", "error"]; // kinds of the event that ends a run
const WORDS = { name: "prompt", kind: "area", rows: 5, maxlength: 900_000 };

export const title = "Runs";
const pathOf = (id, part = "") => `/api/runs/${encodeId(id)}${part}`;

export const twin = ({ id, query }) =>
  (id ? pathOf(id) : address("/api/runs", { status: query.get("status"), limit: 100 }));

export const show = (main, params, app) =>
  (params.id ? showRun(main, params.id, app) : showList(main, params, app));

async function showList(main, params, app) {
  const asked = [twin(params), "/api/server", "/api/agents", "/api/costs?since=7d"];
  const [told, server, { agents }, costs] = await Promise.all(asked.map((path) => load(path, app)));
  const trusted = agents.filter((one) => one.state === "trusted").map((one) => one.agent.name);
  const start = () => request(app, { action: "start" }, "Ask an agent", [
    { label: "Agent", name: "name", kind: "select", options: ["default", ...trusted] },
    { label: "What it is to do: an agent with a note needs no words", ...WORDS }]);
  const status = { name: "status", kind: "select", value: params.query.get("status") ?? "",
    options: [["", "all"], ...Object.keys(SIGNS)],
    onchange: ({ target }) => app.navigate(viewOf("runs", "", { status: target.value })) };
  fill(main, h("div", { class: "bar" }, field("Status", status),
    server.takes_runs && button("Ask an agent…", start, { kind: "primary" }),
    h("span", { class: "count" }, told.runs.length > 0 && `In 7 days ${money(costs.total.cost_usd)}`,
      costs.total.unknown > 0 && ` and ${count(costs.total.unknown, "run")} of unknown cost`)),
  told.runs.length ? h("ol", { class: "rows" }, told.runs.map(runRow))
    : empty("There is no such run.", "cortex run start default “…” asks an agent in a terminal."),
  problemList(told.problems));
  const look = () => isInUse(main) || app.reload();
  const isBusy = told.runs.some((one) => ["requested", "running"].includes(one.status));
  const timer = isBusy && setInterval(look, LOOK_MS);
  app.signal.addEventListener("abort", () => clearInterval(timer));
  app.onChange(look);
}

const money = (cost) => (cost === null ? "unknown" : `$${cost.toFixed(cost && cost < 1 ? 4 : 2)}`);
const length = (seconds) => seconds > 0 && `${seconds.toLocaleString("en")} s`;
const tokens = ({ tokens_in: given, tokens_out: made }) =>
  given + made > 0 && `${given.toLocaleString("en")} in, ${made.toLocaleString("en")} out`;
const state = ({ status }) => tag(`${SIGNS[status] ?? "·"} ${status}`, KINDS[status]);
const output = (one) => one.output && h("a", { href: noteAddress(one.output) }, one.output);

const runRow = (one) => noteRow({
  href: viewOf("runs", one.id), title: [one.agent, one.prompt].filter(Boolean).join(": "),
  snippet: one.error,
  meta: [state(one), one.running_tools.length > 0 && `running ${one.running_tools.join(", ")} …`,
    clock(one.created), one.facet, one.period, one.model || one.provider, tokens(one),
    one.seconds > 0 && `cost ${money(one.cost_usd)}`, length(one.seconds), output(one)],
});

/** Asks for what a run is to do, and shows the run. */
async function request(app, given, words, fields) {
  const more = await ask(words, fields, "Start");
  const answer = more && (await app.change("run", { ...given, ...more }, "Asked"));
  if (answer) app.navigate(viewOf("runs", answer.runs[0].id));
}

async function showRun(main, id, app) {
  const [head, log] = [h("div", {}), h("ol", { class: "log", "aria-live": "polite" })];
  const calls = new Map(); // call id -> event and item of a tool that runs
  const { takes_runs: takesRuns } = await load("/api/server", app);
  const draw = async () => drawHead(head, await load(pathOf(id, "/rendered"), app), takesRuns, app);
  const add = (event) => log.append(...[logItem(event, calls)].filter(Boolean));
  const { events, next } = await draw();
  events.forEach(add);
  fill(main, head, h("h2", {}, "Log"), log);
  if (!LAST.includes(events.at(-1)?.event)) follow(pathOf(id, "/live"), next, add, draw, app);
}

/** Shows what is known of a run, and what can be done with it; answers what it is given. */
function drawHead(head, told, takesRuns, app) {
  const { runs: [run], events, prompt, html, result, problems } = told;
  const [name, last] = [run.id, events.at(-1) ?? {}];
  const isOver = LAST.includes(last.event);
  const stop = async () => {
    const given = await ask("Stop this run?", [{ label: "Why", name: "reason" }], "Stop it");
    if (given) await app.change("run", { action: "stop", name, ...given }, "Stopped");
  };
  const goOn = () => request(app, { action: "continue", name }, "Go on with it", [
    { label: "What is it to do next?", required: true, ...WORDS }]);
  const note = run.agent !== "default" && noteAddress(`agents/${run.agent}.md`);
  app.setTitle(`${run.agent}, ${run.created.slice(0, 10)}`);
  app.keys({ x: isOver ? undefined : stop });
  fill(head, h("div", { class: "bar" }, state(run),
    !isOver && button("Stop…", stop, { key: "x", kind: "danger" }),
    isOver && run.session_id && takesRuns && button("Go on with it…", goOn)),
  facts([
    ["Agent", note ? h("a", { href: note }, run.agent) : run.agent],
    ["Model", [run.provider, run.model].filter(Boolean).join(", ")], ["Facet", run.facet],
    ["Period", run.period], ["Asked", clock(run.created)], ["Took", length(run.seconds)],
    ["Tokens", tokens(run)], ["Cost", isOver && money(run.cost_usd)], ["Output", output(run)],
  ]),
  last.error && h("p", { class: "note" }, last.error),
  h("h2", {}, "Prompt"), prompt ? h("p", { class: "said" }, prompt) : quiet("As its note says."),
  result && [h("h2", {}, "Result"), rendered(html)], problemList(problems));
  return told;
}

/** Takes the events of a run as they come; at its end `draw` shows what came of it. */
function follow(path, next, add, draw, app) {
  let source = null, isOver = false;
  const connect = () => {
    source?.close();
    if (document.hidden || isOver) return; // a browser has six connections
    source = new EventSource(address(path, { from: next }));
    source.onmessage = ({ data }) => {
      const event = JSON.parse(data);
      next = event.seq + 1;
      isOver = LAST.includes(event.event);
      add(event);
      if (event.event === "start") draw().catch(app.refused);
    };
    source.onerror = () => { // the browser itself comes back, but behind the end, or after a 404
      if (!isOver && source.readyState !== EventSource.CLOSED) return;
      source.close();
      isOver ? draw().catch(app.refused) : setTimeout(connect, LOOK_MS);
    };
  };
  document.addEventListener("visibilitychange", connect, { signal: app.signal });
  app.signal.addEventListener("abort", () => source?.close());
  connect();
}

/** The item of an event; null where it ends a tool, whose item then says so. */
function logItem(event, calls) {
  const { event: kind, call_id: call = event.tool } = event;
  const at = new Date(event.ts).toLocaleTimeString("en-GB");
  const item = h("li", {}, h("time", { datetime: event.ts }, at), said(event));
  const isEnded = (name) => (kind === "tool_end" ? name === call : LAST.includes(kind));
  const begun = [...calls].filter(([name]) => isEnded(name));
  for (const [name, one] of begun) {
    one.item.lastChild.replaceWith(toolFold(one.event, event));
    calls.delete(name);
  }
  if (kind === "tool_start") calls.set(call, { event, item });
  return kind === "tool_end" && begun.length ? null : item;
}

/** What an event says. */
function said(event) {
  const { event: kind, skipped } = event;
  if (kind.startsWith("tool_")) return toolFold(event, kind === "tool_end" && event);
  if (kind === "message") return h("p", { class: "said" }, event.text);
  if (kind === "thinking") return fold("thought", event.summary);
  return quiet({
    request: `asked by ${event.requested_by}`, start: `started with ${event.model}`,
    agent_updated: `handed on to ${event.agent}`,
    finish: skipped ? `– skipped: ${skipped}` : "✓ finished", error: `✗ ${event.error}`,
  }[kind] ?? event.message);
}

/** A tool that runs, or did: what it was given and answered is folded. */
function toolFold(begun, ended) {
  const isGood = ended.event === "tool_end" && ended.ok !== false;
  const seconds = ((Date.parse(ended.ts) - Date.parse(begun.ts)) / 1000).toFixed(1);
  const words = `${isGood ? "✓" : "✗"} ${begun.tool} ${seconds} s`;
  return fold(h("b", {}, ended ? words : `running ${begun.tool} …`), begun.args, ended.result);
}

const fold = (words, ...values) => h("details", { class: "tool" }, h("summary", {}, words),
  values.map((one) => (one ?? "") !== "" && h("pre", { class: "text", tabindex: 0 },
    typeof one === "string" ? one : JSON.stringify(one, null, 2))));
