// Runs the tests of what the page computes without a browser: npm test. They are built the
// way the page is, because Node.js does not read TypeScript in all versions.
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "vite";

const here = fileURLToPath(new URL(".", import.meta.url));
const outDir = here + "../node_modules/.tests";
const input = readdirSync(here)
  .filter((f) => f.endsWith(".test.mjs"))
  .map((f) => here + f);
await build({ configFile: false, root: here + "..", logLevel: "warn", build: { ssr: true, outDir, emptyOutDir: true, rolldownOptions: { input } } });
const built = readdirSync(outDir).filter((f) => f.endsWith(".test.js")).map((f) => `${outDir}/${f}`);
if (built.length !== input.length) throw new Error(`${built.length} of ${input.length} test files were built`);
process.exit(spawnSync(process.execPath, ["--test", ...built], { stdio: "inherit" }).status ?? 1);
