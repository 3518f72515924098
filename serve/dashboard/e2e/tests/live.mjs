// Live mode on a growing recording: the numbers change, the rest of the page does not.
import assert from "node:assert/strict";
import { join } from "node:path";
import { open, settled, show, views } from "../lib/browser.mjs";
import { grow, serve } from "../lib/server.mjs";
import { clean, test } from "../lib/suite.mjs";

export async function run(o) {
  const file = join(o.dir, "growing.db");
  const end = await grow(o.made, file);
  try {
    const server = await serve(o.ingero, file, { home: o.dir });
    const { context, page, faults } = await open(o.browser, server, { viewport: { width: 900, height: 400 } });
    try {
      await test("live mode follows a growing recording without flicker", async () => {
        await grows(page, server);
        clean(faults);
      });
      await test("live mode in every view", async () => {
        for (const v of await views(page, server)) {
          await show(page, server, `#/${v.name}?live=1`);
          assert.deepEqual(await page.locator("main .error").allInnerTexts(), [], v.name);
        }
        clean(faults);
      });
    } finally {
      await context.close();
      await server.stop();
    }
  } finally {
    await end();
  }
}

async function grows(page, server) {
  await show(page, server, "#/overview?live=1");
  await page.locator("table tbody tr").first().waitFor();
  await page.evaluate(() => {
    const main = document.querySelector("main");
    const verdict = main.querySelector("h1");
    globalThis.flickers = [];
    new MutationObserver(() => {
      if (!main.contains(verdict)) globalThis.flickers.push("the verdict was taken away");
      if (main.textContent.includes("Reading…")) globalThis.flickers.push("it was empty again");
    }).observe(main, { childList: true, subtree: true });
    scrollTo(0, 120);
  });
  const at = await page.evaluate(() => scrollY);
  assert.ok(at > 0, "the page is too short to scroll");
  const calls = () => page.locator("table tbody tr").first().locator("td").nth(2).innerText();
  const before = await calls();
  await page.waitForFunction((old) => document.querySelector("table tbody tr td:nth-child(3)").innerText !== old, before);
  assert.ok(Number((await calls()).replace(/\D/g, "")) > Number(before.replace(/\D/g, "")), "calls became fewer");
  assert.equal(await page.evaluate(() => scrollY), at, "the page has scrolled");
  assert.deepEqual(await page.evaluate(() => globalThis.flickers), []);
  await settled(page);
}
