// What a session in a project is told when it starts: each line with its tokens and why it is
// there, and "wrong" beside it.

import { get, verb } from "../api.js";
import {
  ask, button, count, empty, field, fill, h, noteAddress, problemList, row, tag, time, viewOf,
} from "../dom.js";

const LINE = /^\s*[-*] (\d{4}-\d\d-\d\d )?(.*?)(\s*\[[^\]\s]+\])?$/s; // day, text, and its handle

export const title = "Briefing";

export const twin = ({ query }) => verb("brief", { ...Object.fromEntries(query), why: true });

export async function show(main, { query }, app) {
  const read = (address) => get(address, {}, { signal: app.signal });
  const [told, status] = await Promise.all([read(twin({ query })), read(verb("status"))]);
  const wrongOf = (item) => item?.querySelector(".wrong")?.click();
  app.keys({ e: wrongOf, x: wrongOf });
  fill(main, choice(told, Object.keys(status.projects), query, app), gauge(told),
    told.sections.length > 0 ? told.sections.map((one) => sectionList(one, app)) : nothing(told),
    told.left_out > 0
      && h("p", { class: "quiet" }, `${count(told.left_out, "record")} of other branches left out`),
    told.text && h("details", { class: "panel" },
      h("summary", {}, "The text as an agent is given it"),
      h("pre", { class: "text", tabindex: 0 }, told.text)),
    problemList(told.problems));
}

function choice(told, projects, query, app) {
  const onchange = ({ target }) => app.navigate(
    viewOf("briefing", "", { ...Object.fromEntries(query), [target.name]: target.value }));
  const names = [told.project, ...projects].filter((one) => one && !one.startsWith("("));
  const project = { name: "project", kind: "select", options: [...new Set(names)], onchange };
  const budget = { name: "budget", kind: "number", min: 50, max: 100000, step: 50, onchange };
  return h("div", { class: "bar" }, field("Project", { ...project, value: told.project }),
    field("Tokens at the most", { ...budget, value: told.budget }),
    told.branch && h("span", { class: "quiet" }, `on branch ${told.branch}`));
}

/** How much of the budget it takes. */
function gauge(told) {
  const [tokens, budget] = [told.tokens, told.budget].map((one) => one.toLocaleString("en"));
  const range = { min: 0, max: told.budget, value: told.tokens, "aria-label": "Tokens" };
  return h("p", {}, h("meter", range), ` ${tokens} of ${budget} tokens`,
    told.newest && h("span", { class: "quiet" }, " · the newest note is of ", time(told.newest)));
}

const sectionList = (section, app) => [
  h("h2", {}, section.title),
  h("ul", { class: "rows" }, section.lines.map((line) => lineRow(line, app))),
  section.more > 0 && h("p", { class: "quiet" }, `${section.more} more have no room`,
    section.command && [": ", h("code", {}, section.command)]),
];

function lineRow(line, app) {
  const [, day, text] = LINE.exec(line.text) ?? [null, "", line.text];
  const [name, ...rest] = text.split(": ");
  return row({
    href: noteAddress(line.id), title: name, snippet: rest.join(": "),
    meta: [
      count(line.tokens, "token"), tag(line.type), day && time(day.trim()), line.why,
      line.doubt && tag(line.doubt, "bad"),
      line.changed.length > 0 && `edited since: ${line.changed.join(", ")}`,
    ],
    tools: button("Wrong…", () => correct(line, name, app), { kind: "wrong" }),
  });
}

/** Takes back what is no longer true, or opens it to be corrected. */
async function correct(line, name, app) {
  const ways = [["withdrawn", "It is not true: nobody is told it again"], ["edit", "I correct it"]];
  const given = await ask("What is wrong with it?", [
    { label: name, name: "way", kind: "select", options: ways }, { label: "Why", name: "reason" },
  ], "Go on");
  if (given?.way === "edit") return app.navigate(viewOf("record", line.id, { edit: 1 }));
  const change = given && { id: line.id, status: given.way, reason: given.reason };
  if (change && (await app.change("revise", change, `Withdrawn: ${name}`))) app.reload();
}

function nothing(told) {
  const links = told.others.map((one) =>
    [" ", h("a", { href: viewOf("briefing", "", { project: one }) }, one)]);
  return empty(`Nothing is noted of ${told.project || "this project"}.`, links.length > 0
    ? ["Other projects:", links] : "cortex capture notes something; agents do so by themselves.");
}
