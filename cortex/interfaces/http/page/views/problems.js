// What is wrong with the vault, the same things together, with the commands that help.

import { get, verb } from "../api.js";
import { command, count, empty, fill, h, viewOf } from "../dom.js";

const MAX_PLACES = 8; // of a group; the others are folded
// What differs between problems of one kind: quoted texts, links, numbers, paths and ids.
const NAMES = /'[^']*'|"[^"]*"|`[^`]*`|\[\[[^\]]*\]\]|\S*[\d/]\S*|\b\w+(?:-\w+){2,}\b/g;

export const title = "Problems";

export const twin = () => verb("doctor");

export async function show(main, _params, app) {
  fill(main, h("p", { class: "quiet" }, "Looking at the vault …"));
  const { problems, notes, agent_settings: settings } = await get(twin(), {}, { signal: app.signal });
  if (!problems.length) fill(main, empty(`Nothing is wrong with ${count(notes, "note")}.`));
  else {
    fill(main, h("p", {}, `${count(problems.length, "problem")} in ${count(notes, "note")}. `,
      command("cortex doctor --fix"), " mends what is safe to mend."));
    main.append(...Map.groupBy(problems, (one) => one.message.replace(NAMES, "…")).entries().map(group));
  }
  if (settings.length) {
    main.append(panel("Settings of agents in the vault", helps({ hint: "A program that opens it as a project would use them." }),
      list(settings.map((one) => h("code", {}, one)))));
  }
}

/** The problems of one kind: what is the same is said once. */
function group([kind, problems]) {
  const same = (name) => problems.every((one) => one[name] === problems[0][name]);
  const lines = problems.map((one) => [place(one.where), !same("message") && ` ${one.message}`,
    !same("hint") && helps(one)]);
  const rest = lines.splice(MAX_PLACES);
  const heading = [same("message") ? problems[0].message : kind,
    problems.length > 1 && h("span", { class: "quiet" }, problems.length)];
  return panel(heading, same("hint") && helps(problems[0]), list(lines),
    rest.length > 0 && h("details", {}, h("summary", {}, `${rest.length} more`), list(rest)));
}

const panel = (heading, ...parts) => h("section", { class: "panel" }, h("h2", {}, heading), parts);
const list = (lines) => h("ul", { class: "plain" }, lines.map((one) => h("li", {}, one)));

/** Where a problem is: notes lead to their pages. */
function place(where) {
  const path = where.replace(/:\d+$/, "");
  return path.endsWith(".md") ? h("a", { href: viewOf("record", path) }, where) : h("code", {}, where);
}

/** A hint, whose commands can be copied. */
function helps({ hint, hint_commands: commands = [] }) {
  const parts = [];
  let last = 0;
  for (const one of commands) {
    const at = hint.indexOf(one, last);
    parts.push(hint.slice(last, at), command(one), " ");
    last = at + one.length;
  }
  return hint && h("p", { class: "quiet" }, parts, hint.slice(last));
}
