// The picture is made of tiles: spans of time whose width is a power of two, as is that of
// their buckets. So a tile is the same for every window.

import type { View } from "./view";

/** Buckets in a tile, as a power of two. */
const bucketBits = 9;
export const buckets = 1 << bucketBits;

/** Tiles are at least 2^9 ns wide: the start of a narrower one is not exact as a floating-point number. */
const narrowest = 9;
const widest = 60;

/** Requests are at least 2^20 ns wide: so few calls fit in that they come one by one. */
const askedBits = 20;

/** Lanes in one request. */
export const groupSize = 16;

export interface TileAt {
  level: number; // width is 2^level ns
  index: number; // starts at index * 2^level, Unix ns
  group: number; // of lanes
}

export function keyOf(t: TileAt): string {
  return t.level + "/" + t.index + "/" + t.group;
}

export function widthOf(level: number): number {
  return 2 ** level;
}

/** The exact Unix time, in ns, at which a tile starts. */
export function startOf(t: TileAt): number {
  return t.index * widthOf(t.level);
}

/** The level at which a bucket is at least a pixel wide, and less than two. */
export function levelFor(v: View, pixels: number): number {
  const bits = Math.ceil(Math.log2((v.to - v.from) / Math.max(pixels, 1)));
  return Math.min(Math.max(bits + bucketBits, narrowest), widest);
}

/** The tiles of a level and group that a view touches within the recording. */
export function tilesOf(v: View, level: number, group: number, origin: number, first: number, last: number): TileAt[] {
  const w = widthOf(level);
  const from = Math.floor((origin + Math.max(v.from, first)) / w);
  const to = Math.floor((origin + Math.min(v.to, last)) / w);
  const out: TileAt[] = [];
  for (let index = from; index <= to && out.length < 100; index++) out.push({ level, index, group });
  return out;
}

/** The tile of the next level that contains a tile. */
export function parentOf(t: TileAt): TileAt {
  return { level: t.level + 1, index: Math.floor(t.index / 2), group: t.group };
}

/** The tile to request in order to draw t. */
export function askedFor(t: TileAt): TileAt {
  const up = Math.max(askedBits - t.level, 0);
  return up === 0 ? t : { level: t.level + up, index: Math.floor(t.index / 2 ** up), group: t.group };
}

export function childrenOf(t: TileAt): TileAt[] {
  return [0, 1].map((half) => ({ level: t.level - 1, index: 2 * t.index + half, group: t.group }));
}

/** A cache that drops the least recently used. */
export class Kept<V> {
  private map = new Map<string, V>();

  constructor(private most: number) {}

  get(key: string): V | undefined {
    const v = this.map.get(key);
    if (v !== undefined) {
      this.map.delete(key);
      this.map.set(key, v);
    }
    return v;
  }

  /** Does not count as a use. */
  peek(key: string): V | undefined {
    return this.map.get(key);
  }

  set(key: string, v: V): void {
    this.map.delete(key);
    this.map.set(key, v);
    for (const k of this.map.keys()) {
      if (this.map.size <= this.most) break;
      this.map.delete(k);
    }
  }

  values(): Iterable<V> {
    return this.map.values();
  }

  clear(): void {
    this.map.clear();
  }
}
