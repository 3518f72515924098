import assert from "node:assert/strict";
import { test } from "node:test";
import { build, find, pathOf, place, search } from "../src/views/flame/tree";
import { cellsOf, heat, marks, rowEnd, rowsOf, viridis, within } from "../src/views/heatmap/scale";

const sites = [
  { process: "p", pid: 1, heads: ["op"], frames: ["leaf", "f", "main"], value: 60, calls: 6 },
  { process: "p", pid: 1, heads: ["op"], frames: ["f", "f", "main"], value: 30, calls: 3 },
  { process: "p", pid: 1, heads: ["op"], frames: [], value: 10, calls: 1 },
  { process: "q", pid: 2, heads: ["op"], frames: ["main"], value: 100, calls: 1 },
];

test("the values of a flame graph's nodes add up", () => {
  const root = build(sites, "all");
  assert.equal(root.value, 200);
  const visit = (n) => {
    const below = n.children.reduce((s, c) => s + visit(c), 0);
    assert.ok(below <= n.value);
    if (n.kind !== "frame" && n.children.length) assert.equal(below, n.value, n.name);
    return n.value;
  };
  visit(root);
  const boxes = place(root, 0);
  assert.ok(boxes.every((b) => Math.abs(b.to - b.from - b.node.value / 200) < 1e-9));
  assert.deepEqual(boxes.filter((b) => b.depth === 1).map((b) => b.node.name), ["p 1", "q 2"]);
  assert.ok(boxes.some((b) => b.node.kind === "unknown" && b.node.value === 10));
  assert.ok(place(root, 0.2).every((b) => b.to - b.from >= 0.2));
});

test("zooming into a node makes it as wide as the graph", () => {
  const root = build(sites, "all");
  const p = root.children.find((c) => c.name === "p 1");
  const boxes = place(p, 0);
  assert.deepEqual(boxes.slice(0, 2).map((b) => [b.node.name, b.from, b.to]), [["all", 0, 1], ["p 1", 0, 1]]);
  assert.ok(!boxes.some((b) => b.node.name === "q 2"));
  assert.equal(find(build(sites, "all"), pathOf(p.children[0])).name, "op");
  assert.equal(find(root, ["processgone"]), root);
});

test("a search counts each stack once", () => {
  const root = build(sites, "all");
  assert.equal(search(root, "F").value, 90, "one stack has the name twice");
  assert.equal(search(root, "main").value, 190);
  assert.equal(search(root, " ").found.size, 0);
  assert.equal(search(root, "nowhere").value, 0);
});

test("a node may have any name", () => {
  const odd = ["__proto__", "constructor", "<b>", ""].map((name) => ({ process: name, pid: 1, heads: [name], frames: [name], value: 1, calls: 1 }));
  assert.equal(build(odd, "all").children.length, 4);
});

test("the heat map's cells: rows, and sums of a selection", () => {
  const cells = cellsOf([0, 40, 5, 3, 44, 1]);
  assert.deepEqual(cells, [{ column: 0, row: 40, n: 5 }, { column: 3, row: 44, n: 1 }]);
  const { low, high } = rowsOf(cells);
  assert.ok(low < 40 && high > 44);
  assert.equal(within(cells, { column0: 0, column1: 2, row0: 0, row1: 100 }), 5);
  assert.equal(within(cells, { column0: 0, column1: 3, row0: 41, row1: 44 }), 1);
  assert.equal(rowEnd(40), 1024);
});

test("the axis has 1 to 30 lines for any number of rows", () => {
  for (const [low, high] of [[0, 4], [38, 46], [0, 250], [100, 112]]) {
    const list = marks(low, high);
    assert.ok(list.length >= 1 && list.length <= 30, `${list.length} from ${low} to ${high}`);
    assert.ok(list.every((ns) => ns >= rowEnd(low - 1) && ns <= rowEnd(high)));
  }
});

test("cells with more calls are lighter; one call is visible, too", () => {
  assert.equal(heat(1, 1), 1);
  assert.equal(heat(1, 100), 0);
  assert.ok(heat(10, 100) < heat(50, 100));
  assert.equal(viridis(0, false), "rgb(68 1 84)");
  assert.notEqual(viridis(0, true), viridis(0, false));
  assert.equal(viridis(1, true), viridis(1, false));
});
