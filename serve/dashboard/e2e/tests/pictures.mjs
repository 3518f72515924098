// Takes pictures of every view of a million events, light and dark, for a person to check. With
// --keep, takes those of the documentation.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { open, show, views } from "../lib/browser.mjs";
import { small } from "../lib/png.mjs";
import { serve } from "../lib/server.mjs";
import { clean, test } from "../lib/suite.mjs";

/** The largest size of a picture of the documentation, in bytes. */
const most = 150_000;

export async function run(o) {
  if (!o.out && !o.keep) return;
  for (const dark of [false, true]) await test(`pictures, ${dark ? "dark" : "light"}`, () => all(o, dark));
}

async function all(o, dark) {
  const server = await serve(o.ingero, o.million, { home: o.dir });
  const { context, page, faults } = await open(o.browser, server, { dark });
  try {
    for (const v of await views(page, server)) {
      await show(page, server, `#/${v.name}`);
      if (o.out) await page.screenshot({ path: join(o.out, `${v.name}-${dark ? "dark" : "light"}.png`) });
      if (o.keep && !dark) await keep(page, join(o.keep, `dashboard-${v.name}.png`));
    }
    if (o.keep && dark) await keep(page, join(o.keep, "dashboard-dark.png"), () => show(page, server, "#/overview"));
    clean(faults);
  } finally {
    await context.close();
    await server.stop();
  }
}

async function keep(page, path, before = () => {}) {
  await before();
  const picture = small(await page.screenshot());
  assert.ok(picture.length < most, `${path} has ${picture.length} bytes`);
  writeFileSync(path, picture);
}
