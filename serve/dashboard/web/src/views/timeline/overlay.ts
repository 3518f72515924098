// What is drawn over and beside the lanes: their names, the axis, the map of the whole
// recording, findings, arrows, the selection.

import { axisClock, ticks } from "../../axis";
import { duration, percent } from "../../format";
import { printable } from "../../printable";
import { fitting } from "./paint";
import { size, type Row } from "./layout";
import { tops, type Stage } from "./stage";
import { stride } from "./data";

/** A finding's evidence on the axis. */
export interface Mark {
  at: number;
  finding: string;
  severity: string;
  summary: string;
}

/** From a cause to its effect. A cause without a row has no lane. */
export interface Arrow {
  from: { row: Row | undefined; at: number; name: string; part: "call" | "wait" };
  to: { row: Row; at: number; part: "call" | "wait" };
  label: string;
}

export function drawOverlay(s: Stage): void {
  const { g, paint } = s;
  g.textBaseline = "middle";
  g.font = "12px " + paint.font;
  drawSelection(s);
  drawItem(s);
  drawArrows(s);
  s.bands.draw();
  drawNames(s);
  drawMap(s);
  drawAxis(s);
  drawMarks(s);
}

function drawNames(s: Stage): void {
  const { g, paint } = s;
  g.fillStyle = paint.ground;
  g.fillRect(0, tops.all, size.labels, s.height);
  g.strokeStyle = paint.line;
  g.lineWidth = 1;
  g.save();
  g.beginPath();
  g.rect(0, tops.all, s.width, s.height - tops.all);
  g.clip();
  for (const row of s.layout.between(s.scroll, s.scroll + s.height)) {
    const y = s.y(row);
    const info = row.info;
    g.beginPath();
    g.moveTo(row.head ? 0 : 12, Math.round(y) + 0.5);
    g.lineTo(s.width, Math.round(y) + 0.5);
    g.stroke();
    if (!info) continue;
    if (row.head) {
      g.fillStyle = paint.text;
      g.font = "600 12px " + paint.font;
      const rank = info.rank >= 0 ? ` · rank ${info.rank}` : "";
      const node = s.manyNodes ? info.node + " · " : "";
      g.fillText(fitting(printable(`${node}${info.process || "process"} ${info.pid}${rank}`), size.labels - 12), 6, y + row.head / 2 + 2, size.labels - 10);
    }
    g.font = "12px " + paint.font;
    g.fillStyle = s.hover?.row.index === row.index ? paint.accent : paint.faint;
    g.fillText(fitting(printable(`${info.thread || "thread"} ${info.tid}`), size.labels - 26), 16, y + row.head + (row.calls || row.waits) / 2, size.labels - 20);
  }
  g.restore();
  g.beginPath();
  g.moveTo(size.labels - 0.5, tops.map);
  g.lineTo(size.labels - 0.5, s.height);
  g.stroke();
}

function drawAxis(s: Stage): void {
  const { g, paint } = s;
  g.fillStyle = paint.ground;
  g.fillRect(0, tops.map, s.width, tops.axis);
  g.fillStyle = paint.faint;
  g.strokeStyle = paint.line;
  g.font = "11px " + paint.font;
  g.save();
  g.beginPath();
  g.rect(size.labels, tops.map, s.plot, s.height);
  g.clip();
  for (const t of ticks(s.view, s.plot / 110, s.origin, axisClock)) {
    const x = Math.round(s.x(t.at)) + 0.5;
    g.beginPath();
    g.moveTo(x, tops.map + 16);
    g.lineTo(x, tops.all);
    g.stroke();
    g.fillText(t.label, x + 3, tops.map + 9);
  }
  g.restore();
  g.fillText(duration(s.view.to - s.view.from), 6, tops.map + 9);
  g.beginPath();
  g.moveTo(0, tops.all - 0.5);
  g.lineTo(s.width, tops.all - 0.5);
  g.stroke();
}

/** The whole recording, with the visible part marked. */
function drawMap(s: Stage): void {
  const { g, paint, limits } = s;
  g.fillStyle = paint.raised;
  g.fillRect(0, 0, s.width, tops.map);
  const whole = limits.last - limits.first;
  const x = (t: number) => size.labels + ((t - limits.first) / whole) * s.plot;
  g.fillStyle = paint.faint;
  const base = s.whole.start_ns - s.origin;
  g.save();
  g.beginPath();
  g.rect(size.labels, 0, s.plot, tops.map);
  g.clip();
  for (const [at, share] of s.shares()) {
    const x0 = Math.round(x(base + at));
    const x1 = Math.max(Math.round(x(base + at + s.shareWidth)), x0 + 1);
    const high = share * (tops.map - 8);
    g.fillRect(x0, tops.map - 4 - high, x1 - x0, Math.max(high, 0.5));
  }
  g.restore();
  const from = Math.max(x(s.view.from), size.labels);
  const to = Math.min(Math.max(x(s.view.to), from + 2), s.width);
  g.fillStyle = paint.accent;
  g.globalAlpha = 0.15;
  g.fillRect(from, 0, to - from, tops.map);
  g.globalAlpha = 1;
  g.strokeStyle = paint.accent;
  g.strokeRect(from + 0.5, 0.5, Math.max(to - from - 1, 1), tops.map - 1);
  g.fillStyle = paint.faint;
  g.font = "11px " + paint.font;
  const read = s.whole.read_ns;
  g.fillText(read > 0 ? `reading: ${percent(Math.min(Math.max((read - s.origin - limits.first) / whole, 0), 1))}` : "all of it · " + duration(whole), 6, tops.map / 2);
}

/** How busy all threads were together, by bucket of the whole recording: time and share. */
export function sharesOf(a: Stage["whole"]): [number, number][] {
  const sums = new Map<number, number>();
  let most = 0;
  const width = a.bucket_ns || Math.max((a.window.to_ns - a.window.from_ns) / 512, 1);
  for (const lane of a.lanes) {
    const step = a.bucket_ns ? stride.bucket : stride.call;
    for (let i = 0; i < lane.calls.length; i += step) {
      const at = a.bucket_ns ? lane.calls[i]! : Math.floor(lane.calls[i]! / width);
      const ns = lane.calls[i + (a.bucket_ns ? 2 : 1)]!;
      const sum = (sums.get(at) ?? 0) + ns;
      sums.set(at, sum);
      most = Math.max(most, sum);
    }
  }
  return [...sums].map(([at, ns]) => [at * width, most > 0 ? ns / most : 0]);
}

const severities: Record<string, "high" | "medium" | "low"> = { HIGH: "high", MEDIUM: "medium", LOW: "low" };

function drawMarks(s: Stage): void {
  const { g, paint } = s;
  for (const m of s.marks) {
    const x = s.x(m.at);
    if (x < size.labels || x > s.width) continue;
    g.fillStyle = paint[severities[m.severity] ?? "medium"];
    g.beginPath();
    g.moveTo(x, tops.all - 1);
    g.lineTo(x - 5, tops.all - 10);
    g.lineTo(x + 5, tops.all - 10);
    g.fill();
  }
}

function drawSelection(s: Stage): void {
  if (!s.selection) return;
  const { g, paint } = s;
  const from = Math.max(s.x(s.selection.from), size.labels);
  const to = Math.min(s.x(s.selection.to), s.width);
  if (to < from) return;
  g.fillStyle = paint.accent;
  g.globalAlpha = 0.13;
  g.fillRect(from, tops.all, to - from, s.height);
  g.globalAlpha = 1;
  g.strokeStyle = paint.accent;
  g.strokeRect(from + 0.5, tops.all, Math.max(to - from - 1, 1), s.height);
}

function drawItem(s: Stage): void {
  for (const [item, width] of [
    [s.hover, 1],
    [s.picked, 2],
  ] as const) {
    if (!item) continue;
    const row = s.layout.rows[item.row.index];
    if (!row) continue;
    const x0 = Math.max(s.x(item.start), size.labels);
    const x1 = Math.min(s.x(item.start + item.duration), s.width);
    if (x1 < size.labels || x0 > s.width) continue;
    const wait = item.kind === "wait";
    const y = s.y(row) + row.head + (wait ? row.calls : item.depth * row.call);
    const height = item.kind === "bucket" ? row.calls + row.waits : wait ? row.waits : row.call;
    s.g.strokeStyle = s.paint.text;
    s.g.lineWidth = width;
    s.g.strokeRect(x0 - 0.5, y - 0.5, Math.max(x1 - x0, 2) + 1, height);
    s.g.lineWidth = 1;
  }
}

function drawArrows(s: Stage): void {
  const { g, paint } = s;
  g.save();
  g.beginPath();
  g.rect(size.labels, tops.all, s.plot, s.height);
  g.clip();
  const middle = (row: Row, part: "call" | "wait") => s.y(row) + row.head + (part === "wait" || row.calls === 0 ? row.calls + row.waits / 2 : row.call / 2);
  s.arrows.forEach((a, i) => {
    const x1 = s.x(a.to.at);
    const y1 = middle(a.to.row, a.to.part);
    const x0 = a.from.row ? s.x(a.from.at) : x1 - 70;
    // A cause without a lane is drawn beside its effect.
    const y0 = a.from.row ? middle(a.from.row, a.from.part) : y1 + 34 + 18 * i;
    g.strokeStyle = g.fillStyle = paint.high;
    g.lineWidth = 2;
    g.beginPath();
    g.moveTo(x0, y0);
    const bend = Math.max(Math.abs(y1 - y0) * 0.4, 24);
    g.bezierCurveTo(x0 + (a.from.row ? bend : 0), y0, x1 - bend, y1, x1 - 5, y1);
    g.stroke();
    g.beginPath();
    g.moveTo(x1, y1);
    g.lineTo(x1 - 8, y1 - 4);
    g.lineTo(x1 - 8, y1 + 4);
    g.fill();
    boxed(s, printable(a.from.row ? a.label : `${a.from.name}: ${a.label}`), a.from.row ? (x0 + x1) / 2 + 8 : x0, a.from.row ? (y0 + y1) / 2 : y0 + 8);
  });
  g.restore();
}

function boxed(s: Stage, text: string, x: number, y: number): void {
  const { g, paint } = s;
  g.font = "11px " + paint.font;
  const width = g.measureText(text).width + 8;
  const left = Math.min(Math.max(x - width / 2, size.labels + 2), Math.max(s.width - width - 2, size.labels + 2));
  g.fillStyle = paint.ground;
  g.fillRect(left, y - 8, width, 16);
  g.strokeStyle = paint.line;
  g.lineWidth = 1;
  g.strokeRect(left + 0.5, y - 8.5, width, 16);
  g.fillStyle = paint.text;
  g.fillText(text, left + 4, y);
}
