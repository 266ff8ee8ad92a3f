// What the views calendar, changed, review, actions, meetings, runs, graph and problems show and change: node views.mjs NAME

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { cortex, go, open, violations, walk } from "./browser.mjs";

const { VAULT, SETTINGS } = process.env;
const VIEWS = [
  "/calendar", "/changed", "/review", "/review?group=contradictions", "/review?group=secrets", "/actions", "/actions?show=done",
  "/meetings", "/graph", "/graph/boiler-room?depth=2", "/graph/Star.md", "/graph/boiler-room?as=table", "/problems",
  "/runs", "/runs/RUN",
];
const SLOWEST = 3000; // ms until a graph of 300 notes can be used

const asked = (...words) => JSON.parse(cortex(...words, "--json"));
const noteOf = (id) => asked("show", id);
const fileOf = (id) => readFileSync(join(VAULT, noteOf(id).path), "utf8");
const idOf = (title) => asked("search", title).hits.find((one) => one.title === title).id;
const actionRow = (page, title) => page.locator(".row", { has: page.locator("a", { hasText: title }) });

/** A tick shows in the record and in the minutes, and is taken back. */
async function actions({ page }) {
  await go(page, "/actions");
  const id = idOf("Order the valves");
  const line = actionRow(page, "Order the valves");
  assert.match(await line.innerText(), /overdue 3 Feb\s+Ada/);
  await line.locator("a").focus();
  await page.keyboard.press("x");
  await page.locator("#status", { hasText: "Done: Order the valves" }).waitFor();
  assert.match(fileOf(id), /^status: done$/m);
  assert.match(fileOf(idOf("Boiler room")), /- \[x\] .*order the valves/i);
  await page.keyboard.press("u");
  await page.locator("#status", { hasText: "Undone" }).waitFor();
  assert.match(fileOf(id), /^status: open$/m);
  assert.match(fileOf(idOf("Boiler room")), /- \[ \] .*order the valves/i);
  await actionRow(page, "Order the valves").locator("input:not(:checked)").click();
  await page.locator("#status", { hasText: "Done: Order" }).waitFor();
  await page.locator("button", { hasText: "Overdue" }).click();
  await page.locator(".empty", { hasText: "Nothing is overdue" }).waitFor();
  await page.locator("button", { hasText: /^Done/ }).click();
  await page.waitForURL(/show=done/);
  await page.locator("button[aria-pressed=true]", { hasText: "Done" }).waitFor();
  await actionRow(page, "Order the valves").locator("input").click();
  await page.locator("#status", { hasText: "Open again" }).waitFor();
  assert.match(fileOf(id), /^status: open$/m);

  await go(page, "/actions");
  await page.locator("button", { hasText: "Mine" }).click();
  await page.locator("dialog select").selectOption("Ben");
  await page.locator("dialog .primary").click();
  await page.waitForURL(/owner=Ben/);
  await page.locator(".count", { hasText: /^1 action$/ }).waitFor();
  assert.deepEqual(await page.locator(".rows .title").allInnerTexts(), ["Measure the pressure"]);
  const address = await page.locator(".panel .command code").innerText();
  const feed = await fetch(address).then((answer) => answer.text());
  assert.match(feed, /SUMMARY:Measure the pressure \(Ben\)/);
}

/** Three records are looked at: one is kept, one dropped, one held by what contradicts it; all is taken back. */
async function review({ page }) {
  const waits = () => asked("review");
  await go(page, "/review");
  const card = page.locator(".entry h2");
  const total = waits().kept.total;
  const first = await card.innerText();
  await page.keyboard.press("]");
  await page.waitForFunction((before) => document.querySelector(".entry h2").textContent !== before, first);
  await page.keyboard.press("[");
  await page.waitForFunction((before) => document.querySelector(".entry h2").textContent === before, first);
  await page.keyboard.press("y");
  await page.locator(".bar", { hasText: `1 of ${total} looked at` }).waitFor();
  assert.equal(waits().kept.total, total - 1);
  const second = await card.innerText();
  await page.locator("button", { hasText: "Drop" }).click();
  await page.locator(".bar", { hasText: `2 of ${total} looked at` }).waitFor();
  const dropped = asked("search", second, "--all").hits.find((one) => one.title === second);
  assert.equal(dropped.status, "archived");
  await page.locator("button", { hasText: "Contradictions" }).click();
  await page.locator("button", { hasText: "This one holds" }).waitFor();
  assert.equal(await page.locator(".pair section").count(), 2);
  await page.keyboard.press("e");
  await page.locator(".empty").waitFor();
  assert.equal(waits().contradictions.total, 0);
  for (let at = 0; at < 3; at += 1) {
    await page.keyboard.press("u");
    await page.waitForFunction((many) => globalThis.undone === many, at + 1);
  }
  assert.equal(waits().contradictions.total, 1);
  assert.equal(waits().kept.total, total);
  assert.equal(noteOf(dropped.id).status, "active");
  await go(page, "/review?group=secrets");
  assert.match(await page.locator(".entry code").first().innerText(), /^cortex sync --publish Keys.md$/);
  await go(page, "/review?group=stale");
  await page.locator("button", { hasText: "Done" }).click();
  await page.locator(".empty").waitFor();
  assert.match(fileOf("action-paint-the-door-k3f7q2"), /^status: done$/m);
}

/** Calendar, changes, meetings and problems say what the verbs say. */
async function shows({ page }) {
  await go(page, "/calendar");
  const { days } = asked("calendar");
  const day = days.at(-1);
  const cell = page.locator(`[data-day="${day.date}"]`);
  assert.match(await cell.getAttribute("aria-label"), new RegExp(`: ${day.captures} captures`));
  assert.equal(await page.locator(".plot svg").count(), asked("calendar").used.length ? 3 : 2);
  await cell.focus();
  await page.keyboard.press("ArrowLeft");
  const before = await page.evaluate(() => document.activeElement.dataset.day);
  assert.equal(Date.parse(day.date) - Date.parse(before), 7 * 86_400_000);
  await page.keyboard.press("End");
  await page.locator("label", { hasText: "decisions" }).click();
  assert.match(page.url(), /show=decisions/);
  await page.locator(`[data-day="${day.date}"]`).click();
  await page.waitForURL((url) => url.searchParams.get("q").startsWith(`after:${day.date} before:`));
  await page.locator(".rows .row").first().waitFor();

  await go(page, "/changed");
  const id = idOf("Bleed the radiators from the bottom up");
  assert.deepEqual(await page.locator(".commit h2").allInnerTexts(), asked("history").commits.map((one) => one.subject));
  await page.locator("summary", { hasText: "88 more" }).click();
  await actionRow(page, "Leaf 150").waitFor();
  await actionRow(page, "Bleed the radiators").locator("button", { hasText: "Undo" }).click();
  await page.locator("#status", { hasText: "Undone: Bleed" }).waitFor();
  assert.equal(noteOf(id).status, "archived");
  await page.keyboard.press("u");
  await page.waitForFunction(() => globalThis.undone === 1);
  assert.equal(noteOf(id).status, "active");

  await go(page, "/meetings");
  const line = actionRow(page, "Boiler room");
  assert.match(await line.innerText(), /1 decision\s+\d actions? open\s+\d done/);
  await line.locator("summary").click();
  await line.locator("a", { hasText: "The old pump stays until spring" }).waitFor();
  assert.equal(await line.locator(".parts li").count(), 4);

  await go(page, "/problems");
  await page.waitForFunction(() => document.querySelector(".empty, .panel"));
  const { problems } = await page.evaluate(() => fetch("/api/verbs/doctor").then((answer) => answer.json()));
  assert.equal(await page.locator(".panel li").count(), problems.length);
  for (const one of problems) assert.ok((await page.locator("main").innerText()).includes(one.where), one.where);
}

/** A run is seen while it goes on, over a restart of the server; one is asked for, stopped and gone on with. */
async function runs({ page, server, ...opened }) {
  opened.self.mayFail = /ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED|ERR_EMPTY_RESPONSE|ERR_CONNECTION_RESET/;
  const state = (word) => page.locator(".bar .tag", { hasText: word }).waitFor();
  const log = () => page.locator(".log li").evaluateAll((all) => all.map((one) => one.lastChild.textContent));
  const line = (text) => page.locator(".log", { hasText: text });
  cortex("run", "start", "default", "sleep:6 think say:**bold**<img/src=x/onerror=window.harmed=1> <script>window.harmed=1</script>");
  await go(page, "/runs");
  const row = actionRow(page, "default: sleep:6");
  await row.locator(".tag", { hasText: "… running" }).waitFor();
  await row.getByText("running search …").waitFor();
  await row.locator("a").focus();
  await page.keyboard.press("Enter");
  await line("running search …").waitFor();
  await server.kill();
  await page.waitForSelector("#connection[data-state=offline]");
  await server.start();
  await line(/✓ search [67]\.\d s/).waitFor();
  await state("✓ finished");
  assert.deepEqual((await log()).map((one) => one.replace(/[\d.]+ s.*|I look.*/s, "")),
    ["asked by cli", "started with m-1", "thought", "✓ search ", "✓ finished"], "nothing is missing, nothing is there twice");
  assert.equal(await page.locator(".prose strong").innerText(), "bold");
  assert.match(await page.locator(".facts").innerText(), /m-1[^]*200 in, 40 out\s+Cost\s+\$0.2800/);
  assert.equal(await page.getByText("I look for it first.").isVisible(), false);
  await page.locator("summary", { hasText: "thought" }).click();
  assert.ok(await page.getByText("I look for it first.").isVisible());
  assert.equal(await page.evaluate(() => globalThis.harmed), undefined);
  await page.locator(".facts a").click();
  await page.waitForURL(/\/record\/sleep-6/);

  await go(page, "/runs");
  await page.locator("button", { hasText: "Ask an agent" }).click();
  await page.locator("dialog textarea").fill("sleep:60");
  await page.locator("dialog .primary").click();
  await line("running search …").waitFor();
  await page.keyboard.press("x");
  await page.locator("dialog input").fill("enough of it");
  await page.locator("dialog .primary").click();
  await state("✗ stopped");
  await page.locator(".note", { hasText: "enough of it" }).waitFor();
  await line(/✗ search \d/).waitFor();
  await page.locator("button", { hasText: "Go on with it" }).click();
  await page.locator("dialog textarea").fill("fail echo:NO_SUCH_VARIABLE");
  await page.locator("dialog .primary").click();
  await line("it is not set").waitFor();
  await state("✗ failed");
  assert.match(await page.locator(".facts").innerText(), /Cost\s+unknown/);

  await go(page, `/record/${asked("run", "list").runs[0].id}`);
  await page.waitForURL(/\/runs\/run-/);
  await go(page, "/runs");
  await page.locator("select[name=status]").selectOption("stopped");
  await page.waitForURL(/status=stopped/);
  await page.locator(".row").waitFor();
  assert.equal(await page.locator(".row").count(), 1);
  writeFileSync(SETTINGS, readFileSync(SETTINGS, "utf8").replace('requests = ["http"]', ""));
  await go(page, "/runs");
  await page.locator(".row").first().waitFor();
  assert.equal(await page.locator("button", { hasText: "Ask an agent" }).count(), 0);
}

/** The graph by keys alone, as a table, filtered, searched, and on to a record's timeline. */
async function graph({ page }) {
  await go(page, `/graph/${idOf("Boiler room")}?depth=2`);
  await page.waitForSelector(".picture[data-settled]");
  await page.locator("input[aria-label='Find in the graph']").fill("valves");
  await page.keyboard.press("Enter");
  assert.match(await page.evaluate(() => document.activeElement.getAttribute("aria-label")), /^Order the valves, action, /);
  assert.equal(await page.locator(".about h2").innerText(), "Order the valves");
  await page.keyboard.press("Home");
  assert.equal(await page.locator(".about h2").innerText(), "Boiler room");
  await page.keyboard.press("ArrowRight");
  for (const steps of ["3", "2"]) {
    await page.locator("select[name=depth]").selectOption(steps);
    await page.waitForURL(new RegExp(`depth=${steps}`));
    await page.waitForFunction(() => document.querySelector(".about h2").textContent !== "Boiler room");
  }
  const nodes = await page.locator(".node").count();
  await page.locator("label", { hasText: "action" }).locator("input").uncheck();
  assert.equal(await page.locator(".node").count(), nodes - 3);
  assert.equal(await page.evaluate(() => document.activeElement.dataset.key), "type:action");
  assert.match(page.url(), /hide=type%3Aaction/);
  await page.locator("label", { hasText: "action" }).locator("input").check();
  await page.locator("input[aria-label='Find in the graph']").fill("");
  await page.locator("button", { hasText: "Table" }).click();
  await page.locator("tbody tr").nth(nodes - 1).waitFor();
  assert.equal(await page.locator(".picture").isVisible(), false);
  assert.match(await page.locator("tr[data-name='order the valves']").innerText(), /derived from Boiler room/);
  await page.locator("button", { hasText: "Table" }).click();
  await page.locator(".node[tabindex='0']").focus();
  await page.keyboard.press("End");
  const title = await page.locator(".about h2").innerText();
  await page.keyboard.press("g");
  await page.locator("h1", { hasText: `Graph of ${title}` }).waitFor();
  await page.waitForSelector(".picture[data-settled]");
  const places = () => page.locator(".node").evaluateAll((all) => all.map((one) => one.getAttribute("transform")));
  const seen = await places();
  await page.reload();
  await page.waitForSelector(".picture[data-settled]");
  assert.deepEqual(await places(), seen, "the same graph lies the same way");
  await page.locator(".node[tabindex='0']").focus();
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/record\//);
  await page.locator("main", { hasText: "Before and after it" }).waitFor();
}

/** A graph of 300 notes: when it can be used, and no long task. */
async function speed({ page, server }) {
  await page.addInitScript(() => {
    globalThis.tasks = [];
    new PerformanceObserver((list) => globalThis.tasks.push(...list.getEntries().map((one) => one.duration)))
      .observe({ type: "longtask", buffered: true });
  });
  const [waits, longest] = [[], []];
  for (let at = 0; at < 5; at += 1) {
    await go(page, `/problems?${at}`);
    await page.goto(`${server.origin}/graph/Star.md`, { waitUntil: "commit" });
    await page.waitForFunction(() => document.querySelectorAll(".node[transform]").length === 300);
    waits.push(await page.evaluate(() => performance.now()));
    await page.waitForSelector(".picture[data-settled]");
    await page.locator("button", { hasText: "Table" }).click();
    await page.locator("tbody tr").nth(299).waitFor();
    longest.push(await page.evaluate(() => Math.max(0, ...globalThis.tasks)));
    console.log(`300 notes: on screen after ${waits.at(-1).toFixed(0)} ms; `
      + `longest task, with that of the table: ${longest.at(-1).toFixed(0)} ms (0: below 50)`);
  }
  assert.ok(Math.max(...waits) < SLOWEST);
  assert.equal(Math.min(...longest), 0, "no task over 50 ms: what else runs here can only make them longer");
}

/** No fault of access in either scheme, nor at 400 pixels; nothing is too wide. */
async function access({ server }) {
  cortex("run", "start", "default", "think say:ok");
  const run = asked("run", "list").runs[0].id;
  while (asked("run", "show", run).runs[0].status !== "finished");
  for (const options of [{ colorScheme: "light" }, { colorScheme: "dark" }, { colorScheme: "dark", viewport: { width: 400, height: 800 } }]) {
    const opened = await open(server, { ...options, bypassCSP: true });
    for (const view of VIEWS) {
      await go(opened.page, view.replace("boiler-room", idOf("Boiler room")).replace("RUN", run));
      await opened.page.waitForTimeout(300);
      assert.deepEqual(await violations(opened.page), [], `${view} ${JSON.stringify(options)}`);
      const wide = await opened.page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(wide <= 0, `${view} is ${wide} pixels too wide ${JSON.stringify(options)}`);
      assert.equal(await opened.page.locator("h1").count(), 1, view);
    }
    await opened.close();
  }
}

await walk({ actions, review, shows, runs, graph, speed, access }, async ({ page }) => {
  // Counts what was taken back, since the status line says the same words twice.
  await page.addInitScript(() => {
    globalThis.undone = 0;
    let last = "";
    const look = () => {
      const text = document.querySelector("#status").textContent;
      if (text !== last && text.startsWith("Undone: ")) globalThis.undone += 1;
      last = text;
    };
    addEventListener("DOMContentLoaded", () => new MutationObserver(look).observe(document.querySelector("#status"), { childList: true }));
  });
});
