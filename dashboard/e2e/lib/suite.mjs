// Runs tests one after the other and tells what each took.

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

/** Throws if pages have noted anything. */
export function clean(faults) {
  if (faults.length > 0) throw new Error([...new Set(faults)].join("\n"));
}

/** How many tests have failed. */
export function failures() {
  return failed.length;
}
