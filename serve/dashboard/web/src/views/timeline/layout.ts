// Where lanes are, from the top. There may be thousands, of which few are visible.

import { groupSize } from "./tiles";

/** Sizes in CSS pixels. */
export const size = {
  head: 18, // height of a process's name
  band: 16, // height of labels of one key, in that line
  call: 16, // minimum height of calls at one depth
  waits: 12, // minimum height of waits
  gap: 6,
  labels: 210, // width of the names
};

/** Few lanes are higher, by this factor at most. */
const highest = 2.5;

/** Nested calls are shown down to this depth. */
export const deepest = 5;

export interface LaneInfo {
  node: string;
  pid: number;
  tid: number;
  process: string;
  thread: string;
  rank: number;
  depth: number; // of the deepest calls; -1: no calls
}

export interface Row {
  index: number;
  top: number;
  height: number;
  head: number; // height of the process's name above its first row, else 0
  call: number; // height of calls at one depth
  calls: number; // height of calls at all depths
  waits: number; // height of the waits
  info: LaneInfo | undefined; // not known yet
}

export class Layout {
  readonly rows: Row[] = [];
  readonly height: number;

  constructor(lanes: (LaneInfo | undefined)[], room = 0, bands: (l: LaneInfo) => number = () => 0) {
    const depths = (l: LaneInfo | undefined) => 1 + Math.min(l?.depth ?? 0, deepest); // 0 if it made no calls
    const head = (i: number) => {
      const [l, before] = [lanes[i], lanes[i - 1]];
      return l && (!before || before.pid !== l.pid || before.node !== l.node) ? Math.max(size.head, bands(l) * size.band + 4) : 0;
    };
    const fixed = lanes.reduce((sum, _, i) => sum + head(i) + size.gap, 0);
    const rest = lanes.reduce((sum, l) => sum + depths(l) * size.call + size.waits, 0);
    const factor = Math.min(Math.max((room - fixed) / Math.max(rest, 1), 1), highest);
    const call = Math.floor(size.call * factor);
    const waits = Math.floor(size.waits * factor);
    let top = 0;
    lanes.forEach((info, index) => {
      const calls = call * depths(info);
      const height = head(index) + calls + waits + size.gap;
      this.rows.push({ index, top, height, head: head(index), call, calls, waits, info });
      top += height;
    });
    this.height = top;
  }

  /** The row at a height, if there is one. */
  at(y: number): Row | undefined {
    let low = 0;
    let high = this.rows.length - 1;
    while (low <= high) {
      const mid = (low + high) >> 1;
      const r = this.rows[mid]!;
      if (y < r.top) high = mid - 1;
      else if (y >= r.top + r.height) low = mid + 1;
      else return r;
    }
    return undefined;
  }

  /** The rows from one height to another. */
  between(from: number, to: number): Row[] {
    const first = this.at(Math.max(from, 0));
    if (!first) return [];
    const out: Row[] = [];
    for (let i = first.index; i < this.rows.length && this.rows[i]!.top < to; i++) out.push(this.rows[i]!);
    return out;
  }

  /** The groups of rows from one height to another. */
  groups(from: number, to: number): number[] {
    return [...new Set(this.between(from, to).map((r) => Math.floor(r.index / groupSize)))];
  }

  /** The rows of a group. */
  group(g: number): Row[] {
    return this.rows.slice(g * groupSize, (g + 1) * groupSize);
  }

  find(tid: number, pid?: number): Row | undefined {
    return this.rows.find((r) => r.info?.tid === tid && (pid === undefined || r.info.pid === pid));
  }
}
