// Two recordings side by side, two parts of one, and what is no part.
import assert from "node:assert/strict";
import { join } from "node:path";
import { open, settled, show } from "../lib/browser.mjs";
import { serve } from "../lib/server.mjs";
import { clean, test } from "../lib/suite.mjs";

export async function run(o) {
  const baselines = [join(o.recordings, "healthy.db")];
  const server = await serve(o.ingero, join(o.recordings, "noisy-neighbour.db"), { home: o.dir, baselines });
  const { context, page, faults } = await open(o.browser, server, { expected: [400] });
  try {
    for (const [name, check] of Object.entries({ withBaseline, halves, noPart })) {
      await test(`comparison: ${name}`, async () => {
        await show(page, server, "#/overview");
        await page.keyboard.press("c");
        await settled(page);
        await check(page);
        clean(faults);
      });
    }
  } finally {
    await context.close();
    await server.stop();
  }
}

async function withBaseline(page) {
  await page.getByText("Compare with healthy.db").click();
  await settled(page);
  const verdict = await page.locator(".verdict").innerText();
  assert.match(verdict, /a step takes 9\.85 ms instead of 8\.72 ms, 13 % longer, most of it: run queue in each cudaStreamSynchronize/);
  const pair = page.locator("section.pair");
  assert.equal(await pair.count(), 1);
  assert.match(await pair.locator("h2").innerText(), /^trainer: a step, 13 % longer$/);
  const widths = await pair.locator(".length i").evaluateAll((list) => list.map((i) => i.getBoundingClientRect().width));
  assert.equal(widths.length, 2);
  assert.ok(Math.abs(widths[0] / widths[1] - 8.72 / 9.85) < 0.01, `the bars are ${widths} px wide`);
  const rows = await pair.locator("tbody tr").allInnerTexts();
  assert.match(rows[0], /^\+1\.16 ms\s+run queue in each cudaStreamSynchronize: 1\.26 ms instead of 98\.3 us$/);
  assert.match(rows.at(-1), /all smaller parts/);
  assert.match(await pair.innerText(), /new cpu_contention \(backup-agent\)/);
  assert.match(await page.locator("main").innerText(), /CPUs busy\s+61 %\s+38 %/);
}

async function halves(page) {
  await page.getByText("Compare the first half").click();
  await settled(page);
  assert.ok(page.url().includes("a=0s-6s") && page.url().includes("b=6s-"), page.url());
  assert.match(await page.locator(".verdict").innerText(), /^(no difference beyond ±|trainer: )/);
  assert.equal(await page.locator("input[name=a]").inputValue(), "0s-6s");
}

async function noPart(page) {
  await page.locator("input[name=a]").fill("yesterday");
  await page.locator("input[name=a]").press("Enter");
  await settled(page);
  assert.match(await page.locator(".error").innerText(), /"yesterday" is not a part of a recording: write for example/);
  await page.locator("input[name=a]").fill("0s-5s");
  await page.locator("input[name=b]").fill("5s-");
  await page.getByRole("button", { name: "Compare" }).click();
  await settled(page);
  assert.equal(await page.locator(".error").count(), 0);
  assert.equal(await page.locator("section.pair").count(), 1);
}
