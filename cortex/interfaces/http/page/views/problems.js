// What is wrong with the vault, the same things together, with the commands that help.

import { verb } from "../api.js";
import { command, count, empty, fill, h, noteAddress } from "../dom.js";
import { lines, load, quiet } from "./parts.js";

const MAX_PLACES = 8; // of a group; the others are folded
// What differs between problems of one kind: quoted texts, links, numbers, paths and ids.
const NAMES = /'[^']*'|"[^"]*"|`[^`]*`|\[\[[^\]]*\]\]|\S*[\d/]\S*|\b\w+(?:-\w+){2,}\b/g;

export const title = "Problems";

export const twin = () => verb("doctor");

export async function show(main, _params, app) {
  fill(main, quiet("Looking at the vault …"));
  const { problems, notes } = await load(twin(), app);
  const groups = [...Map.groupBy(problems, (one) => one.message.replace(NAMES, "…"))].map(group);
  const among = count(notes, "note");
  fill(main, problems.length ? h("p", {}, `${count(problems.length, "problem")} in ${among}. `,
    command("cortex doctor --fix"), " mends what is safe to mend.")
    : empty(`Nothing is wrong with ${among}.`), groups);
}

/** The problems of one kind: what is the same is said once. */
function group([kind, problems]) {
  const same = (name) => problems.every((one) => one[name] === problems[0][name]);
  const told = problems.map((one) => [place(one.where), !same("message") && ` ${one.message}`,
    !same("hint") && helps(one)]);
  const rest = told.splice(MAX_PLACES);
  const heading = [same("message") ? problems[0].message : kind,
    problems.length > 1 && quiet(` ${problems.length}`)];
  return h("section", { class: "panel" }, h("h2", {}, heading),
    same("hint") && helps(problems[0]), lines(told),
    rest.length > 0 && h("details", {}, h("summary", {}, `${rest.length} more`), lines(rest)));
}

/** Where a problem is: notes lead to their pages. */
function place(where) {
  const path = where.replace(/:\d+$/, "");
  const isNote = path.endsWith(".md");
  return isNote ? h("a", { href: noteAddress(path) }, where) : h("code", {}, where);
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
