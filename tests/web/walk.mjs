// Walks through the page as a person does: node walk.mjs NAME

import assert from "node:assert/strict";
import { cortex, go, open, share, violations, walk } from "./browser.mjs";

const { SESSION, LONG_SESSION } = process.env;
const VIEWS = ["/search", "/search?q=index", "/briefing?project=cache", "/session", `/session/${SESSION}`, "/live", "/record/RECORD"];
const RECORD = "we keep the index in SQLite";

const row = (page, title) => page.locator(".rows .title", { hasText: title });
const idOf = (title) => JSON.parse(cortex("search", title, "--json")).hits.find((one) => one.title.toLowerCase() === title.toLowerCase()).id;
const noteOf = (id) => JSON.parse(cortex("show", id, "--json"));
const bodyOf = (note) => note.text.split(/^---$/m).slice(2).join("");

/** Words lead to a hit, the hit to a record, the record to its sentence in the transcript. */
async function find({ page }) {
  await page.keyboard.press("/");
  await page.keyboard.type("sqlite people", { delay: 30 });
  await page.waitForFunction(() => document.querySelector(".count").textContent.includes("note"));
  assert.match(page.url(), /\/search\?q=sqlite(\+|%20)people$/);
  assert.ok((await page.locator("mark").count()) > 0);
  await page.locator(".rows a", { hasText: RECORD }).first().click();
  await page.waitForURL(/\/record\//);
  const chain = page.locator(".chain");
  await chain.locator("mark", { hasText: /because people know it/ }).waitFor();
  await chain.locator(".to-turn").first().click();
  await page.waitForURL(/\/session\/.*#turn-5$/);
  const turn = page.locator(".turn.wanted");
  await turn.waitFor();
  assert.match(await turn.innerText(), /we keep the index in SQLite, because people know it/i);
  assert.ok(await turn.evaluate((one) => one.getBoundingClientRect().top < innerHeight));
  assert.match(await page.locator(".command code").innerText(), new RegExp(`claude --resume ${SESSION}`));
  await page.locator(".tool summary").first().click();
  assert.match(await page.locator(".tool pre").first().innerText(), /src\/index.py/);
  await page.goBack();
  await page.waitForURL(/\/record\//);
  await page.goBack();
  await page.waitForURL(/\/search\?q=sqlite/);
  await page.waitForFunction(() => document.querySelector("#find").value === "sqlite people");
}

/** A record is edited, and the edit is taken back; one is archived and restored. */
async function edit({ page }) {
  const id = idOf("To be edited and taken back");
  const before = bodyOf(noteOf(id));
  await go(page, `/record/${id}`);
  await page.keyboard.press("e");
  await page.locator("[name=content]").fill("It says another thing now.");
  await page.locator("[name=tags]").fill("one, two");
  await page.keyboard.press("Control+Enter");
  await page.locator(".prose", { hasText: "another thing" }).waitFor();
  assert.match(noteOf(id).text, /another thing/);
  assert.match(noteOf(id).text, /two/);
  await page.keyboard.press("u");
  await page.locator(".prose", { hasNotText: "another thing" }).waitFor();
  assert.equal(bodyOf(noteOf(id)), before);

  await go(page, `/record/${idOf("The cache is warmed at start")}`);
  await page.keyboard.press("e");
  assert.match(await page.locator("[name=content]").inputValue(), /hot keys\.\n\n\*\*Why/);
  await page.keyboard.press("Escape");
  await page.locator(".prose", { hasText: "hot keys" }).waitFor();

  const other = idOf("To be archived and restored");
  await go(page, `/record/${other}`);
  await page.keyboard.press("x");
  await page.locator(".tag.bad", { hasText: "archived" }).waitFor();
  assert.equal(noteOf(other).status, "archived");
  await page.keyboard.press("u");
  await page.locator(".tag", { hasText: "active" }).waitFor();
  assert.equal(noteOf(other).status, "active");
}

/** Somebody else is faster: both texts are shown, and nothing is lost. */
async function clash({ page, ...opened }) {
  opened.self.mayFail = /412/;
  const id = idOf("To be edited and taken back");
  await go(page, `/record/${id}`);
  await page.keyboard.press("e");
  await page.locator("[name=content]").fill("My own words.");
  cortex("revise", id, "--body", `Words of somebody else, ${Date.now()}.`);
  await page.locator(".note", { hasText: "changed meanwhile" }).waitFor();
  await page.locator("button", { hasText: "Save" }).first().click();
  const panel = page.locator(".panel[role=alert]");
  await panel.waitFor();
  assert.match(await panel.innerText(), /Words of somebody else/);
  assert.equal(await page.locator("[name=content]").inputValue(), "My own words.");
  await page.reload();
  assert.equal(await page.locator("[name=content]").inputValue(), "My own words.", "a draft outlives a reload");
  await page.locator("button", { hasText: "Save" }).first().click();
  await page.locator(".prose", { hasText: "My own words." }).waitFor();
  assert.match(noteOf(id).text, /My own words/);
  await page.keyboard.press("u");
  await page.locator(".prose", { hasText: "somebody else" }).waitFor();
}

/** What a briefing says wrongly is withdrawn, and told again when that is undone. */
async function wrong({ page }) {
  const id = idOf("Timeouts below 50 ms trip on CI");
  await go(page, "/briefing?project=cache");
  const line = page.locator(".row", { hasText: "Timeouts below 50 ms trip on CI" });
  await line.waitFor();
  assert.match(await line.innerText(), /\d+ tokens/);
  await line.locator(".wrong").click();
  await page.locator("dialog [name=reason]").fill("They were of the old machines.");
  await page.locator("dialog .primary").click();
  await line.waitFor({ state: "detached" });
  assert.equal(noteOf(id).status, "superseded"); // by nothing
  await page.keyboard.press("u");
  await line.waitFor();
  assert.equal(noteOf(id).status, "active");
}

/** A capture shows at once; over a killed server nothing is missing and nothing is there twice. */
async function live({ page, server, ...opened }) {
  opened.self.mayFail = /ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED|ERR_EMPTY_RESPONSE|ERR_CONNECTION_RESET/;
  await go(page, "/live");
  await page.waitForSelector("#connection[data-state=live]");
  const mark = Date.now();
  const titleOf = (word) => `Seen live ${word}, ${mark}`;
  const capture = (word) => cortex("save", titleOf(word), "--body", `A body of ${word}.`, "--project", "cache");
  const started = Date.now();
  capture("before");
  await page.locator(".row", { hasText: titleOf("before") }).first().waitFor();
  console.log(`a capture shows ${Date.now() - started} ms after it was begun`);
  await server.kill();
  await page.waitForSelector("#connection[data-state=offline]");
  capture("while it was down");
  capture("twice while it was down");
  await server.start();
  await page.waitForSelector("#connection[data-state=live]");
  capture("after");
  for (const word of ["while it was down", "twice while it was down", "after"]) {
    await page.locator(".row", { hasText: titleOf(word) }).first().waitFor();
  }
  await page.waitForTimeout(1500);
  const rows = await page.locator(".row[data-id]").evaluateAll((all) => all.map((one) => `${one.dataset.id} ${one.querySelector(".tag").textContent}`));
  const added = rows.filter((one) => one.endsWith(" added"));
  assert.deepEqual(added.filter((one, at) => added.indexOf(one) !== at), [], "nothing twice");
  const known = new Set(rows.map((one) => one.split(" ")[0]));
  for (const word of ["before", "while it was down", "twice while it was down", "after"]) {
    assert.ok(known.has(idOf(titleOf(word))), `${word} is there`);
  }
}

/** What a note says stays a text, in every field of every view. */
async function hostile({ page, foreign }) {
  const ids = JSON.parse(cortex("search", "harm", "--number", "50", "--json")).hits.map((one) => one.id);
  assert.ok(ids.length > 8);
  const addresses = ["/search?q=harm", "/live", "/briefing?project=cache", `/session/${SESSION}`, "/session", ...ids.map((one) => `/record/${encodeURIComponent(one)}`)];
  for (const address of addresses) {
    await go(page, address);
    for (const link of await page.locator("main a[href]").evaluateAll((all) => all.map((one) => one.getAttribute("href")))) {
      assert.match(link, /^(\/|#|https?:|mailto:)/, `${address} has a link to ${link}`);
    }
    assert.equal(await page.locator("main script, main img, main iframe, main svg[onload], main [onerror], main [onmouseover]").count(), 0, address);
    for (const one of await page.locator("main button", { hasText: "Edit" }).all()) await one.click();
    assert.equal(await page.evaluate(() => globalThis.harmed), undefined, address);
  }
  assert.deepEqual(foreign, []);
}

/** A write while the server is down stays visible until it is written. */
async function unsaved({ page, server, ...opened }) {
  opened.self.mayFail = /ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED|ERR_EMPTY_RESPONSE|ERR_CONNECTION_RESET/;
  const id = idOf("Timeouts below 50 ms trip on CI");
  const before = noteOf(id).text;
  await go(page, `/record/${id}`);
  await page.keyboard.press("e");
  await page.locator("[name=content]").fill("Its machines are slower by twelve.");
  await server.kill();
  await page.locator("button", { hasText: "Save" }).click();
  const section = page.locator("#unsaved");
  await section.locator("li").waitFor();
  assert.match(await section.innerText(), /1 change not saved/);
  await section.locator("button", { hasText: "Retry" }).click();
  await page.waitForTimeout(300);
  assert.equal(await section.locator("li").count(), 1, "it stays while the server is down");
  assert.equal(await page.locator("[name=content]").inputValue(), "Its machines are slower by twelve.");
  assert.equal(noteOf(id).text, before);
  await server.start();
  await page.waitForSelector("#connection[data-state=live]");
  await section.locator("button", { hasText: "Retry" }).click();
  await section.waitFor({ state: "hidden" });
  assert.match(noteOf(id).text, /slower by twelve/);
  await page.locator(".prose", { hasText: "slower by twelve" }).waitFor(); // and no draft of it
}

/** No fault of access in either scheme, nor at 400 pixels. */
async function access({ server }) {
  const id = idOf(RECORD);
  for (const options of [{ colorScheme: "light" }, { colorScheme: "dark" }, { colorScheme: "light", viewport: { width: 400, height: 800 } }]) {
    const opened = await open(server, { ...options, bypassCSP: true });
    for (const view of VIEWS) {
      await go(opened.page, view.replace("RECORD", id));
      await opened.page.waitForTimeout(300);
      assert.deepEqual(await violations(opened.page), [], `${view} ${JSON.stringify(options)}`);
      const wide = await opened.page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(wide <= 0, `${view} is ${wide} pixels too wide ${JSON.stringify(options)}`);
      assert.equal(await opened.page.locator("h1").count(), 1, view);
    }
    await go(opened.page, `/record/${id}`);
    await opened.page.keyboard.press("e");
    assert.deepEqual(await violations(opened.page), [], "the form");
    await opened.page.keyboard.press("Escape");
    await opened.page.keyboard.press("?");
    assert.deepEqual(await violations(opened.page), [], "the keys");
    await opened.close();
  }
}

/** Everything by keys alone. */
async function keyboard({ page }) {
  await go(page, "/search");
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.className), "skip");
  await page.keyboard.press("Control+k");
  const whole = page.waitForResponse((answer) => new URL(answer.url()).searchParams.get("query") === "benchmark");
  await page.keyboard.type("benchmark");
  await whole; // half a word may find nothing
  await row(page, "Pages are cut").first().waitFor();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("j");
  await page.keyboard.press("k");
  assert.ok(await page.evaluate(() => document.activeElement.matches(".rows .title")));
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/record\//);
  const first = page.url();
  await page.waitForSelector(".prose");
  assert.equal(await page.evaluate(() => document.activeElement.tagName), "H1");
  await page.keyboard.press("]");
  await page.waitForURL((url) => url.href !== first);
  await page.keyboard.press("[");
  await page.waitForURL(first);
  await page.keyboard.press("?");
  await page.locator("dialog[open]").waitFor();
  await page.keyboard.press("Escape");
  await page.locator("dialog").waitFor({ state: "detached" });
  await page.waitForSelector(".bar button");
  await page.keyboard.press("e");
  await page.keyboard.type("x u j / ?");
  assert.match(await page.locator("[name=content]").inputValue(), /x u j \/ \?/);
}

/** How long a person waits: told, since a busy machine is no fault of the page. */
async function speed({ page, server, context }) {
  const client = await context.newCDPSession(page);
  await client.send("Network.enable");
  let bytes = 0;
  client.on("Network.loadingFinished", (event) => (bytes += event.encodedDataLength));
  await client.send("Network.setCacheDisabled", { cacheDisabled: true });
  await page.addInitScript(() => {
    new MutationObserver((_, observer) => {
      if (!document.querySelector(".rows .row")) return;
      observer.disconnect();
      requestAnimationFrame(() => setTimeout(() => (globalThis.firstShown = performance.now())));
    }).observe(document, { childList: true, subtree: true });
  });
  const firsts = [];
  for (let at = 0; at < 7; at += 1) {
    bytes = 0;
    await page.goto(`${server.origin}/search`, { waitUntil: "commit" });
    await page.waitForFunction(() => globalThis.firstShown);
    firsts.push(await page.evaluate(() => globalThis.firstShown));
  }
  await page.waitForTimeout(500);
  const long = await page.evaluate(() => performance.getEntriesByType("longtask").length);
  console.log(`first paint with data: ${firsts.map(Math.round)} ms, ${bytes} bytes, ${long} long tasks`);
  assert.ok(bytes < 80_000, "bytes of the first view");

  const waits = await typed(page, (process.env.WORDS ?? "index sqlite cache benchmark timeout machine").split(" "));
  console.log(`search on screen: p50 ${share(waits.times, 0.5).toFixed(0)} ms, p95 ${share(waits.times, 0.95).toFixed(0)} ms of ${waits.times.length}; longest task ${waits.longest.toFixed(0)} ms`);

  if (!LONG_SESSION) return;
  await watchTasks(page);
  await go(page, `/session/${LONG_SESSION}`);
  await page.waitForSelector("[data-whole]", { timeout: 30_000 });
  const longest = await page.evaluate(() => Math.max(0, ...globalThis.tasks));
  const finds = await page.evaluate(async () => {
    const field = document.querySelector("[name=within]");
    const times = [];
    for (const word of ["zebra7", "zebra77", "zebra777", "a line of the file", "nothing of it", "zebra1199"]) {
      await new Promise((done) => setTimeout(done, 100));
      const begun = performance.now();
      field.value = word;
      field.dispatchEvent(new Event("input", { bubbles: true }));
      await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
      times.push(performance.now() - begun);
    }
    return times;
  });
  console.log(`find within 5 MB: ${finds.map(Math.round)} ms; longest task while it was read ${longest.toFixed(0)} ms`);
  assert.match(await page.locator(".within").innerText(), /1 turn with it/);
  await go(page, `/session/${LONG_SESSION}#turn-1000`);
  await page.reload();
  await page.locator("#turn-1000.wanted").waitFor();
  await page.waitForTimeout(500);
  assert.ok(await page.locator("#turn-1000").evaluate((one) => Math.abs(one.getBoundingClientRect().top) < innerHeight));
}

/** Keeps the lengths of all tasks above 50 ms from now on, in this page and the next ones. */
async function watchTasks(page) {
  await page.addInitScript(() => {
    globalThis.tasks = [];
    new PerformanceObserver((list) => globalThis.tasks.push(...list.getEntries().map((one) => one.duration))).observe({ type: "longtask", buffered: true });
  });
}

/** Types words key by key as people do; from each key to the frame that shows its answer, in ms. */
async function typed(page, words) {
  await watchTasks(page);
  await go(page, "/search");
  const times = [];
  for (const word of words) {
    await page.locator("#find").fill("");
    await page.waitForTimeout(200);
    for (const key of word) {
      await page.evaluate(() => {
        globalThis.shown = new Promise((done) => {
          const begun = performance.now();
          document.querySelector("#find").addEventListener("input", () => {
            new MutationObserver((_, observer) => {
              observer.disconnect();
              requestAnimationFrame(() => setTimeout(() => done(performance.now() - begun)));
            }).observe(document.querySelector(".view.search > div"), { childList: true });
          }, { once: true });
        });
      });
      await page.keyboard.type(key);
      times.push(await page.evaluate(() => globalThis.shown));
      await page.waitForTimeout(90);
    }
  }
  return { times, longest: await page.evaluate(() => Math.max(0, ...globalThis.tasks)) };
}

await walk({ find, edit, clash, wrong, live, hostile, unsaved, access, keyboard, speed });
