// The page says so if a recording is empty or cannot be read.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { copyFileSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { open, show, views } from "../lib/browser.mjs";
import { serve } from "../lib/server.mjs";
import { clean, test } from "../lib/suite.mjs";

export async function run(o) {
  const empty = join(o.dir, "empty.db");
  execFileSync(o.made, ["-calls", "0", empty]);
  await test("an empty recording", () => each(o, empty, [], async (page, v) => assert.equal(await page.locator("main .error").count(), 0, v.name)));

  const torn = join(o.dir, "torn.db");
  copyFileSync(join(o.recordings, "healthy.db"), torn);
  truncateSync(torn, 40_000);
  await test("a truncated recording", () => each(o, torn, [400, 500, 503, 504], () => {}));

  const foreign = join(o.dir, "foreign.db");
  writeFileSync(foreign, "this is no database at all, but long enough to be looked at ".repeat(20));
  await test("a file that is not a recording", () =>
    each(o, foreign, [503], async (page, v) => {
      assert.ok((await page.locator("main .error").count()) > 0, `${v.name} does not say that the file cannot be read`);
    }));
}

async function each(o, file, expected, check) {
  const server = await serve(o.ingero, file, { home: o.dir });
  const { context, page, faults } = await open(o.browser, server, { expected });
  try {
    for (const v of await views(page, server)) {
      await show(page, server, `#/${v.name}`);
      assert.ok((await page.locator("main").innerText()).trim() !== "", `${v.name} is empty`);
      await check(page, v);
    }
    clean(faults);
  } finally {
    await context.close();
    await server.stop();
  }
}
