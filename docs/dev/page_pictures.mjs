// Draws each view of the page in light and dark into docs/page/: page_pictures.py makes the vault, and calls this.

import { Server, cortex, go, open } from "../../tests/web/browser.mjs";

const { OUT, RECORD, MIDDLE, SESSION, RUN } = process.env;
const VIEWS = {
  search: "/search?q=index",
  record: `/record/${RECORD}`,
  session: `/session/${SESSION}`,
  calendar: "/calendar",
  changed: "/changed",
  review: "/review",
  actions: "/actions",
  meetings: "/meetings",
  briefing: "/briefing",
  graph: `/graph/${MIDDLE}`,
  problems: "/problems",
  runs: `/runs/${RUN}`,
  live: "/live",
};

const server = await new Server().start();
for (const colorScheme of ["light", "dark"]) {
  const browser = await open(server, { colorScheme, viewport: { width: 1100, height: 720 }, reducedMotion: "reduce" });
  for (const [name, path] of Object.entries(VIEWS)) {
    await go(browser.page, path);
    if (name === "live") {
      cortex("capture", "Decision: the cache is cut at midnight, because nobody asks then");
      await browser.page.waitForSelector(".rows .row");
    }
    await browser.page.waitForTimeout(400);
    await browser.page.screenshot({ path: `${OUT}/${name}-${colorScheme}.png` });
  }
  await browser.close();
}
await server.kill();
