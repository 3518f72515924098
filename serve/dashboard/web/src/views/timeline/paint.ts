// Draws the contents of a tile.

import { darkText, waitPaint, type OpColours, type Paint } from "./colours";
import type { Lane, Lanes } from "../../wire";
import { callsOf, stride, waitsOf } from "./data";
import { deepest, type Row } from "./layout";

/** A span of time that is drawn on a canvas. Times are those of the answer. */
export interface Piece {
  from: number;
  to: number;
  width: number; // pixels
}

interface Brush {
  g: CanvasRenderingContext2D;
  ratio: number; // device pixels per unit
  paint: Paint;
  ops: OpColours;
  piece: Piece;
}

/** Draws lanes of an answer. rows[i] is where lane i is; top is the height at the upper edge. */
export function drawLanes(g: CanvasRenderingContext2D, answer: Lanes, rows: Row[], top: number, piece: Piece, paint: Paint, ops: OpColours): void {
  const b: Brush = { g, ratio: g.getTransform().a, paint, ops, piece };
  answer.lanes.forEach((lane, i) => {
    const row = rows[i];
    if (!row) return;
    const y = row.top - top + row.head;
    if (answer.bucket_ns > 0) {
      callBuckets(b, answer, lane, y, row.calls);
      waitBuckets(b, answer, lane, y + row.calls, row.waits);
    } else {
      singleCalls(b, answer, lane, y, row.call);
      singleWaits(b, answer, lane, y + row.calls, row.waits);
    }
  });
}

function at(p: Piece, t: number): number {
  return ((t - p.from) / (p.to - p.from)) * p.width;
}

/** The place of a time, rounded to a border of pixels, so that there are no gaps between buckets. */
function edge(b: Brush, t: number): number {
  return Math.round(at(b.piece, t) * b.ratio) / b.ratio;
}

/** Visits the items of a list of buckets, stacked in each bucket. */
function stacked(list: number[], visit: (bucket: number, name: number, share0: number, share1: number) => void, full: number): void {
  let bucket = -1;
  let sum = 0;
  for (let i = 0; i + stride.bucket <= list.length; i += stride.bucket) {
    if (list[i] !== bucket) {
      bucket = list[i]!;
      sum = 0;
    }
    const share = list[i + 2]! / full;
    visit(bucket, list[i + 1]!, Math.min(sum, 1), Math.min(sum + share, 1));
    sum += share;
  }
}

/** Draws the rectangles of each name together, because changing colours is slow. */
function drawStacked(b: Brush, answer: Lanes, list: number[], y: number, height: number, least: number, colour: (name: number) => CanvasPattern | string): void {
  const rects = new Map<number, number[]>();
  stacked(
    list,
    (bucket, name, from, to) => {
      const x0 = edge(b, bucket * answer.bucket_ns);
      const x1 = edge(b, (bucket + 1) * answer.bucket_ns);
      if (x1 < 0 || x0 > b.piece.width) return;
      const h = Math.max((to - from) * height, least);
      let of = rects.get(name);
      if (!of) rects.set(name, (of = []));
      of.push(x0, y + height - Math.max(to * height, least), x1 - x0, h);
    },
    answer.bucket_ns,
  );
  for (const [name, of] of rects) {
    b.g.fillStyle = colour(name);
    for (let i = 0; i < of.length; i += 4) b.g.fillRect(of[i]!, of[i + 1]!, of[i + 2]!, of[i + 3]!);
  }
}

function callBuckets(b: Brush, answer: Lanes, lane: Lane, y: number, height: number): void {
  drawStacked(b, answer, lane.calls, y, height - 1, 1, (op) => b.ops.get(answer.ops[op] ?? ""));
}

function waitBuckets(b: Brush, answer: Lanes, lane: Lane, y: number, height: number): void {
  drawStacked(b, answer, lane.waits, y, height - 1, 0.5, (c) => waitPaint(b.paint, answer.classes[c] ?? "other"));
}

function singleCalls(b: Brush, answer: Lanes, lane: Lane, y: number, height: number): void {
  const { g } = b;
  g.font = "11px " + b.paint.font;
  g.textBaseline = "middle";
  for (const c of callsOf(answer, lane)) {
    const x0 = at(b.piece, c.start);
    const x1 = at(b.piece, c.start + c.duration);
    if (x1 < 0 || x0 > b.piece.width || c.depth > deepest) continue;
    const colour = b.ops.get(c.op);
    const top = y + c.depth * height;
    g.fillStyle = colour;
    g.fillRect(x0, top, Math.max(x1 - x0 - (x1 - x0 > 3 ? 0.75 : 0), 0.75), height - 1);
    label(b, c.weight > 1 ? `${c.op} (${c.weight})` : c.op, colour, x0, x1, top, height - 1);
  }
}

function singleWaits(b: Brush, answer: Lanes, lane: Lane, y: number, height: number): void {
  for (const w of waitsOf(answer, lane)) {
    const x0 = at(b.piece, w.start);
    const x1 = at(b.piece, w.start + w.duration);
    if (x1 < 0 || x0 > b.piece.width) continue;
    b.g.fillStyle = waitPaint(b.paint, w.class);
    b.g.fillRect(x0, y, Math.max(x1 - x0, 0.75), height - 1);
  }
}

/** The distance between repeated names in a long box, in pixels. */
const again = 500;

/**
 * Writes as much of a name into a box as fits, and repeats it in a long one, always at the
 * same places of the box, so that a name across two pieces is whole.
 */
function label(b: Brush, text: string, colour: string, x0: number, x1: number, y: number, height: number): void {
  const shown = fitting(text, x1 - x0 - 5);
  if (shown === "") return;
  b.g.fillStyle = darkText(colour) ? "#000" : "#fff";
  const first = Math.max(Math.floor(-x0 / again), 0);
  for (let x = x0 + 3 + first * again; x < Math.min(x1, b.piece.width); x += again) {
    if (x > x0 + 3 && x + shown.length * letter > x1) return;
    b.g.fillText(shown, x, y + height / 2 + 0.5);
  }
}

/** About how wide a letter of 11 px is. */
const letter = 6.7;

/** As much of a text as fits. */
export function fitting(text: string, room: number): string {
  const letters = Math.floor(room / letter);
  if (text.length <= letters) return text;
  return letters < 3 ? "" : text.slice(0, letters - 1) + "…";
}
