// Mouse and keys on the timeline, and its frames per second while it moves. ctx.url is the
// address of a server without a token. Its recording has many calls, and a finding whose cause
// is another process.
import assert from "node:assert/strict";
import { api } from "../lib/browser.mjs";
import { alone } from "../lib/suite.mjs";

const canvas = ".timeline .stage > canvas";

/** Waits until all that is visible is drawn. */
async function drawn(page) {
  await page.waitForFunction((c) => document.querySelector(c)?.stage?.still, canvas);
}

/** The visible window and the recording's, in ns since the same origin. */
const view = (page) => page.evaluate((c) => (({ view, limits }) => ({ ...view, ...limits }))(document.querySelector(c).stage), canvas);

async function show(page, ctx, hash) {
  await page.goto("about:blank");
  await page.goto(`${ctx.url.replace(/\/$/, "")}/${hash}`);
  await drawn(page);
}

/** The number of pixels of the lanes that do not have the colour of the background. */
const painted = (page) =>
  page.evaluate((c) => {
    const { canvas, width, height, ratio } = document.querySelector(c).stage;
    const copy = document.createElement("canvas"); // reading from a canvas would make it slow from then on
    copy.width = (width - 220) * ratio;
    copy.height = (height - 80) * ratio;
    const g = copy.getContext("2d", { willReadFrequently: true });
    g.drawImage(canvas, -215 * ratio, -70 * ratio);
    const d = g.getImageData(0, 0, copy.width, copy.height).data;
    let n = 0;
    for (let i = 0; i < d.length; i += 4) n += d[i] !== d[0] || d[i + 1] !== d[1] || d[i + 2] !== d[2] ? 1 : 0;
    return n;
  }, canvas);

/** The first visible item of the kind, not in a bucket, and its place on the page. */
async function item(page, kind) {
  const at = await page.evaluate(
    ([c, kind]) => {
      const s = document.querySelector(c).stage;
      for (const row of s.layout.rows) {
        const y = s.y(row) + row.head + (kind === "call" ? 4 : row.calls + 4);
        for (let x = 230; y < s.height && x < s.width - 10; x += 2) if (s.at(x, y)?.kind === kind) return { x, y, ...s.at(x, y), row: undefined };
      }
      return undefined;
    },
    [canvas, kind],
  );
  assert.ok(at, `nothing of kind ${kind} is seen`);
  const box = await page.locator(canvas).boundingBox();
  return { ...at, x: box.x + at.x, y: box.y + at.y };
}

export async function run(o) {
  await alone(o, "timeline", check);
  await alone(o, "timeline: frames", async (page, ctx) => {
    for (const [name, f] of Object.entries(await frames(page, ctx))) {
      console.log(`      ${name}: ${f.fps.toFixed(1)} frames a second, median ${f.median.toFixed(1)} ms, worst ${f.worst.toFixed(0)} ms`);
      assert.ok(f.frames > 20, `${f.frames} frames were drawn`);
    }
  });
}

/** The labels of a process are bands in the line with its name, the epochs above the steps. */
async function bands(page) {
  const told = (await api(page, "labels?since=all&pid=4000&limit=5000")).labels;
  const keys = () =>
    page.evaluate((c) => {
      const s = document.querySelector(c).stage;
      const row = s.layout.rows.find((r) => r.head > 0 && s.bands.keys(r.info) > 0);
      return row && { head: row.head, keys: s.bands.of.get(`${row.info.pid} ${row.info.node}`).map((k) => [k.name, k.list.length]) };
    }, canvas);
  await page.waitForFunction((c) => document.querySelector(c).stage.layout.rows.some((r) => r.head > 30), canvas);
  const of = (key) => told.filter((l) => l.key === key).length;
  const shown = await keys();
  assert.deepEqual(shown.keys, [["epoch", of("epoch")], ["step", of("step")]]);
  assert.ok(of("step") > of("epoch") && of("epoch") > 1, `${of("step")} steps and ${of("epoch")} epochs are told`);
}

async function check(page, ctx) {
  await show(page, ctx, "#/timeline");
  assert.ok((await painted(page)) > 500, "hardly anything is drawn");
  const all = await view(page);
  await bands(page);

  // The wheel zooms around the pointer, dragging and keys move the view, Home shows all again.
  const box = await page.locator(canvas).boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + 200);
  for (let i = 0; i < 8; i++) await page.mouse.wheel(0, -200);
  await drawn(page);
  const near = await view(page);
  assert.ok(near.to - near.from < (all.to - all.from) / 10, "the wheel does not zoom");
  await page.mouse.down();
  await page.mouse.move(box.x + box.width / 2 - 200, box.y + 200, { steps: 4 });
  await page.mouse.up();
  const moved = await view(page);
  assert.ok(moved.from > near.from && Math.abs(moved.to - moved.from - (near.to - near.from)) < 2, "dragging does not move");
  await page.keyboard.press("a");
  assert.ok((await view(page)).from < moved.from, "A does not move back");
  await page.waitForFunction((c) => {
    const { origin, view } = document.querySelector(c).stage;
    return location.hash.includes(`from=${BigInt(origin) + BigInt(Math.round(view.from))}`);
  }, canvas);

  // Another view has the same window, and going back shows it again.
  const kept = await view(page);
  await page.keyboard.press("5");
  await page.locator(".heatmap").waitFor();
  await page.keyboard.press("2");
  await drawn(page);
  const back = await view(page);
  assert.ok(Math.abs(back.from - kept.from) < 1000 && Math.abs(back.to - kept.to) < 1000, `${JSON.stringify(back)}, was ${JSON.stringify(kept)}`);
  await page.keyboard.press("Home");
  await page.waitForFunction(() => !/from=/.test(location.hash));

  // A click on a call shows what the API returns.
  const middle = (all.first + all.last) / 2;
  await page.evaluate(([c, t]) => document.querySelector(c).stage.go({ from: t - 5e6, to: t + 5e6 }), [canvas, middle]);
  await drawn(page);
  assert.ok((await painted(page)) > 500, "hardly anything is drawn where calls are one by one");
  const call = await item(page, "call");
  await page.mouse.click(call.x, call.y);
  await page.locator(".timeline .detail h2", { hasText: call.name }).waitFor();
  await page.locator(".timeline .detail dt", { hasText: "returned" }).waitFor();
  await page.keyboard.press("Escape");
  await page.locator(".timeline .detail").waitFor({ state: "detached" });

  // The same with keys alone: a call, and the one after it.
  await page.keyboard.press("Enter");
  const picked = () => page.evaluate((c) => document.querySelector(c).stage.picked?.start, canvas);
  const one = await picked();
  await page.locator(".timeline .detail").waitFor();
  await page.keyboard.press("]");
  assert.ok((await picked()) > one, "] does not go on");
  await page.keyboard.press("Escape");
  await page.locator(".timeline .detail").waitFor({ state: "detached" });

  // Dragging with Shift shows sums.
  await page.keyboard.down("Shift");
  await page.mouse.move(box.x + 300, box.y + 200);
  await page.mouse.down();
  await page.mouse.move(box.x + 700, box.y + 210, { steps: 4 });
  await page.mouse.up();
  await page.keyboard.up("Shift");
  await page.locator(".timeline .detail table tr").first().waitFor();
  await page.keyboard.press("Escape");

  // The next call of an operation.
  await page.getByLabel("operation to find").fill(call.name);
  await page.getByRole("button", { name: "next" }).click();
  await page.locator(".timeline .detail h2", { hasText: call.name }).waitFor();
  await finding(page, ctx);
}

/** The chain of a finding is drawn. */
async function finding(page, ctx) {
  await show(page, ctx, "#/timeline");
  const id = await page.evaluate(async () => {
    const r = await (await fetch("api/v1/chains?since=all")).json();
    return r.chains.find((c) => c.path.length > 1 && c.evidence.event_ids.length > 0)?.id;
  });
  assert.ok(id, "the recording has no finding with a cause elsewhere");
  await show(page, ctx, `#/timeline?finding=${encodeURIComponent(id)}`);
  await page.waitForFunction((c) => document.querySelector(c).stage.arrows.length > 0, canvas);
  await page.locator(".timeline .finding").waitFor();
  const { marks, width } = await page.evaluate((c) => (({ marks, view }) => ({ marks: marks.length, width: view.to - view.from }))(document.querySelector(c).stage), canvas);
  assert.ok(marks > 0 && width < 3e9, `${marks} marks, ${width} ns are seen`);
}

/** Measures how long frames take while the view moves, ms. Not judged: others may use the machine. */
async function frames(page, ctx) {
  await show(page, ctx, "#/timeline");
  const out = {};
  const box = await page.locator(canvas).boundingBox();
  for (const [name, width] of [["all", Infinity], ["sums", 1e9], ["one by one", 2e7]]) {
    const { first, last } = await view(page);
    await page.evaluate(([c, t, w]) => document.querySelector(c).stage.go({ from: t - w / 2, to: t + w / 2 }), [canvas, (first + last) / 2, Math.min(width, (last - first) / 3)]);
    await drawn(page);
    await page.evaluate(() => {
      const d = (window.frameTimes = []);
      let before = performance.now();
      const next = (t) => {
        d.push(t - before);
        before = t;
        if (window.frameTimes === d) requestAnimationFrame(next);
      };
      requestAnimationFrame(next);
    });
    for (let round = 0; round < 2; round++) {
      const way = round % 2 ? -1 : 1;
      await page.mouse.move(box.x + 700, box.y + 250);
      await page.mouse.down();
      for (let i = 1; i <= 60; i++) await page.mouse.move(box.x + 700 - way * i * 7, box.y + 250);
      await page.mouse.up();
    }
    const d = await page.evaluate(() => {
      const d = window.frameTimes.slice(2);
      window.frameTimes = undefined;
      return d.sort((a, b) => a - b);
    });
    out[name] = { frames: d.length, median: d[d.length >> 1], p95: d[Math.floor(d.length * 0.95)], worst: d.at(-1), fps: 1000 / (d.reduce((a, b) => a + b) / d.length) };
  }
  return out;
}
