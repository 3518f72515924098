// Colours of operations and patterns of waits. Labels tell operations apart as well, and
// patterns the classes of waits, so that nothing is said by colour alone.

import { classes, classOf } from "../../classes";
import { css } from "../../theme";

/** Paul Tol's bright scheme, which works with any colour vision. */
const bright = ["#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377"];
const rest = "#999999";

/** Colours of operations: those with most time have one of their own. */
export class OpColours {
  private of = new Map<string, string>();

  constructor(readonly order: string[]) {
    order.forEach((op, i) => this.of.set(op, bright[i] ?? rest));
  }

  get(op: string): string {
    return this.of.get(op) ?? rest;
  }
}

/** Whether black is easier to read on a colour than white. */
export function darkText(hex: string): boolean {
  const [r = 0, g = 0, b = 0] = [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
  return r * 0.299 + g * 0.587 + b * 0.114 > 140;
}

export interface Paint {
  ground: string;
  raised: string;
  line: string;
  text: string;
  faint: string;
  accent: string;
  high: string;
  medium: string;
  low: string;
  font: string;
  waits: Map<string, CanvasPattern | string>; // by class
}

/** The colours of the page as they are now. */
export function paints(): Paint {
  const waits = new Map<string, CanvasPattern | string>();
  for (const c of classes) waits.set(c.name, pattern(css(c.css), classes.indexOf(c)));
  const [ground, raised, line, text, faint, accent, high, medium, low, font] = [
    "--ground", "--raised", "--line", "--text", "--faint", "--accent", "--high", "--medium", "--low", "--font",
  ].map(css) as [string, string, string, string, string, string, string, string, string, string];
  return { ground, raised, line, text, faint, accent, high, medium, low, font, waits };
}

export function waitPaint(p: Paint, name: string): CanvasPattern | string {
  return p.waits.get(classOf(name).name) ?? p.faint;
}

/** The patterns, each of 8 by 8 pixels: strokes from one point to another, and dots. */
const strokes: [number, number, number, number][][] = [
  [],
  [[0, 8, 8, 0], [-4, 4, 4, -4], [4, 12, 12, 4]], // run queue: rising
  [[0, 8, 8, 0], [0, 0, 8, 8]], // quota: crossed
  [[0, 0, 8, 8], [-4, 4, 4, 12], [4, -4, 12, 4]], // lock: falling
  [[2, 0, 2, 8]], // disk: upright
  [[0, 2, 8, 2], [2, 0, 2, 8]], // page fault: a grid
  [[0, 2, 8, 2]], // network: level
  [[0, 2, 8, 2], [0, 6, 8, 6]],
  [[3, 3, 5, 5]], // poll: dots
  [],
  [[2, 0, 2, 8], [6, 0, 6, 8]], // driver
  [[0, 4, 4, 4]],
];

function pattern(colour: string, which: number): CanvasPattern | string {
  const lines = strokes[which] ?? [];
  if (lines.length === 0) return colour;
  const tile = document.createElement("canvas");
  tile.width = tile.height = 8;
  const g = tile.getContext("2d")!;
  g.fillStyle = colour;
  g.fillRect(0, 0, 8, 8);
  g.strokeStyle = darkText(colour) ? "rgb(0 0 0 / 45%)" : "rgb(255 255 255 / 55%)";
  g.lineWidth = 1.3;
  for (const [x0, y0, x1, y1] of lines) {
    g.beginPath();
    g.moveTo(x0, y0);
    g.lineTo(x1, y1);
    g.stroke();
  }
  return g.createPattern(tile, "repeat") ?? colour;
}

/** Draws a sample of a class, for the legend. */
export function swatch(canvas: HTMLCanvasElement | null, p: Paint, name: string): void {
  const g = canvas?.getContext("2d");
  if (!canvas || !g) return;
  g.fillStyle = waitPaint(p, name);
  g.fillRect(0, 0, canvas.width, canvas.height);
}
