// Runs tests one after the other and prints how long each took.
import { open } from "./browser.mjs";
import { serve } from "./server.mjs";

const failed = [];

/** Runs one test; a test that fails does not end the others. */
export async function test(name, run) {
  const began = performance.now();
  try {
    await run();
    console.log(`ok    ${name} (${Math.round(performance.now() - began)} ms)`);
  } catch (e) {
    failed.push(name);
    console.log(`FAIL  ${name}\n      ${(e.stack ?? String(e)).replaceAll("\n", "\n      ")}`);
  }
}

/** Throws if there are faults (see open). */
export function clean(faults) {
  if (faults.length > 0) throw new Error([...new Set(faults)].join("\n"));
}

/** The number of failed tests. */
export function failures() {
  return failed.length;
}

/** Runs one test with a page and a server of its own, on a million events. It fails on faults of the page. */
export async function alone(o, name, check) {
  await test(name, async () => {
    const server = await serve(o.ingero, o.million, { home: o.dir });
    const { context, page, faults } = await open(o.browser, server);
    try {
      await check(page, server);
      clean(faults);
    } finally {
      await context.close();
      await server.stop();
    }
  });
}
