// Every view of every recording has no errors, and makes no requests to other origins.
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { open, settled, show, views } from "../lib/browser.mjs";
import { serve } from "../lib/server.mjs";
import { clean, test } from "../lib/suite.mjs";

/** The longest first paint on an idle machine, ms. */
const goal = 1000;

/** The test fails if the first paint takes this many times the goal: others may use the machine. */
const patience = 5;

export async function run(o) {
  const files = readdirSync(o.recordings).filter((f) => f.endsWith(".db"));
  assert.ok(files.length > 0, `no recordings in ${o.recordings}`);
  for (const f of files) await test(`views of ${f}`, () => all(o, join(o.recordings, f)));
  await test("views of a million events", () => all(o, o.million));
  await test("first paint of a million events", () => paint(o));
}

async function all(o, file) {
  const server = await serve(o.ingero, file, { home: o.dir });
  const { context, page, faults } = await open(o.browser, server);
  try {
    for (const v of await views(page, server)) {
      await page.keyboard.press(v.key);
      await settled(page);
      assert.equal(await page.locator("nav[aria-label=views] a[aria-current]").textContent(), v.title);
      const said = await page.locator("body").innerText();
      assert.ok((await page.locator("main").innerText()).trim() !== "", `${v.name} is empty`);
      assert.ok(!/\bNaN\b|undefined|\[object|Infinity/.test(said), `${v.name} says ${said.match(/.*(\bNaN\b|undefined|\[object|Infinity).*/)?.[0]}`);
      assert.deepEqual(await page.locator("main .error").allInnerTexts(), [], v.name);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      assert.ok(wide <= 0, `${v.name} is ${wide} px wider than the window`);
    }
    clean(faults);
  } finally {
    await context.close();
    await server.stop();
  }
}

/** Measures the time from the request to the verdict, and to the first contents of any kind. */
async function paint(o) {
  const server = await serve(o.ingero, o.million, { home: o.dir });
  const { context, page, faults } = await open(o.browser, server);
  try {
    const began = performance.now();
    await page.goto(server.url);
    await page.locator("h1.verdict").waitFor();
    const verdict = performance.now() - began;
    const first = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? 0);
    console.log(`      first paint ${first.toFixed(0)} ms (${(first / goal).toFixed(2)} of its goal), verdict ${verdict.toFixed(0)} ms`);
    assert.ok(first > 0 && first < patience * goal, `first paint after ${first} ms`);
    await show(page, server, "");
    clean(faults);
  } finally {
    await context.close();
    await server.stop();
  }
}
