// All functions work from the keyboard. Also tests colours, print and narrow windows.
import assert from "node:assert/strict";
import { open, settled, show, views } from "../lib/browser.mjs";
import { serve } from "../lib/server.mjs";
import { clean, test } from "../lib/suite.mjs";

export async function run(o) {
  const server = await serve(o.ingero, o.million, { home: o.dir });
  const { context, page, faults } = await open(o.browser, server);
  try {
    for (const [name, check] of Object.entries({ letters, focus, colours, print, narrow })) {
      await test(`keys and appearance: ${name}`, async () => {
        await show(page, server, "#/overview");
        await check(page, server);
        clean(faults);
      });
    }
  } finally {
    await context.close();
    await server.stop();
  }
}

async function letters(page) {
  const press = async (key) => {
    await page.keyboard.press(key);
    await settled(page);
  };
  await press("?");
  assert.equal(await page.locator(".help").count(), 1);
  await press("Escape");
  assert.equal(await page.locator(".help").count(), 0);
  await press("3");
  const list = page.locator("nav[aria-label=findings] a");
  assert.ok((await list.count()) >= 2, "the recording has too few findings for this test");
  await press("j");
  assert.equal(await list.nth(1).getAttribute("aria-current"), "true");
  await press("k");
  assert.equal(await list.nth(0).getAttribute("aria-current"), "true");
  await press("Escape");
  assert.ok(page.url().includes("#/overview"));
  await press("l");
  assert.ok(page.url().includes("live=1"));
  assert.ok(await page.locator(".live input").isChecked());
  await press("l");
  assert.ok(!page.url().includes("live"));
}

/** Tab moves the focus through the tabs to the findings. Enter opens findings and rows of evidence. */
async function focus(page) {
  const on = () => page.evaluate(() => document.activeElement?.textContent ?? "");
  const summary = await page.locator(".card .summary").first().innerText();
  for (let i = 0; (await on()) !== summary; i++) {
    assert.ok(i < 40, "Tab does not reach the first finding");
    await page.keyboard.press("Tab");
  }
  const ring = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
  assert.equal(ring, "solid", "what has the focus does not show it");
  await page.keyboard.press("Enter");
  await settled(page);
  assert.ok(page.url().includes("#/findings?finding="));
  const row = page.locator(".evidence button.row").first();
  await row.focus();
  await page.keyboard.press("Enter");
  await settled(page);
  assert.ok((await page.locator(".inside").count()) === 1, "Enter does not open a row");
  await page.goBack();
  await settled(page);
  assert.ok(page.url().includes("#/overview"));
}

async function colours(page) {
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await ground();
  await page.emulateMedia({ colorScheme: "dark" });
  const dark = await ground();
  assert.notEqual(dark, light, "the system's colours are not followed");
  await page.keyboard.press("d");
  assert.equal(await ground(), light, "d does not choose light colours");
  await page.keyboard.press("d");
  assert.equal(await ground(), dark, "d does not choose dark colours");
  await page.reload();
  await settled(page);
  assert.equal(await ground(), dark, "the choice is not kept");
  await page.keyboard.press("d");
  await page.emulateMedia({ colorScheme: "light" });
}

async function print(page, server) {
  await show(page, server, "#/findings");
  await page.emulateMedia({ media: "print", colorScheme: "dark" });
  assert.equal(await page.locator("nav[aria-label=views]").isVisible(), false);
  for (const part of [".finding h1", ".path", ".fixes", ".evidence .row", ".frames"]) assert.ok(await page.locator(part).first().isVisible(), `${part} is not printed`);
  assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), "rgb(255, 255, 255)");
  assert.ok((await page.pdf()).length > 10_000);
  await page.emulateMedia({ media: "screen", colorScheme: "light" });
}

async function narrow(page, server) {
  const { width, height } = page.viewportSize();
  await page.setViewportSize({ width: 600, height });
  for (const v of await views(page, server)) {
    await show(page, server, `#/${v.name}`);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert.ok(wide <= 0, `${v.name} is ${wide} px wider than a narrow window`);
  }
  await page.setViewportSize({ width, height });
}
