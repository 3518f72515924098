// The canvas: the visible part of the recording. It is moved and drawn without rendering the
// page around it again.

import { get } from "../../api";
import { onTheme } from "../../theme";
import { Bands } from "./bands";
import { OpColours, paints, type Paint } from "./colours";
import type { Lane, Lanes } from "../../wire";
import { sumsOf } from "./data";
import { bucketAt, itemsOf, nearest, type Item } from "./item";
import { deepest, Layout, size, type LaneInfo, type Row } from "./layout";
import { drawOverlay, sharesOf, type Arrow, type Mark } from "./overlay";
import { Pictures, type Look } from "./pictures";
import { groupSize, levelFor, startOf, tilesOf, widthOf, type TileAt } from "./tiles";
import { TileStore, type Tile } from "./tilestore";
import { atEnd, clamp, least, type Limits, type View } from "./view";

/** Heights of the parts above the lanes. */
export const tops = { map: 40, axis: 26, all: 66 };

export interface Events {
  moved: (v: View) => void;
  pointed: (i: Item | undefined, x: number, y: number) => void;
  picked: (i: Item | undefined) => void;
  selected: (v: View | undefined) => void;
  marked: (m: Mark) => void;
  failed: (why: string) => void;
  known: (s: Stage) => void; // the legend may have changed
}

export class Stage {
  readonly g: CanvasRenderingContext2D;
  view: View;
  limits: Limits;
  layout = new Layout([]);
  paint: Paint = paints();
  ops = new OpColours([]);
  whole: Lanes; // all of the recording, in buckets
  scroll = 0;
  width = 0;
  height = 0;
  ratio = 1;
  selection: View | undefined;
  picked: Item | undefined;
  hover: Item | undefined;
  arrows: Arrow[] = [];
  marks: Mark[] = [];
  readonly bands = new Bands(this);

  manyNodes = false;
  written = ""; // the window as written to the address, so that it is not taken for a new one
  still = false; // all that is visible has been drawn in its final form

  private map: [number, number][] = [];
  private lanes: (LaneInfo | undefined)[] = [];
  private store: TileStore;
  private pictures = new Pictures();
  private look = 1;
  private waiting = false;
  private zoomedAt = 0;
  private scale = 0;
  private ends: (() => void)[] = [];
  private idle: ReturnType<typeof setTimeout> | undefined;

  constructor(
    readonly canvas: HTMLCanvasElement,
    readonly origin: number,
    whole: Lanes,
    readonly scope: Record<string, string>,
    readonly on: Events,
  ) {
    this.g = canvas.getContext("2d", { alpha: false })!;
    this.whole = whole;
    this.limits = this.limitsOf(whole);
    this.view = clamp({ from: this.limits.first, to: this.limits.last }, this.limits);
    this.store = new TileStore(scope, (t) => this.arrived(t), (e) => on.failed(e instanceof Error ? e.message : String(e)));
    this.learn(whole, 0);
    const resized = new ResizeObserver(() => this.resize());
    resized.observe(canvas);
    this.ends.push(
      () => resized.disconnect(),
      onTheme(() => this.repaint()),
    );
    this.resize();
  }

  stop(): void {
    this.store.stop();
    clearTimeout(this.idle);
    for (const end of this.ends) end();
  }

  private limitsOf(a: Lanes): Limits {
    const first = a.window.from_ns - this.origin;
    return { first, last: Math.max(a.window.to_ns - this.origin, first + least), least };
  }

  /** Takes names and depths of lanes from an answer; skip is the number of lanes before them. */
  private learn(a: Lanes, skip: number): void {
    let changed = this.lanes.length !== a.total;
    if (this.lanes.length > 0 && changed) {
      this.lanes = [];
      this.store.clear();
      this.pictures.clear();
    }
    this.lanes.length = a.total;
    a.lanes.forEach((l, i) => {
      const old = this.lanes[skip + i];
      changed ||= !old || old.tid !== l.tid || old.depth !== l.depth || old.thread !== l.thread;
      this.lanes[skip + i] = { node: l.node, pid: l.pid, tid: l.tid, process: l.process, thread: l.thread, rank: l.rank, depth: l.depth };
    });
    if (!changed) return;
    this.place();
    this.repaint();
  }

  private place(): void {
    this.layout = new Layout(Array.from(this.lanes), this.height - tops.all, (l) => this.bands.keys(l));
  }

  /** Lays out lanes again that may have other heights. */
  placed(): void {
    this.place();
    this.look++;
    this.scrollTo(this.scroll);
  }

  private nameOps(): void {
    const ops = sumsOf(this.whole, 0, Infinity).calls.map((c) => c.name);
    if (ops.join() !== this.ops.order.join()) this.ops = new OpColours(ops);
    this.map = sharesOf(this.whole);
    this.manyNodes = new Set(this.lanes.flatMap((l) => (l ? [l.node] : []))).size > 1;
    this.on.known(this);
  }

  /** How busy all threads were together, for the map. */
  shares(): [number, number][] {
    return this.map;
  }

  get shareWidth(): number {
    return this.whole.bucket_ns || (this.limits.last - this.limits.first) / 512;
  }

  repaint(): void {
    this.paint = paints();
    this.nameOps();
    this.look++;
    this.frame(Infinity); // at once, because it may be for printing
  }

  private arrived(t: Tile): void {
    this.learn(t.answer, t.at.group * groupSize);
    this.schedule();
  }

  /** Takes a newer answer about the whole recording. */
  grown(whole: Lanes): void {
    const followed = atEnd(this.view, this.limits);
    const before = this.limits;
    this.whole = whole;
    this.limits = this.limitsOf(whole);
    this.learn(whole, 0);
    this.nameOps();
    if (this.limits.last !== before.last || whole.read_ns > 0) this.store.grown(this.origin + before.last);
    const all = this.view.from <= before.first && this.view.to >= before.last;
    if (all) this.go({ from: this.limits.first, to: this.limits.last });
    else if (followed) this.go({ from: this.view.from + this.limits.last - before.last, to: this.view.to + this.limits.last - before.last });
    this.schedule();
  }

  private resize(): void {
    const { clientWidth, clientHeight } = this.canvas;
    this.ratio = devicePixelRatio || 1;
    this.width = Math.max(clientWidth, 1);
    this.height = Math.max(clientHeight, 1);
    this.canvas.width = Math.round(this.width * this.ratio);
    this.canvas.height = Math.round(this.height * this.ratio);
    this.place();
    this.look++;
    this.scrollTo(this.scroll);
    this.frame(); // a canvas that was resized is empty
  }

  /** Width of the part that shows time. */
  get plot(): number {
    return Math.max(this.width - size.labels, 50);
  }

  x(t: number): number {
    return size.labels + ((t - this.view.from) / (this.view.to - this.view.from)) * this.plot;
  }

  time(x: number): number {
    return this.view.from + ((x - size.labels) / this.plot) * (this.view.to - this.view.from);
  }

  y(row: Row): number {
    return tops.all + row.top - this.scroll;
  }

  go(v: View): void {
    const next = clamp(v, this.limits);
    if (Math.abs((next.to - next.from) / (this.view.to - this.view.from) - 1) > 1e-9) this.zoomedAt = performance.now();
    this.view = next;
    this.schedule();
    clearTimeout(this.idle);
    this.idle = setTimeout(() => this.on.moved(this.view), 300);
  }

  scrollTo(y: number): void {
    this.scroll = Math.round(Math.min(Math.max(y, 0), Math.max(this.layout.height - (this.height - tops.all), 0)));
    this.schedule();
  }

  /** Scrolls to a lane if it is not in full view. */
  reveal(row: Row): void {
    const y = this.y(row);
    if (y < tops.all || y + row.height > this.height) this.scrollTo(row.top - (this.height - tops.all) / 3);
  }

  schedule(): void {
    this.still = false;
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.frame();
    });
  }

  /** Draws a frame. Painting tiles for it may take budget milliseconds; the rest follows in the next frames. */
  private frame(budget = 7): void {
    const { g, ratio } = this;
    this.scale = (this.plot / (this.view.to - this.view.from)) * ratio;
    g.setTransform(1, 0, 0, 1, 0, 0);
    g.fillStyle = this.paint.ground;
    g.fillRect(0, 0, this.canvas.width, this.canvas.height);
    const look: Look = { scale: this.scale, ratio, layout: this.layout, paint: this.paint, ops: this.ops, count: this.look };
    const level = levelFor(this.view, this.plot);
    const moving = performance.now() - this.zoomedAt < 150;
    const groups = this.layout.groups(this.scroll, this.scroll + this.height - tops.all);
    const seen = groups.flatMap((group) => tilesOf(this.view, level, group, this.origin, this.limits.first, this.limits.last));
    g.save();
    g.beginPath();
    g.rect(size.labels * ratio, tops.all * ratio, this.canvas.width, this.canvas.height);
    g.clip();
    g.imageSmoothingEnabled = moving;
    const todo = seen.filter((t) => !this.upToDate(t, look, moving));
    const began = performance.now();
    while (todo.length > 0 && performance.now() - began < budget) this.paintTile(todo.shift()!, look);
    for (const t of seen) this.putTile(t, look);
    g.restore();
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    drawOverlay(this);
    this.store.want([...seen, ...this.beside(groups, level)]);
    this.still = todo.length === 0 && !moving && this.whole.read_ns === 0 && seen.every((t) => this.store.find(t)?.answer.read_ns === 0);
    if (todo.length > 0 || moving) this.schedule();
  }

  private upToDate(t: TileAt, look: Look, moving: boolean): boolean {
    const tile = this.store.find(t);
    return !tile || this.pictures.fresh(t, tile.version, look, moving);
  }

  private paintTile(t: TileAt, look: Look): void {
    const tile = this.store.find(t);
    if (tile) this.pictures.paint(t, tile, look);
  }

  private putTile(t: TileAt, look: Look): void {
    const rows = this.layout.group(t.group);
    if (rows.length === 0) return;
    const top = rows[0]!.top;
    const last = rows[rows.length - 1]!;
    const x = this.x(startOf(t) - this.origin) * this.ratio;
    this.pictures.put(
      this.g,
      t,
      { x, y: (tops.all + top - this.scroll) * this.ratio, width: widthOf(t.level) * this.scale, height: Math.ceil((last.top + last.height - top) * this.ratio) },
      look,
    );
  }

  /** The tiles of the view and one on each side, for moving. */
  private beside(groups: number[], level: number): TileAt[] {
    const w = widthOf(level);
    const wider = { from: this.view.from - w, to: this.view.to + w };
    return groups.flatMap((group) => tilesOf(wider, level, group, this.origin, this.limits.first, this.limits.last));
  }

  /** The data of a lane at a time, if loaded. */
  private loaded(row: Row, t: number): { tile: Tile; lane: Lane; base: number } | undefined {
    const level = levelFor(this.view, this.plot);
    const group = Math.floor(row.index / groupSize);
    const [where] = tilesOf({ from: t, to: t }, level, group, this.origin, -Infinity, Infinity);
    const tile = where && this.store.find(where);
    const lane = tile?.answer.lanes[row.index - group * groupSize];
    return tile && lane && { tile, lane, base: tile.answer.start_ns - this.origin };
  }

  /** The item at a point of the canvas. */
  at(x: number, y: number): Item | undefined {
    if (x < size.labels || y < tops.all) return undefined;
    const row = this.layout.at(y - tops.all + this.scroll);
    const t = this.time(x);
    const has = row && this.loaded(row, t);
    if (!has) return undefined;
    const within = y - tops.all + this.scroll - row.top - row.head;
    const inCalls = within < row.calls;
    if (has.tile.answer.bucket_ns > 0) return bucketAt(has.tile.answer, row, has.base, t, inCalls);
    const depth = inCalls ? Math.min(Math.floor(within / row.call), deepest) : 0;
    const list = itemsOf(has.tile.answer, has.lane, row, has.base).filter((i) => (i.kind === "call") === inCalls && i.depth === depth);
    return nearest(list, t, (2 / this.plot) * (this.view.to - this.view.from));
  }

  /** The call or wait before or after the picked one; if none is picked, one in the middle of the view. */
  neighbour(way: 1 | -1): Item | undefined {
    const from = this.picked;
    const rows = from ? [from.row] : this.layout.between(this.scroll, this.scroll + this.height - tops.all);
    const t = from ? from.start : (this.view.from + this.view.to) / 2;
    for (const row of rows) {
      const has = this.loaded(row, t);
      if (!has || has.tile.answer.bucket_ns > 0) continue;
      const list = itemsOf(has.tile.answer, has.lane, row, has.base).sort((a, b) => way * (a.start - b.start));
      const next = from ? list.find((i) => i.kind === from.kind && i.depth === from.depth && way * (i.start - from.start) > 0) : nearest(list, t, Infinity);
      if (next) return next;
    }
    return undefined;
  }

  /** The data of a window for its sums, as exact as the server has it. */
  sums(v: View, signal: AbortSignal): Promise<Lanes> {
    const abs = (t: number) => String(BigInt(this.origin) + BigInt(Math.round(t)));
    return get<Lanes>("lanes", { ...this.scope, from: abs(v.from), to: abs(Math.max(v.to, v.from + 1)), rows: "20000", buckets: "1024", limit: "500" }, signal);
  }

}
