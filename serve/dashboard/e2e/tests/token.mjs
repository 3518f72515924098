// A server with TLS that requires a token.
import assert from "node:assert/strict";
import { open, settled, show, views } from "../lib/browser.mjs";
import { serve } from "../lib/server.mjs";
import { clean, test } from "../lib/suite.mjs";

const token = "0123456789abcdef0123456789abcdef";

export async function run(o) {
  const server = await serve(o.ingero, o.million, { home: o.dir, tls: true, token });
  assert.ok(server.url.startsWith("https://"));
  const { context, page, faults } = await open(o.browser, server, { expected: [401] });
  try {
    await test("the page asks for the token and accepts only the right one", async () => {
      await show(page, server, "#/findings");
      const field = page.locator("#token");
      await field.waitFor();
      assert.equal(await page.locator("main").count(), 0, "something is shown without a token");
      await field.fill("x" + token);
      await page.keyboard.press("Enter");
      await page.locator(".unlock .error").waitFor();
      await page.locator("#token").fill(token);
      await page.keyboard.press("Enter");
      await page.locator("article.finding h1").waitFor();
      await settled(page);
      clean(faults);
    });
    await test("the token is kept in the tab only", async () => {
      await page.reload();
      await page.locator("article.finding h1").waitFor();
      assert.ok(!page.url().includes(token));
      assert.ok(!(await page.evaluate(() => JSON.stringify({ ...localStorage }) + document.cookie)).includes(token));
      const other = await context.newPage();
      await other.goto(server.url);
      await other.locator("#token").waitFor();
      await other.close(); // a page in the background is not painted
      clean(faults);
    });
    await test("every view over TLS", async () => {
      for (const v of await views(page, server)) {
        await show(page, server, `#/${v.name}`);
        assert.deepEqual(await page.locator(".error").allInnerTexts(), [], v.name);
      }
      clean(faults);
    });
  } finally {
    await context.close();
    await server.stop();
  }
}
