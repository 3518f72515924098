// Starts the machine's Chromium, and opens pages whose errors are collected.
import { chromium } from "playwright-core";

export const size = { width: 1200, height: 750 };

export async function start(executable) {
  const args = ["--no-sandbox", "--disable-dev-shm-usage", "--font-render-hinting=none", "--disable-lcd-text"];
  return chromium.launch({ executablePath: executable, args });
}

/**
 * Opens a context. Errors of its pages, violations of the security policy and requests to other
 * origins are collected in faults. expected has the HTTP statuses of failures that a test causes.
 */
export async function open(browser, server, { dark = false, expected = [], viewport = size } = {}) {
  const context = await browser.newContext({
    viewport,
    ignoreHTTPSErrors: true, // the certificate is the server's own
    colorScheme: dark ? "dark" : "light",
    reducedMotion: "reduce",
    timezoneId: "UTC",
    locale: "en-GB",
  });
  const faults = [];
  const origin = new URL(server.url).origin;
  const asExpected = (text) => expected.some((status) => text.includes(`status of ${status}`));
  await context.addInitScript(() => {
    addEventListener("securitypolicyviolation", (e) => console.error(`policy: ${e.violatedDirective} ${e.blockedURI}`));
    addEventListener("unhandledrejection", (e) => console.error(`unhandled: ${e.reason}`));
  });
  context.on("request", (r) => {
    const url = new URL(r.url());
    if (url.origin !== origin && url.protocol !== "blob:") faults.push(`request to ${r.url()}`);
  });
  context.on("console", (m) => {
    if (["error", "warning"].includes(m.type()) && !asExpected(m.text())) faults.push(`console: ${m.text()} (${m.location().url})`);
  });
  context.on("weberror", (e) => faults.push(`error: ${e.error().stack ?? e.error()}`));
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  return { context, page, faults };
}

/** Opens an address of the page and waits until the answers to its requests are shown. */
export async function show(page, server, hash) {
  await page.goto(server.url + hash);
  await settled(page);
}

/** Waits until no request is open and no answer leads to another one. */
export async function settled(page) {
  await page.evaluate(async () => {
    for (let quiet = 0; quiet < 5; quiet++) {
      await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
      if (document.body.ariaBusy !== "false") quiet = -1;
    }
  });
}

/** The views that the page has: their names, titles and keys. */
export async function views(page, server) {
  await show(page, server, "");
  return page.$$eval("nav[aria-label=views] a", (tabs) =>
    tabs.map((a) => ({ name: a.hash.replace(/^#\/|\?.*$/g, ""), title: a.textContent, key: a.title.replace("key ", "") })),
  );
}

/** The API's answer to a request that the page makes. */
export async function api(page, path, body) {
  return page.evaluate(
    async ([path, body]) => {
      const headers = { Authorization: "Bearer " + sessionStorage.getItem("ingero-token") };
      const answer = await fetch("api/v1/" + path, body ? { method: "POST", headers, body: JSON.stringify(body) } : { headers });
      if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
      return answer.json();
    },
    [path, body],
  );
}

/** The rows of a SQL statement. */
export async function sql(page, statement) {
  return (await api(page, "query", { sql: statement, limit: 1000 })).rows;
}
