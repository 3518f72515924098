// Where cells of the heat map are, and their colours.

/** Viridis, which is even in lightness for any colour vision and in print. */
const stops = ["#440154", "#472d7b", "#3b528b", "#2c728e", "#21918c", "#28ae80", "#5ec962", "#addc30", "#fde725"].map((c) =>
  [1, 3, 5].map((i) => parseInt(c.slice(i, i + 2), 16)),
);

/** The colour of a share from 0 to 1. On a dark background the darkest are left out. */
export function viridis(share: number, dark: boolean): string {
  const least = dark ? 0.22 : 0;
  const x = (least + (1 - least) * Math.min(Math.max(share, 0), 1)) * (stops.length - 1);
  const i = Math.min(Math.floor(x), stops.length - 2);
  const mixed = stops[i]!.map((v, k) => Math.round(v + (stops[i + 1]![k]! - v) * (x - i)));
  return `rgb(${mixed.join(" ")})`;
}

/** The share of a count on a logarithmic scale from 1 to the most. */
export function heat(n: number, most: number): number {
  return most <= 1 ? 1 : Math.log(n) / Math.log(most);
}

/** The upper end of a row of the API, in ns. */
export function rowEnd(row: number): number {
  return 2 ** (row / 4);
}

export interface Cell {
  column: number;
  row: number;
  n: number;
}

export function cellsOf(flat: number[]): Cell[] {
  const out: Cell[] = [];
  for (let i = 0; i + 3 <= flat.length; i += 3) out.push({ column: flat[i]!, row: flat[i + 1]!, n: flat[i + 2]! });
  return out;
}

/** The rows that are shown: those with calls, and some around them. */
export function rowsOf(cells: Cell[]): { low: number; high: number } {
  if (cells.length === 0) return { low: 30, high: 60 };
  let low = Infinity;
  let high = 0;
  for (const c of cells) {
    low = Math.min(low, c.row);
    high = Math.max(high, c.row);
  }
  const more = Math.max(8 - (high - low), 0);
  return { low: Math.max(low - 1 - Math.floor(more / 2), 0), high: high + 1 + Math.ceil(more / 2) };
}

/** Durations at which the axis has a line: powers of ten, and more between them if there are few. */
export function marks(low: number, high: number): number[] {
  const [from, to] = [rowEnd(low - 1), rowEnd(high)];
  let out: number[] = [];
  for (const steps of [[1], [1, 3], [1, 2, 5], [1, 1.5, 2, 3, 4, 5, 6, 8]]) {
    out = [];
    for (let ten = 1; ten <= to; ten *= 10) out.push(...steps.map((s) => ten * s).filter((ns) => ns >= from && ns <= to));
    if (out.length >= 4) break;
  }
  return out;
}

/** A part of the map in columns and rows, ends included. */
export interface Part {
  column0: number;
  column1: number;
  row0: number;
  row1: number;
}

/** How many calls are in a part. */
export function within(cells: Cell[], p: Part): number {
  return cells.reduce((sum, c) => (c.column >= p.column0 && c.column <= p.column1 && c.row >= p.row0 && c.row <= p.row1 ? sum + c.n : sum), 0);
}
