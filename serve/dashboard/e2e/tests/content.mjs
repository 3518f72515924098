// The views show what the API and SQL return.
import assert from "node:assert/strict";
import { join } from "node:path";
import { api, open, settled, show, sql } from "../lib/browser.mjs";
import { serve } from "../lib/server.mjs";
import { clean, test } from "../lib/suite.mjs";

export async function run(o) {
  const checks = { overview, findings, ledger, memory, nccl, host, sites, scope };
  await on(o, o.million, checks);
  await on(o, join(o.recordings, "lock-through-disk.db"), { overview, findings, ledger, host, noSites });
  await on(o, join(o.recordings, "memory-leak.db"), { overview, findings, memory });
  await on(o, join(o.recordings, "healthy.db"), { overview, findings });
}

async function on(o, file, checks) {
  const server = await serve(o.ingero, file, { home: o.dir });
  const { context, page, faults } = await open(o.browser, server);
  try {
    await show(page, server, "");
    for (const [name, check] of Object.entries(checks)) {
      await test(`${name} shows what ${file.split("/").at(-1)} has`, async () => {
        await check(page, server);
        clean(faults);
      });
    }
  } finally {
    await context.close();
    await server.stop();
  }
}

/** The text of an element without the thin spaces of numbers. */
async function text(at) {
  return (await at.innerText()).replaceAll("\u202f", "").replace(/\s+/g, " ");
}

/** The rows of a table, as texts of their cells. */
async function cells(table) {
  const rows = await table.locator("tbody tr").evaluateAll((list) => list.map((tr) => [...tr.children].map((c) => c.innerText)));
  return rows.map((r) => r.map((c) => c.replaceAll("\u202f", "").replace(/\s+/g, " ").trim()));
}

/** The table below a title. */
function below(page, title) {
  return page.locator("section", { has: page.getByRole("heading", { name: title, exact: true }) }).last().locator("table");
}

async function overview(page, server) {
  await show(page, server, "#/overview");
  const report = await api(page, "chains?since=all");
  assert.equal(await page.locator("h1.verdict").innerText(), report.verdict);
  assert.deepEqual(await page.locator(".card .summary").allInnerTexts(), report.chains.map((c) => c.summary));
  assert.ok((await text(page.locator(".facts"))).includes(`calls ${report.events} `));
  const lost = Object.values(report.lost);
  assert.equal(await page.locator(".losses").count(), lost.length > 0 ? 1 : 0);
  for (const n of lost) assert.ok((await text(page.locator(".losses"))).includes(`${n} `), `${n} losses are not shown`);
  const { ops } = await api(page, "ops?since=all");
  const shown = await cells(below(page, "Operations"));
  assert.deepEqual(shown.map((r) => [r[1], r[2]]), ops.slice(0, 15).map((op) => [op.op, String(op.calls)]));
}

async function findings(page, server) {
  const report = await api(page, "chains?since=all");
  if (report.chains.length === 0) {
    await show(page, server, "#/findings");
    assert.equal(await page.locator("h1.verdict").innerText(), report.verdict);
  }
  for (const c of report.chains) {
    await show(page, server, `#/findings?finding=${c.id}`);
    const finding = page.locator("article.finding");
    const all = await text(finding);
    const said = [c.summary, c.cause.kind, c.cause.detail, `${c.explained_pct} %`, ...c.recommendations, ...c.stack, c.counter_evidence ?? ""];
    said.push(...(c.alternatives ?? []).map((a) => a.why), ...(c.owners ?? []).map((w) => w.text ?? ""), c.id);
    said.push(...(c.rest ?? []).map((r) => r.what), ...(c.also ?? []), ...(c.culprits ?? []).map((w) => w.process), c.what_if?.remains ?? "");
    for (const s of said) assert.ok(all.includes(s.replace(/\s+/g, " ")), `"${s}" is not shown`);
    assert.equal(await finding.locator(".path li").count(), c.path.length);
    assert.equal(await finding.locator(".when rect.part").count(), c.pattern?.timeline.length ?? 0);
    if (c.evidence.event_ids.length > 0) await evidence(page, finding, c);
  }
}

/** A finding has the rows that SQL returns. A row that is opened shows what its thread waited for. */
async function evidence(page, finding, c) {
  const rows = finding.locator(".evidence button.row");
  const ids = c.evidence.event_ids.map((id) => `'${id}'`).join();
  const stored = await sql(page, ["events", "ledger", "collectives"].map((view) => `select id from ${view} where id in (${ids})`).join(" union "));
  assert.equal(await rows.count(), stored.length);
  assert.ok((await rows.count()) > 0, "no rows are shown");
  await rows.first().click();
  await settled(page);
  assert.equal(await rows.first().getAttribute("aria-expanded"), "true");
  const id = await rows.first().getAttribute("title");
  const [[from, to]] = await sql(page, `select cast(timestamp as text), cast(timestamp + duration_ns as text) from ${id.endsWith("o") ? "off_cpu" : "ledger"} where id = '${id}'`);
  const waits = await sql(page, `select class, duration_ns from off_cpu where tid = ${c.effect.tid} and timestamp >= ${from} and timestamp < ${to}`);
  assert.equal(await finding.locator(".inside .wait").count(), waits.length);
  assert.ok(waits.length === 0 || (await finding.locator(".inside .frames li").count()) > 0, "no stack is shown");
  const link = new URLSearchParams((await finding.locator(".evidence a").first().getAttribute("href")).split("?")[1]);
  assert.ok(Number(link.get("from")) < Number(from) && Number(link.get("to")) > Number(to), "the link leads elsewhere");
}

async function ledger(page, server) {
  await show(page, server, "#/ledger");
  const { threads } = await api(page, "ledger?since=all");
  assert.equal(await page.locator(".thread").count(), threads.length);
  for (const [i, t] of threads.entries()) {
    const shown = page.locator(".thread").nth(i);
    assert.ok((await text(shown)).includes(`${t.calls} calls`));
    for (const [bar, ns] of [t.in_calls_ns, t.between_calls_ns].entries()) {
      const parts = await shown.locator(".parts").nth(bar).evaluate((e) => [...e.children].map((p) => p.getBoundingClientRect().width / e.getBoundingClientRect().width));
      const sum = Object.values(ns).reduce((a, b) => a + b, 0) / t.wall_ns;
      assert.equal(parts.length, Object.keys(ns).length);
      assert.ok(Math.abs(parts.reduce((a, b) => a + b, 0) - sum) < 0.02, `a bar has ${parts}, not ${sum} in all`);
    }
    assert.ok(Math.abs(t.calls_ns - Object.values(t.in_calls_ns).reduce((a, b) => a + b, 0)) <= t.calls_ns / 1000);
  }
}

async function memory(page, server) {
  await show(page, server, "#/memory");
  const rows = await sql(page, "select pid, space, max(peak_bytes), sum(failed) from memory group by pid, space order by live_bytes desc");
  const shown = await cells(below(page, "Processes"));
  const gib = (n) => (n >= 2 ** 30 ? `${(n / 2 ** 30).toFixed(n >= 10 * 2 ** 30 ? 1 : 2)} GiB` : `${(n / 2 ** 20).toFixed(0)} MiB`);
  assert.deepEqual(shown.map((r) => [r[1], r[2], r[5], r[8]]).sort(), rows.map((r) => [String(r[0]), r[1], gib(r[2]), String(r[3])]).sort());
  await page.locator(".chart canvas").first().waitFor();
  const refused = (await sql(page, "select sum(failed) from memory"))[0][0];
  assert.equal(await below(page, "Allocations that were refused").locator("tbody tr").count(), refused);
}

async function nccl(page, server) {
  await show(page, server, "#/nccl");
  const last = await sql(page, "select last_rank, count(*) from collective_arrivals group by 1 order by sum(late_ns) desc");
  assert.ok(last.length > 0);
  assert.deepEqual((await cells(below(page, "Who was last"))).map((r) => [r[1], r[3]]), last.map((r) => r.map(String)));
  const ranks = await sql(page, "select rank, count(*) from collectives group by communicator, rank order by rank");
  assert.deepEqual((await cells(below(page, "Ranks"))).map((r) => [r[1], r[4]]), ranks.map((r) => r.map(String)));
  assert.equal(await page.locator(".chart canvas").count(), 2);
}

async function host(page, server) {
  await show(page, server, "#/host");
  const { processes } = await api(page, "processes");
  const shown = await cells(page.locator("section", { has: page.getByRole("heading", { name: "Processes", exact: true }) }).locator("table").first());
  const order = processes.toSorted((a, b) => b.traced - a.traced || a.pid - b.pid).map((p) => [String(p.pid), p.name]);
  assert.deepEqual(shown.map((r) => [r[0], r[2]]), order.slice(0, 15));
  const views = (await sql(page, "select name from sqlite_master where type = 'view'")).flat();
  if (!views.includes("syscalls")) return;
  const calls = await sql(page, "select syscall, sum(calls) from syscalls group by pid, syscall order by sum(total_ns) desc");
  assert.deepEqual((await cells(below(page, "System calls"))).map((r) => [r[2], r[3]]), calls.map((r) => r.map(String)));
}

/** The view has each call site that waits for the GPU, with SQL's counts. It is named if a stack was recorded. */
async function sites(page, server) {
  await show(page, server, "#/sites");
  const rows = await sql(page, "select op, call_site, sum(calls), sum(sum_ns), max(max_ns) from wait_sites where pid = 4000 group by 1, 2 order by 4 desc");
  assert.ok(rows.length >= 2, "the recording has too few places for this test");
  const shown = await cells(page.locator("main table"));
  const { sites: listed } = await api(page, "call_sites?since=all");
  assert.deepEqual(listed.map((o) => [o.op, o.call_site, o.calls, o.total_ns, o.max_ns]), rows);
  const digits = (x) => x.toFixed(x >= 99.95 ? 0 : x >= 9.995 ? 1 : 2);
  const time = (ns) => (ns >= 1e9 ? `${digits(ns / 1e9)} s` : ns >= 1e6 ? `${digits(ns / 1e6)} ms` : `${digits(ns / 1e3)} µs`);
  const all = rows.reduce((sum, r) => sum + r[3], 0);
  for (const [i, o] of listed.entries()) {
    const said = [o.op, String(o.calls), ...[o.p50_ns, o.p99_ns, o.max_ns, o.total_ns].map(time)];
    assert.deepEqual([shown[i][1], ...shown[i].slice(3, 8)], said);
    assert.ok(shown[i][2].includes(o.call_site), `"${shown[i][2]}" does not say ${o.call_site}`);
    assert.ok(Math.abs(parseFloat(shown[i][8]) - (100 * o.total_ns) / all) < 0.6, `${shown[i]} is of ${all} ns`);
  }
  assert.match(shown[0][2], /^at::cuda::stream_synchronize \[libtorch_cuda.so\] 0x\w+, from train.py:60 in item$/);
  assert.match(shown[1][2], /^no stack was taken there 0x7f0000001234$/);
  await show(page, server, "#/sites?pid=4100");
  assert.match(await text(page.locator("main .empty")), /No call waited for the GPU/);
}

/** The view says why it is empty for a recording of an earlier Ingero. */
async function noSites(page, server) {
  await show(page, server, "#/sites");
  const [[n]] = await sql(page, "select sum(calls) from op_seconds where op = 'cudaStreamSynchronize'");
  assert.ok(n > 0);
  assert.ok((await text(page.locator("main .empty"))).startsWith("An earlier Ingero recorded this"));
  assert.ok((await text(page.locator("main .empty"))).includes(`made from: ${n} of them`));
  assert.equal(await page.locator("main table").count(), 0);
}

/** A window and a process apply to all views: the server answers for them, and links keep them. */
async function scope(page, server) {
  const { first_ns: first } = await api(page, "recording");
  const query = `from=${first}&to=${first + 5e9}&pid=4000`;
  await show(page, server, `#/overview?${query}`);
  const part = await api(page, `chains?${query}`);
  assert.ok((await text(page.locator(".facts"))).includes(`calls ${part.events} `));
  assert.equal(await page.locator("header select").inputValue(), "4000");
  await page.locator("nav[aria-label=views] a", { hasText: "NCCL" }).click();
  await settled(page);
  const [[n]] = await sql(page, `select count(*) from collectives where pid = 4000 and timestamp >= ${first} and timestamp < ${first + 5e9}`);
  const ranks = await cells(below(page, "Ranks"));
  assert.deepEqual(ranks.map((r) => [r[1], r[4]]), [["0", String(n)]]);
  await page.keyboard.press("a");
  await settled(page);
  assert.equal(new URLSearchParams(page.url().split("?")[1]).get("from"), null);
}
