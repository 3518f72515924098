// Mouse and keys on the heat map and the flame graph. ctx is as in timeline.mjs; the
// recording's calls have stacks.
import assert from "node:assert/strict";
import { alone } from "../lib/suite.mjs";

const map = ".heatmap .map > canvas";

async function show(page, ctx, hash) {
  await page.goto("about:blank");
  await page.goto(`${ctx.url.replace(/\/$/, "")}/${hash}`);
}

export async function run(o) {
  await alone(o, "heat map and flame graph", check);
}

async function check(page, ctx) {
  await heatmap(page, ctx);
  await flame(page, ctx);
}

async function heatmap(page, ctx) {
  await show(page, ctx, "#/heatmap");
  await page.locator(map).waitFor();
  const answer = await page.evaluate(async () => (await fetch("api/v1/heatmap?since=all")).json());
  assert.equal(await page.locator(".heatmap select").inputValue(), answer.op);
  const said = (await page.locator(".heatmap .tools").innerText()).replaceAll("\u202f", "");
  assert.ok(said.includes(`${answer.calls} calls`), said);

  // A selection of the whole map has all calls.
  const box = await page.locator(map).boundingBox();
  await page.mouse.move(box.x + 72, box.y + 10);
  await page.locator(".heatmap .tip").waitFor();
  await page.mouse.down();
  await page.mouse.move(box.x + box.width - 12, box.y + box.height - 28, { steps: 5 });
  await page.mouse.up();
  const title = (await page.locator(".heatmap h2").innerText()).replaceAll("\u202f", "");
  assert.ok(title.startsWith(`${answer.calls} calls`), title);
  await page.locator(".heatmap tbody tr").first().waitFor();
  const link = await page.getByRole("link", { name: "timeline of it" }).getAttribute("href");
  assert.match(link, /#\/timeline\?from=\d{19}&to=\d{19}$/);

  // Escape ends the selection; arrow keys start one.
  await page.locator(map).focus();
  await page.keyboard.press("Escape");
  await page.locator(".heatmap h2").waitFor({ state: "detached" });
  await page.keyboard.press("ArrowRight");
  await page.locator(".heatmap h2").waitFor();
  const other = answer.ops.find((o) => o !== answer.op);
  if (other) {
    await page.locator(".heatmap select").selectOption(other);
    await page.waitForFunction((op) => document.querySelector(".heatmap canvas")?.ariaLabel.includes(`of ${op}:`), other);
  }
}

async function flame(page, ctx) {
  await show(page, ctx, "#/flame?what=all");
  const boxes = page.locator(".flame .boxes button");
  await boxes.first().waitFor();
  const all = await boxes.count();
  assert.ok(all > 3, `${all} boxes`);
  const last = boxes.last();
  const name = (await last.getAttribute("title")).split(":")[0];
  await last.click();
  const wide = (await boxes.last().boundingBox()).width / (await boxes.first().boundingBox()).width;
  assert.ok(wide > 0.98, `what was clicked has ${wide} of the width`);
  await page.keyboard.press("Escape");
  await page.waitForFunction((n) => document.querySelectorAll(".flame .boxes button").length === n, all);
  await page.getByLabel("find a function").fill(name);
  await page.locator(".flame .boxes .found").first().waitFor();
  await page.getByText(/% is in it/).waitFor();
  await page.locator(".flame select").first().selectOption("waits");
  await page.locator(".flame .boxes button", { hasText: "all waits" }).waitFor();
}
