// Decodes the lists of numbers of the API's lanes: see wire.Lane in nodeapi.

import type { Lane, Lanes } from "../../wire";

/** How many numbers an item of each list has. */
export const stride = { call: 6, wait: 3, bucket: 4 };

export interface Call {
  start: number; // from the start of the answer
  duration: number;
  op: string;
  depth: number;
  weight: number; // calls that it represents
  ns: number; // what these took together
}

export interface Wait {
  start: number;
  duration: number;
  class: string;
}

export function callsOf(a: Lanes, lane: Lane): Call[] {
  const out: Call[] = [];
  for (let i = 0; i + stride.call <= lane.calls.length; i += stride.call) {
    const [start, duration, op, depth, weight, ns] = lane.calls.slice(i, i + stride.call) as [number, number, number, number, number, number];
    out.push({ start, duration, op: a.ops[op] ?? "?", depth, weight, ns });
  }
  return out;
}

export function waitsOf(a: Lanes, lane: Lane): Wait[] {
  const out: Wait[] = [];
  for (let i = 0; i + stride.wait <= lane.waits.length; i += stride.wait) {
    const [start, duration, c] = lane.waits.slice(i, i + stride.wait) as [number, number, number];
    out.push({ start, duration, class: a.classes[c] ?? "other" });
  }
  return out;
}

export interface Sum {
  name: string;
  ns: number;
  n: number;
}

export interface Sums {
  calls: Sum[];
  waits: Sum[];
  exact: boolean; // else buckets across an end count in proportion
}

/**
 * Sums of an answer's wanted lanes between two times, which count from the answer's start as
 * its own do: outermost calls by op, waits by class, most time first.
 */
export function sumsOf(a: Lanes, from: number, to: number, wanted: (l: Lane) => boolean = () => true): Sums {
  const calls = new Map<string, Sum>();
  const waits = new Map<string, Sum>();
  const add = (into: Map<string, Sum>, name: string, ns: number, n: number) => {
    const s = into.get(name) ?? { name, ns: 0, n: 0 };
    s.ns += ns;
    s.n += n;
    into.set(name, s);
  };
  const overlap = (start: number, end: number) => Math.max(0, Math.min(end, to) - Math.max(start, from));
  for (const lane of a.lanes.filter(wanted)) {
    if (a.bucket_ns === 0) {
      for (const c of callsOf(a, lane)) {
        const began = c.start >= from && c.start < to;
        const share = c.duration > 0 ? overlap(c.start, c.start + c.duration) / c.duration : began ? 1 : 0;
        if (c.depth === 0 && (began || share > 0)) add(calls, c.op, c.ns * share, began ? c.weight : 0);
      }
      for (const w of waitsOf(a, lane)) {
        const began = w.start >= from && w.start < to;
        const ns = overlap(w.start, w.start + w.duration);
        if (began || ns > 0) add(waits, w.class, ns, began ? 1 : 0);
      }
      continue;
    }
    for (const [list, names, into] of [
      [lane.calls, a.ops, calls],
      [lane.waits, a.classes, waits],
    ] as const) {
      for (let i = 0; i + stride.bucket <= list.length; i += stride.bucket) {
        const start = list[i]! * a.bucket_ns;
        const share = overlap(start, start + a.bucket_ns) / a.bucket_ns;
        if (share > 0) add(into, names[list[i + 1]!] ?? "?", list[i + 2]! * share, list[i + 3]! * share);
      }
    }
  }
  const sorted = (m: Map<string, Sum>) => [...m.values()].map((s) => ({ ...s, n: Math.round(s.n) })).sort((x, y) => y.ns - x.ns);
  return { calls: sorted(calls), waits: sorted(waits), exact: a.bucket_ns === 0 };
}
