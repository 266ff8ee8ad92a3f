// A server of Cortex, a browser, and what every walk through the page asks of them.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { chromium } from "playwright-core";

const { PYTHON, VAULT, WORK, CHROMIUM = "/usr/bin/chromium" } = process.env;
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const FLAGS = [
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync",
];

/** What `cortex` prints, on the vault. */
export function cortex(...words) {
  return execFileSync(PYTHON, ["-m", "cortex", ...words, "--vault", VAULT], { cwd: WORK, encoding: "utf8" });
}

/** A server that can be killed and started anew on its port. */
export class Server {
  port = 0;

  async start() {
    const words = ["-m", "cortex", "serve", "--vault", VAULT, "--port", String(this.port)];
    this.process = spawn(PYTHON, words, { cwd: WORK, stdio: ["ignore", "ignore", "pipe"] });
    this.said = "";
    await new Promise((resolve, reject) => {
      this.process.stderr.setEncoding("utf8").on("data", (text) => {
        this.said += text;
        const found = /listening on http:\/\/[^/]*:(\d+)/.exec(this.said);
        if (found) resolve((this.port = Number(found[1])));
      });
      this.process.on("exit", () => reject(new Error(this.said)));
    });
    return this;
  }

  /** Ends it without a word, as a power cut would. */
  async kill() {
    const ended = new Promise((resolve) => this.process.on("exit", resolve));
    this.process.kill("SIGKILL");
    await ended;
  }

  get origin() {
    return `http://127.0.0.1:${this.port}`;
  }

  get door() {
    return cortex("web", "--print", "--port", String(this.port)).trim();
  }
}

/** A browser that is let in, with the faults and foreign requests that its pages had. */
export async function open(server, options = {}) {
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: FLAGS });
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  const faults = [];
  const foreign = [];
  page.on("console", (message) => message.type() === "error" && faults.push(`${message.text()} ${message.location().url}`));
  page.on("pageerror", (error) => faults.push(String(error)));
  page.on("request", (request) => {
    if (!request.url().startsWith(server.origin) && !request.url().startsWith("data:")) foreign.push(request.url());
  });
  await page.goto(server.door);
  await page.waitForSelector("#connection[data-state=live]");
  assert.equal(new URL(page.url()).hash, "", "the code is taken out of the address");
  return { browser, context, page, faults, foreign, async close() {
    await browser.close();
    assert.deepEqual(foreign, []);
    assert.deepEqual(faults.filter((one) => !this.mayFail?.test(one)), []);
  } };
}

/** Goes to a view, and waits until it is there. */
export async function go(page, path) {
  await page.goto(new URL(path, page.url()).href);
  await page.waitForSelector("h1:not(:empty)");
  await page.waitForLoadState("networkidle", { timeout: 1500 }).catch(() => {}); // the live stream never is
}

/** What axe finds in a page that was opened with `bypassCSP`. */
export async function violations(page) {
  await page.evaluate(AXE);
  const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  return found.violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.html).slice(0, 3).join(" | ")}`);
}

/** The p-th share of numbers, as 0.95. */
export const share = (numbers, p) => [...numbers].sort((a, b) => a - b)[Math.ceil(numbers.length * p) - 1];

/** Walks the walk that the command line names, on a server and in a browser of its own; `prepare` gets the browser first. */
export async function walk(walks, prepare = () => {}) {
  const server = await new Server().start();
  try {
    const opened = await open(server);
    await prepare(opened);
    try {
      await walks[process.argv[2]]({ ...opened, server, self: opened });
    } catch (error) {
      if (process.env.PICTURE) await opened.page.screenshot({ path: process.env.PICTURE });
      await opened.browser.close();
      throw error;
    }
    await opened.close();
  } finally {
    await server.kill();
  }
}
