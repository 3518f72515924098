// Requests tiles and keeps them.

import { get } from "../../api";
import type { Lanes } from "../../wire";
import { askedFor, buckets, groupSize, Kept, keyOf, parentOf, startOf, widthOf, type TileAt } from "./tiles";

/** A tile with the server's answer. */
export interface Tile {
  at: TileAt;
  answer: Lanes;
  version: number; // counts up with each answer
}

/** The end of a growing recording that may still change, in ns. */
const unsettled = 10e9;

export class TileStore {
  private tiles = new Kept<Tile>(300);
  private asking = new Map<string, AbortController>();
  private stale = new Set<string>();
  private version = 0;
  private resume = 0; // after a failure
  private stopped = new AbortController();

  /** scope is what all tiles are limited to, such as a process. */
  constructor(
    private scope: Record<string, string>,
    private arrived: (t: Tile) => void,
    private failed: (e: unknown) => void,
  ) {}

  /** The data to draw a tile from: its own, or a wider tile's that has calls one by one. */
  find(t: TileAt): Tile | undefined {
    let up = t;
    for (let n = 0; n < 40; n++) {
      const tile = this.tiles.get(keyOf(up));
      if (tile && (n === 0 || tile.answer.bucket_ns === 0)) return tile;
      up = parentOf(up);
    }
    return undefined;
  }

  /** Requests tiles in this order, and cancels requests for others. */
  want(list: TileAt[]): void {
    const tiles = list.map(askedFor);
    const keys = new Set(tiles.map(keyOf));
    for (const [key, stop] of this.asking) {
      if (!keys.has(key)) {
        stop.abort();
        this.asking.delete(key);
      }
    }
    if (performance.now() < this.resume) return;
    for (const t of tiles) {
      if (this.asking.size >= 4) return;
      const key = keyOf(t);
      if (this.asking.has(key)) continue;
      const have = this.find(t);
      if (!have || this.stale.has(keyOf(have.at))) void this.ask(have && this.stale.has(keyOf(have.at)) ? have.at : t);
    }
  }

  private async ask(t: TileAt): Promise<void> {
    const key = keyOf(t);
    if (this.asking.has(key)) return;
    const stop = new AbortController();
    this.asking.set(key, stop);
    this.stale.delete(key);
    try {
      const answer = await get<Lanes>("lanes", this.params(t), AbortSignal.any([stop.signal, this.stopped.signal]));
      const tile = { at: t, answer, version: ++this.version };
      this.tiles.set(key, tile);
      if (answer.read_ns > 0) this.stale.add(key);
      this.asking.delete(key);
      this.arrived(tile);
    } catch (e) {
      if (this.asking.get(key) === stop) this.asking.delete(key);
      if (stop.signal.aborted || this.stopped.signal.aborted) return;
      this.resume = performance.now() + 2000;
      this.failed(e);
    }
  }

  private params(t: TileAt): Record<string, string> {
    const from = BigInt(startOf(t));
    return {
      ...this.scope,
      from: String(from > 0n ? from : 1n),
      to: String(from + BigInt(widthOf(t.level))),
      buckets: String(buckets),
      skip: String(t.group * groupSize),
      limit: String(groupSize),
    };
  }

  /** The recording has grown; it ended at end before. Tiles near that are to be requested again. */
  grown(end: number): void {
    for (const t of this.tiles.values()) {
      if (startOf(t.at) + widthOf(t.at.level) > end - unsettled) this.stale.add(keyOf(t.at));
    }
  }

  /** Drops all tiles, because the numbers of lanes have changed. */
  clear(): void {
    this.tiles.clear();
    this.stale.clear();
  }

  stop(): void {
    this.stopped.abort();
  }
}
