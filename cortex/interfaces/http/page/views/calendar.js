// A year as a table of days, darker where there was more; and the pictures that the server draws.

import { get, verb } from "../api.js";
import { count, empty, fill, h, noteAddress, problemList, viewOf } from "../dom.js";

const DAY = 86_400_000;
const LEVELS = 4; // of colour, above none
const KINDS = { captures: "captures", decisions: "decisions", opened: "actions opened", done: "actions done" };
const PLOTS = ["captures", "open-actions", "used"];

export const title = "Calendar";

export const twin = () => verb("calendar");

export async function show(main, params, app) {
  const answer = await get(twin(), {}, { signal: app.signal });
  const days = new Map(answer.days.map((one) => [one.date, one]));
  const about = h("p", { class: "quiet", "aria-hidden": "true" }); // the cell itself is named by these words
  const table = h("table", { class: "year", role: "grid", "aria-label": "Days; Enter opens the notes of one" });
  const wanted = params.query.get("show");
  const choices = Object.entries(KINDS).map(([kind, words]) => {
    const isChosen = kind === (Object.hasOwn(KINDS, wanted) ? wanted : "captures");
    const choose = () => {
      history.replaceState(history.state, "", viewOf("calendar", "", { show: kind }));
      fillYear(table, answer, days, kind);
    };
    if (isChosen) fillYear(table, answer, days, kind);
    const sum = answer.days.reduce((before, one) => before + one[kind], 0).toLocaleString("en");
    return h("label", {}, h("input", { type: "radio", name: "kind", checked: isChosen, onchange: choose }),
      words, h("span", { class: "quiet" }, ` ${sum}`));
  });
  walk(table, about);
  about.textContent = table.querySelector('[tabindex="0"]')?.ariaLabel ?? "";
  const year = h("div", { class: "table" }, table);
  const plots = h("div", { class: "plots" });
  fill(main, h("fieldset", { class: "choices" }, h("legend", {}, "Coloured by"), choices), year, about,
    !answer.days.length && empty("Nothing was captured in this year.",
      "cortex capture keeps a sentence; with cortex hooks agents keep theirs."),
    plots, problemList(answer.problems));
  year.scrollLeft = year.scrollWidth; // the newest week, where there is no room for the year
  const names = PLOTS.filter((name) => (name === "used" ? answer.used.length : answer.days.length));
  const drawn = await Promise.all(names.map((name) => plot(name, app.signal)));
  fill(plots, drawn, answer.used.length > 0 && usedList(answer.used));
}

/** A picture of the server's below its name. */
async function plot(name, signal) {
  const answer = await fetch(`/api/plots/${name}.svg`, { signal });
  const drawn = new DOMParser().parseFromString(await answer.text(), "image/svg+xml").documentElement;
  const isPicture = answer.ok && drawn.nodeName === "svg";
  const heading = isPicture ? drawn.getAttribute("aria-label") : `The server could not draw ${name}`;
  return h("section", { class: "plot" }, h("h2", {}, heading), isPicture && document.importNode(drawn, true));
}

function usedList(used) {
  const lines = used.map((one) => h("li", {}, h("a", { href: noteAddress(one.id) }, one.title),
    h("span", { class: "quiet" }, ` ${count(one.uses, "time")}`)));
  return h("section", {}, h("h2", {}, "The same to open"), h("ol", {}, lines));
}

/** Fills the table: a row for each day of the week, a column for each week, below the month in which it ends. */
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
    .map(([name, words]) => `${found[name]} ${found[name] === 1 ? words.replace(/s\b/, "") : words}`);
  const label = `${fullDay(day)}: ${parts.join(", ") || "nothing"}`;
  const address = viewOf("search", "", { q: `after:${day} before:${isoOf(utc(day) + DAY)}` });
  return h("a", { href: address, class: `level-${level}`, tabindex: -1, "aria-label": label, data: { day } });
}

/** Arrows lead from day to day, Tab to one alone; `about` tells about the day that is looked at. */
function walk(table, about) {
  const tell = ({ target }) => target.dataset.day && (about.textContent = target.ariaLabel);
  table.addEventListener("pointerover", tell);
  table.addEventListener("focusin", tell);
  table.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -7, ArrowRight: 7, ArrowUp: -1, ArrowDown: 1, Home: -Infinity, End: Infinity }[event.key];
    const here = event.target;
    if (!by || !here.dataset.day || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const all = [...table.querySelectorAll("[data-day]")].sort((a, b) => (a.dataset.day < b.dataset.day ? -1 : 1));
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

const [fullDay, weekday, month] = [{ dateStyle: "full" }, { weekday: "short" }, { month: "short" }].map(sayer);
