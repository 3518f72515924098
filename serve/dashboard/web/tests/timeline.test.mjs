import assert from "node:assert/strict";
import { test } from "node:test";
import { ticks, tickStep } from "../src/axis";
import { sumsOf } from "../src/views/timeline/data";
import { Layout, size } from "../src/views/timeline/layout";
import { askedFor, childrenOf, Kept, levelFor, parentOf, startOf, tilesOf, widthOf } from "../src/views/timeline/tiles";
import { atEnd, clamp, pan, zoom } from "../src/views/timeline/view";

const hour = 3600e9;
const limits = { first: 0, last: hour, least: 1000 };

test("zooming keeps the time under the pointer in place", () => {
  let v = { from: 0, to: hour };
  const at = (v, share) => v.from + share * (v.to - v.from);
  const before = at(v, 0.3);
  for (let i = 0; i < 100; i++) v = zoom(v, 0.7, 0.3, limits);
  assert.equal(Math.round(v.to - v.from), 1000);
  assert.ok(Math.abs(at(v, 0.3) - before) < 10, `${at(v, 0.3)}, was ${before}`);
});

test("a view does not leave the recording", () => {
  for (const v of [{ from: -1e18, to: -1e18 + 5 }, { from: 1e18, to: 2e18 }, { from: -1e19, to: 1e19 }, { from: 5, to: 5 }, pan({ from: 0, to: hour }, 99, limits)]) {
    const c = clamp(v, limits);
    assert.ok(c.to - c.from >= 1000 && c.to - c.from <= hour * 1.2 + 1, JSON.stringify(c));
    assert.ok(c.to > 0 && c.from < hour, JSON.stringify(c));
  }
  const still = { from: hour / 4, to: hour / 2 };
  assert.deepEqual(clamp(still, limits), still);
});

test("only a view that shows the end follows the recording", () => {
  assert.ok(atEnd({ from: hour / 2, to: hour }, limits));
  assert.ok(!atEnd({ from: 0, to: hour / 2 }, limits));
});

test("ticks are few, and within the view", () => {
  const origin = 1735689600e9 + 2 ** 30;
  for (let width = 1000; width < 1e18; width *= 3.7) {
    const v = { from: 12345.678, to: 12345.678 + width };
    const list = ticks(v, 10, origin, String);
    assert.ok(list.length <= 11, `${list.length} for ${width}`);
    assert.ok(list.every((t) => t.at >= v.from && t.at <= v.to));
    assert.ok(tickStep(width, 10) >= width / 10);
  }
  const [tick] = ticks({ from: 0, to: 5e9 }, 5, origin, (unix) => String(unix % 1e9));
  assert.equal(tick.label, "0");
});

test("tiles of each level cover a view without gaps", () => {
  const origin = Math.floor(1735689600123456789 / 2 ** 30) * 2 ** 30;
  for (let width = 1000; width < 1e17; width *= 2.3) {
    const v = { from: 7e9, to: 7e9 + width };
    const level = levelFor(v, 1156);
    const tiles = tilesOf(v, level, 0, origin, 0, 1e18);
    assert.ok(tiles.length >= 1 && tiles.length <= 5, `${tiles.length} tiles for ${width}`);
    assert.ok(startOf(tiles[0]) - origin <= v.from);
    assert.ok(startOf(tiles.at(-1)) + widthOf(level) - origin >= v.to);
    tiles.slice(1).forEach((t, i) => assert.equal(startOf(t), startOf(tiles[i]) + widthOf(level)));
    for (const t of tiles) {
      assert.equal(BigInt(startOf(t)) % 2n ** BigInt(Math.min(level, 40)), 0n, "the start of a tile is exact");
      assert.deepEqual(childrenOf(parentOf(t))[t.index % 2], t);
      const asked = askedFor(t);
      assert.ok(asked.level >= 20 && startOf(asked) <= startOf(t) && startOf(asked) + widthOf(asked.level) >= startOf(t) + widthOf(level));
    }
  }
});

test("the cache keeps what was used last", () => {
  const k = new Kept(2);
  k.set("a", 1);
  k.set("b", 2);
  k.get("a");
  k.set("c", 3);
  assert.deepEqual([...k.values()], [1, 3]);
});

test("a position leads to its lane, among thousands", () => {
  const lanes = Array.from({ length: 5000 }, (_, i) => (i % 7 === 3 ? undefined : { node: "n", pid: Math.floor(i / 10), tid: i, process: "p", thread: "t", rank: -1, depth: (i % 9) - 1 }));
  const l = new Layout(lanes, 600);
  assert.equal(l.rows.length, 5000);
  for (const r of l.rows) {
    assert.equal(l.at(r.top), r);
    assert.equal(l.at(r.top + r.height - 1), r);
    assert.equal(r.height, r.head + r.calls + r.waits + size.gap);
  }
  assert.equal(l.at(-1), undefined);
  assert.equal(l.at(l.height), undefined);
  const seen = l.between(10_000, 10_600);
  assert.ok(seen.length < 60 && seen[0].top <= 10_000 && seen.at(-1).top + seen.at(-1).height >= 10_600);
  assert.ok(new Layout(lanes.slice(1, 2), 600).rows[0].calls > l.rows[1].calls, "lanes are higher if there are few");
});

test("sums are clipped to the selected time", () => {
  const lane = { tid: 1, calls: [0, 100, 0, 0, 1, 100, 50, 20, 1, 1, 1, 20, 200, 10, 0, 0, 3, 40], waits: [10, 40, 1] };
  const single = { bucket_ns: 0, ops: ["a", "b"], classes: ["x", "y"], lanes: [lane] };
  assert.deepEqual(sumsOf(single, 30, 205), { calls: [{ name: "a", ns: 70 + 20, n: 3 }], waits: [{ name: "y", ns: 20, n: 0 }], exact: true });
  const sums = { bucket_ns: 100, ops: ["a", "b"], classes: ["x"], lanes: [{ tid: 1, calls: [0, 0, 50, 5, 0, 1, 10, 1, 2, 0, 100, 2], waits: [1, 0, 80, 4] }] };
  assert.deepEqual(sumsOf(sums, 0, 300).calls, [{ name: "a", ns: 150, n: 7 }, { name: "b", ns: 10, n: 1 }]);
  const half = sumsOf(sums, 0, 250);
  assert.deepEqual([half.calls[0], half.waits[0], half.exact], [{ name: "a", ns: 100, n: 6 }, { name: "x", ns: 80, n: 4 }, false]);
  assert.deepEqual(sumsOf(sums, 0, 300, (l) => l.tid === 2).calls, []);
});
