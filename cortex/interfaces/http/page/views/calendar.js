// A year as a table of days, darker where there was more; and the pictures that the server draws.

import { verb } from "../api.js";
import { empty, fill, h, problemList, viewOf } from "../dom.js";
import { lines, load, noteLink, quiet } from "./parts.js";

const DAY = 86_400_000;
const LEVELS = 4; // of colour, above none
const KINDS = {
  captures: "captures", decisions: "decisions", opened: "actions opened", done: "actions done",
};
const STEPS = { ArrowLeft: -7, ArrowRight: 7, ArrowUp: -1, ArrowDown: 1, Home: -400, End: 400 };
const PLOTS = ["captures", "open-actions", "used"];

export const title = "Calendar";

export const twin = () => verb("calendar");

export async function show(main, params, app) {
  const answer = await load(twin(), app);
  const days = new Map(answer.days.map((one) => [one.date, one]));
  const about = h("p", { class: "quiet", "aria-hidden": "true" }); // a cell's name says it, too
  const label = "Days; Enter opens the notes of one";
  const table = h("table", { class: "year", role: "grid", "aria-label": label });
  const wanted = params.query.get("show");
  const choices = Object.entries(KINDS).map(([kind, words]) => {
    const isChosen = kind === (Object.hasOwn(KINDS, wanted) ? wanted : "captures");
    const choose = () => {
      history.replaceState(history.state, "", viewOf("calendar", "", { show: kind }));
      fillYear(table, answer, days, kind);
    };
    if (isChosen) fillYear(table, answer, days, kind);
    const sum = answer.days.reduce((before, one) => before + one[kind], 0).toLocaleString("en");
    const input = h("input", { type: "radio", name: "kind", checked: isChosen, onchange: choose });
    return h("label", {}, input, words, quiet(` ${sum}`));
  });
  walk(table, about);
  about.textContent = table.querySelector('[tabindex="0"]')?.ariaLabel ?? "";
  const year = h("div", { class: "table" }, table);
  const plots = h("div", { class: "plots" });
  const none = empty("Nothing was captured in this year.",
    "cortex capture keeps a sentence; with cortex hooks agents keep theirs.");
  fill(main, h("fieldset", { class: "choices" }, h("legend", {}, "Coloured by"), choices), year,
    about, !answer.days.length && none, plots, problemList(answer.problems));
  year.scrollLeft = year.scrollWidth; // the newest week, where there is no room for the year
  const names = PLOTS.filter((name) => (name === "used" ? answer.used.length : answer.days.length));
  const drawn = await Promise.all(names.map((name) => plot(name, app.signal)));
  fill(plots, drawn, answer.used.length > 0 && lines(answer.used.map(noteLink)));
}

/** A picture of the server's below its name. */
async function plot(name, signal) {
  const answer = await fetch(`/api/plots/${name}.svg`, { signal });
  const parsed = new DOMParser().parseFromString(await answer.text(), "image/svg+xml");
  const drawn = parsed.documentElement;
  const isPicture = answer.ok && drawn.nodeName === "svg";
  const heading = isPicture ? drawn.getAttribute("aria-label") : `${name} could not be drawn`;
  return h("section", { class: "plot" }, h("h2", {}, heading),
    isPicture && document.importNode(drawn, true));
}

/** A row for each day of the week, a column for each week, below the month in which it ends. */
function fillYear(table, { since, until }, days, kind) {
  const most = Math.max(1, ...[...days.values()].map((one) => one[kind]));
  const start = mondayOf(since);
  const weeks = Math.floor((utc(until) - start) / (7 * DAY)) + 1;
  const months = [];
  for (let week = 0; week < weeks; week += 1) {
    const name = isoOf(start + (7 * week + 6) * DAY).slice(0, 7);
    if (months.at(-1)?.name === name) months.at(-1).weeks += 1;
    else months.push({ name, weeks: 1 });
  }
  const head = months.map(({ name, weeks: colspan }) => (colspan > 2
    ? h("th", { scope: "colgroup", colspan }, month(`${name}-01`)) : h("td", { colspan })));
  const rows = Array.from({ length: 7 }, (_, row) => h("tr", {},
    h("th", { scope: "row" }, weekday(isoOf(start + row * DAY))),
    Array.from({ length: weeks }, (_, week) => {
      const day = isoOf(start + (7 * week + row) * DAY);
      return h("td", {}, day >= since && day <= until && cell(day, days.get(day), kind, most));
    })));
  fill(table, h("thead", {}, h("tr", {}, h("td"), head)), h("tbody", {}, rows));
  const newest = days.size ? [...days.keys()].sort().at(-1) : until;
  table.querySelector(`[data-day="${newest}"]`)?.setAttribute("tabindex", 0);
}

/** A day as a link to its notes. */
function cell(day, found, kind, most) {
  const level = found?.[kind] ? Math.ceil((LEVELS * found[kind]) / most) : 0;
  const parts = Object.entries(KINDS).filter(([name]) => found?.[name])
    .map(([name, words]) => `${found[name]} ${found[name] > 1 ? words : words.replace(/s\b/, "")}`);
  const label = `${fullDay(day)}: ${parts.join(", ") || "nothing"}`;
  const address = viewOf("search", "", { q: `after:${day} before:${isoOf(utc(day) + DAY)}` });
  const name = `level-${level}`;
  return h("a", { href: address, class: name, tabindex: -1, "aria-label": label, data: { day } });
}

/** Arrows lead from day to day, Tab to one alone; `about` tells about the one that is looked at. */
function walk(table, about) {
  const tell = ({ target }) => target.dataset.day && (about.textContent = target.ariaLabel);
  table.addEventListener("pointerover", tell);
  table.addEventListener("focusin", tell);
  table.addEventListener("keydown", (event) => {
    const [by, here] = [STEPS[event.key], event.target];
    if (!by || !here.dataset.day || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const all = [...table.querySelectorAll("[data-day]")]
      .sort((one, other) => one.dataset.day.localeCompare(other.dataset.day));
    const next = all[Math.max(0, Math.min(all.length - 1, all.indexOf(here) + by))];
    [here.tabIndex, next.tabIndex] = [-1, 0];
    next.focus();
  });
}

const utc = (day) => Date.parse(`${day}T00:00Z`);
const isoOf = (at) => new Date(at).toISOString().slice(0, 10);
const mondayOf = (day) => utc(day) - ((new Date(utc(day)).getUTCDay() + 6) % 7) * DAY;

/** A format of days; to make one takes as long as to say a hundred days in it. */
function sayer(options) {
  const format = new Intl.DateTimeFormat("en-GB", { timeZone: "UTC", ...options });
  return (day) => format.format(utc(day));
}

const fullDay = sayer({ dateStyle: "full" });
const weekday = sayer({ weekday: "short" });
const month = sayer({ month: "short" });
