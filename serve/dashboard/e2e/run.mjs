// Tests the page of "ingero dashboard" in a real Chromium; make test-dashboard runs it.
//
//   node run.mjs --ingero FILE --made FILE --recordings DIR [--out DIR] [--keep DIR] [--only PART] [--chromium FILE]
//
// --out writes a picture of every view to DIR, light and dark; --keep those of the documentation.
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { start } from "./lib/browser.mjs";
import { failures } from "./lib/suite.mjs";
import * as charts from "./tests/charts.mjs";
import * as compare from "./tests/compare.mjs";
import * as content from "./tests/content.mjs";
import * as broken from "./tests/broken.mjs";
import * as keys from "./tests/keys.mjs";
import * as live from "./tests/live.mjs";
import * as pictures from "./tests/pictures.mjs";
import * as report from "./tests/report.mjs";
import * as token from "./tests/token.mjs";
import * as timeline from "./tests/timeline.mjs";
import * as views from "./tests/views.mjs";

const parts = { views, content, timeline, charts, compare, report, keys, token, live, broken, pictures };
const string = { type: "string" };
const { values: flags } = parseArgs({
  options: { ingero: string, made: string, recordings: string, out: string, keep: string, only: string, chromium: { ...string, default: "/usr/bin/chromium" } },
});

const began = performance.now();
const dir = mkdtempSync(join(tmpdir(), "ingero-dashboard-"));
const million = join(dir, "million.db");
let code = 1;
try {
  execFileSync(flags.made, [million], { stdio: "inherit" });
  if (flags.out) mkdirSync(flags.out, { recursive: true });
  const browser = await start(flags.chromium);
  try {
    for (const [name, part] of Object.entries(parts)) {
      if (!flags.only || flags.only === name) await part.run({ browser, dir, million, ...flags });
    }
  } finally {
    await browser.close();
  }
  code = failures() > 0 ? 1 : 0;
} finally {
  rmSync(dir, { recursive: true, force: true });
}
console.log(`${failures()} failed, in ${((performance.now() - began) / 1000).toFixed(1)} s`);
process.exit(code);
