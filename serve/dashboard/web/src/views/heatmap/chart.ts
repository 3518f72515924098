// Draws the heat map on a canvas.

import { axisClock, ticks } from "../../axis";
import { duration } from "../../format";
import { css, isDark } from "../../theme";
import { heat, marks, rowEnd, rowsOf, viridis, type Cell, type Part } from "./scale";

export interface Map {
  start: number; // Unix ns
  column: number; // ns
  columns: number;
  cells: Cell[];
}

const edge = { left: 70, right: 10, top: 8, bottom: 26 };

export class Chart {
  private low: number;
  private high: number;
  readonly most: number;

  constructor(
    readonly canvas: HTMLCanvasElement,
    readonly map: Map,
  ) {
    ({ low: this.low, high: this.high } = rowsOf(map.cells));
    this.most = map.cells.reduce((m, c) => Math.max(m, c.n), 0);
  }

  private get wide(): number {
    return this.canvas.clientWidth - edge.left - edge.right;
  }

  private get tall(): number {
    return this.canvas.clientHeight - edge.top - edge.bottom;
  }

  private x(column: number): number {
    return edge.left + (column / this.map.columns) * this.wide;
  }

  /** The upper end of a row. */
  private y(row: number): number {
    return edge.top + ((this.high - row) / (this.high - this.low + 1)) * this.tall;
  }

  /** The place of a duration, which may be within a row. */
  private yOf(ns: number): number {
    return this.y(4 * Math.log2(ns));
  }

  /** The cell at a place, also if it has no calls. */
  at(x: number, y: number): { column: number; row: number } | undefined {
    const column = Math.floor(((x - edge.left) / this.wide) * this.map.columns);
    const row = this.high - Math.floor(((y - edge.top) / this.tall) * (this.high - this.low + 1));
    if (column < 0 || column >= this.map.columns || row < this.low || row > this.high) return undefined;
    return { column, row };
  }

  /** Like at; for places outside, the nearest cell. */
  near(x: number, y: number): { column: number; row: number } {
    const cx = Math.min(Math.max(x, edge.left), edge.left + this.wide - 0.01);
    const cy = Math.min(Math.max(y, edge.top), edge.top + this.tall - 0.01);
    return this.at(cx, cy) ?? { column: 0, row: this.low };
  }

  /** Keeps a cell in the map. */
  kept(column: number, row: number): { column: number; row: number } {
    return { column: Math.min(Math.max(column, 0), this.map.columns - 1), row: Math.min(Math.max(row, this.low), this.high) };
  }

  draw(part: Part | undefined): void {
    const { canvas } = this;
    const ratio = devicePixelRatio || 1;
    canvas.width = Math.max(Math.round(canvas.clientWidth * ratio), 1);
    canvas.height = Math.max(Math.round(canvas.clientHeight * ratio), 1);
    const g = canvas.getContext("2d");
    if (!g) return;
    g.scale(ratio, ratio);
    g.fillStyle = css("--raised");
    g.fillRect(edge.left, edge.top, this.wide, this.tall);
    const dark = isDark();
    for (const c of this.map.cells) {
      const [x0, x1] = [Math.round(this.x(c.column)), Math.round(this.x(c.column + 1))];
      const [y0, y1] = [Math.round(this.y(c.row)), Math.round(this.y(c.row - 1))];
      g.fillStyle = viridis(heat(c.n, this.most), dark);
      g.fillRect(x0, y0, Math.max(x1 - x0, 1), Math.max(y1 - y0, 1));
    }
    this.axes(g);
    if (part) this.frame(g, part);
  }

  private axes(g: CanvasRenderingContext2D): void {
    g.fillStyle = css("--faint");
    g.strokeStyle = css("--line");
    g.font = "11px " + css("--font");
    g.textBaseline = "middle";
    g.textAlign = "right";
    g.globalAlpha = 0.7;
    for (const ns of marks(this.low, this.high)) {
      const y = Math.round(this.yOf(ns)) + 0.5;
      g.beginPath();
      g.moveTo(edge.left, y);
      g.lineTo(edge.left + this.wide, y);
      g.stroke();
      g.fillText(duration(ns), edge.left - 6, y);
    }
    g.globalAlpha = 1;
    g.textAlign = "center";
    const span = this.map.columns * this.map.column;
    for (const t of ticks({ from: 0, to: span }, this.wide / 110, this.map.start, axisClock)) {
      const x = edge.left + (t.at / span) * this.wide;
      if (x > edge.left + 30 && x < edge.left + this.wide - 30) g.fillText(t.label, x, edge.top + this.tall + 14);
    }
  }

  private frame(g: CanvasRenderingContext2D, p: Part): void {
    const [x, y] = [this.x(p.column0), this.y(p.row1)];
    g.strokeStyle = css("--text");
    g.lineWidth = 2;
    g.setLineDash([5, 3]);
    g.strokeRect(x, y, this.x(p.column1 + 1) - x, this.y(p.row0 - 1) - y);
    g.setLineDash([]);
  }
}

/** The times of a part, from start to end, and its durations, above one and at most another. */
export function bounds(m: Map, p: Part): { from: bigint; to: bigint; above: number; most: number } {
  const at = (column: number) => BigInt(m.start) + BigInt(Math.round(m.column)) * BigInt(column);
  return { from: at(p.column0), to: at(p.column1 + 1), above: p.row0 > 0 ? Math.floor(rowEnd(p.row0 - 1)) : -1, most: Math.floor(rowEnd(p.row1)) };
}
