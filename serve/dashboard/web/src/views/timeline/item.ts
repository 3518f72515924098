import type { Lane, Lanes } from "../../wire";
import { callsOf, sumsOf, waitsOf } from "./data";
import type { Row } from "./layout";

/** A thread's call, wait or bucket that was pointed at. Times are the stage's. */
export interface Item {
  row: Row;
  kind: "call" | "wait" | "bucket";
  name: string;
  start: number;
  begin: number; // of the recorded row: time in the run queue is the end of a wait's
  duration: number;
  depth: number;
  weight: number;
  parts?: { name: string; ns: number; n: number }[]; // of a bucket
}

/** The calls and waits of a lane, one by one. base is the start of the answer. */
export function itemsOf(a: Lanes, lane: Lane, row: Row, base: number): Item[] {
  const calls = callsOf(a, lane).map(
    (c): Item => ({ row, kind: "call", name: c.op, start: base + c.start, begin: base + c.start, duration: c.duration, depth: c.depth, weight: c.weight }),
  );
  const list = waitsOf(a, lane);
  const ends = new Map(list.map((w) => [w.start + w.duration, w.start]));
  const waits = list.map((w): Item => {
    const begin = w.class === "runq" ? (ends.get(w.start) ?? w.start) : w.start;
    return { row, kind: "wait", name: w.class, start: base + w.start, begin: base + begin, duration: w.duration, depth: 0, weight: 1 };
  });
  return [...calls, ...waits];
}

function distance(i: Item, t: number): number {
  return t < i.start ? i.start - t : Math.max(0, t - i.start - i.duration);
}

/** The item at a time, or the nearest within slack. */
export function nearest(list: Item[], t: number, slack: number): Item | undefined {
  let best: Item | undefined;
  for (const i of list) if (distance(i, t) <= slack && (!best || distance(i, t) < distance(best, t))) best = i;
  return best;
}

/** The bucket at a time, with its sums. */
export function bucketAt(a: Lanes, row: Row, base: number, t: number, inCalls: boolean): Item | undefined {
  const bucket = Math.floor((t - base) / a.bucket_ns);
  const from = bucket * a.bucket_ns;
  const sums = sumsOf(a, from, from + a.bucket_ns, (l) => l.tid === row.info?.tid && l.pid === row.info.pid && l.node === row.info.node);
  const parts = inCalls ? sums.calls : sums.waits;
  const first = parts[0];
  return first && { row, kind: "bucket", name: first.name, start: base + from, begin: base + from, duration: a.bucket_ns, depth: 0, weight: 1, parts };
}
