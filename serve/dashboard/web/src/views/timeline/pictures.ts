// Each tile is painted once, to a canvas of its own; moving the view only places these.

import type { OpColours, Paint } from "./colours";
import type { Layout } from "./layout";
import { drawLanes } from "./paint";
import { childrenOf, Kept, keyOf, parentOf, startOf, widthOf, type TileAt } from "./tiles";
import type { Tile } from "./tilestore";

interface Picture {
  canvas: HTMLCanvasElement;
  scale: number; // device pixels per ns
  version: number; // of the tile
  look: number; // Look.count when it was painted
}

/** How pictures are to be painted. */
export interface Look {
  scale: number;
  ratio: number; // device pixels per CSS pixel
  layout: Layout;
  paint: Paint;
  ops: OpColours;
  count: number; // counts up when layout, colours or ratio change
}

/** Where a tile is on the screen, in device pixels. */
export interface Place {
  x: number;
  y: number;
  width: number;
  height: number;
}

export class Pictures {
  private kept = new Kept<Picture>(48);

  /** Whether a tile's picture is up to date. */
  fresh(t: TileAt, version: number, look: Look, moving: boolean): boolean {
    const p = this.kept.peek(keyOf(t));
    return p !== undefined && p.version === version && p.look === look.count && (moving || Math.abs(p.scale / look.scale - 1) < 1e-6);
  }

  /** Paints a tile's picture. The data may be a wider tile's. */
  paint(t: TileAt, tile: Tile, look: Look): void {
    const rows = look.layout.group(t.group);
    const first = rows[0];
    const last = rows[rows.length - 1];
    if (!first || !last) return;
    const canvas = this.kept.peek(keyOf(t))?.canvas ?? document.createElement("canvas");
    const width = (widthOf(t.level) * look.scale) / look.ratio;
    canvas.width = Math.max(Math.ceil(width * look.ratio), 1);
    canvas.height = Math.max(Math.ceil((last.top + last.height - first.top) * look.ratio), 1);
    const g = canvas.getContext("2d");
    if (!g) return;
    g.scale(canvas.width / width, look.ratio);
    const from = startOf(t) - tile.answer.start_ns;
    drawLanes(g, tile.answer, rows, first.top, { from, to: from + widthOf(t.level), width }, look.paint, look.ops);
    this.kept.set(keyOf(t), { canvas, scale: look.scale, version: tile.version, look: look.count });
  }

  /** Draws a tile's picture on the screen or, until there is one, older ones of other levels, stretched. */
  put(g: CanvasRenderingContext2D, t: TileAt, at: Place, look: Look): void {
    if (this.usable(t, look)) {
      this.draw(g, t, 0, 1, at);
      return;
    }
    let up = t;
    let from = 0;
    let share = 1;
    for (let n = 0; n < 8; n++) {
      from = from / 2 + (up.index % 2) / 2;
      share /= 2;
      up = parentOf(up);
      if (this.usable(up, look)) {
        this.draw(g, up, from, share, at);
        return;
      }
    }
    childrenOf(t).forEach((c, i) => {
      const half = { ...at, x: at.x + (i * at.width) / 2, width: at.width / 2 };
      if (this.usable(c, look)) this.draw(g, c, 0, 1, half);
      else
        childrenOf(c).forEach((d, j) => {
          if (this.usable(d, look)) this.draw(g, d, 0, 1, { ...half, x: half.x + (j * half.width) / 2, width: half.width / 2 });
        });
    });
  }

  private usable(t: TileAt, look: Look): boolean {
    const p = this.kept.peek(keyOf(t));
    return p !== undefined && p.look === look.count;
  }

  private draw(g: CanvasRenderingContext2D, t: TileAt, from: number, share: number, at: Place): void {
    const p = this.kept.get(keyOf(t));
    if (!p) return;
    const w = p.canvas.width;
    const x = Math.round(at.x);
    g.drawImage(p.canvas, from * w, 0, Math.max(share * w, 1), p.canvas.height, x, Math.round(at.y), Math.round(at.x + at.width) - x, at.height);
  }

  clear(): void {
    this.kept.clear();
  }
}
