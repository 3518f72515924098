// Labels of processes, such as steps and epochs, as bands in the line with the process's name: one
// above the other for its keys, those that change least often first.

import { get } from "../../api";
import { printable } from "../../printable";
import type { Labels } from "../../wire";
import { size, type LaneInfo } from "./layout";
import { fitting } from "./paint";
import { tops, type Stage } from "./stage";
import type { View } from "./view";

/** Keys of a process that are shown. */
const mostKeys = 3;

/** Labels that are asked for at a time. If there are more, the longest in view are shown. */
const most = 5000;

interface Band {
  from: number;
  to: number;
  value: string;
}

interface Key {
  name: string;
  list: Band[]; // by begin
}

const nameOf = (node: string, pid: number) => `${pid} ${node}`;

export class Bands {
  private of = new Map<string, Key[]>();
  private complete = false;
  private asked = 0;

  constructor(private stage: Stage) {}

  /** How many bands a process has. */
  keys(l: LaneInfo): number {
    return this.of.get(nameOf(l.node, l.pid))?.length ?? 0;
  }

  /** Asks for the labels of a view, unless all are there. */
  async load(v?: View): Promise<void> {
    const s = this.stage;
    if (v && this.complete) return;
    const round = ++this.asked;
    const unix = (t: number) => String(BigInt(s.origin) + BigInt(Math.max(Math.round(t), 0)));
    const window: Record<string, string> = v ? { from: unix(v.from), to: unix(v.to) } : { since: "all" };
    const a = await get<Labels>("labels", { ...s.scope, ...window, limit: String(most) });
    if (round !== this.asked) return; // a later answer is on its way
    this.complete = !v && a.total <= a.labels.length;
    this.of = sorted(a, s.origin);
    s.placed();
  }

  draw(): void {
    const { stage: s } = this;
    if (this.of.size === 0) return;
    const { g, paint } = s;
    g.save();
    g.beginPath();
    g.rect(size.labels, tops.all, s.width, s.height - tops.all);
    g.clip();
    g.font = "11px " + paint.font;
    for (const row of s.layout.between(s.scroll, s.scroll + s.height)) {
      const keys = row.head && row.info ? this.of.get(nameOf(row.info.node, row.info.pid)) : undefined;
      keys?.forEach((k, i) => this.line(k, s.y(row) + 2 + i * size.band));
    }
    g.restore();
  }

  /** Draws the bands of a key. Those that follow each other have two shades in turn. */
  private line(k: Key, y: number): void {
    const { g, paint, view, width } = this.stage;
    let last = -Infinity; // the end of what is drawn, so that a thousand bands of a pixel are drawn once
    k.list.forEach((b, i) => {
      if (b.to < view.from || b.from > view.to) return;
      const x0 = Math.max(this.stage.x(b.from), size.labels);
      const x1 = Math.min(this.stage.x(b.to), width);
      if (x1 - last < 0.5) return;
      last = x1;
      g.globalAlpha = i % 2 ? 0.35 : 0.2;
      g.fillStyle = paint.accent;
      g.fillRect(x0, y, Math.max(x1 - x0, 0.75), size.band - 2);
      g.globalAlpha = 1;
      g.fillStyle = paint.text;
      const text = fitting(printable(`${k.name} ${b.value}`), x1 - x0 - 6) || fitting(printable(b.value), x1 - x0 - 6);
      if (text) g.fillText(text, x0 + 3, y + size.band / 2 - 0.5);
    });
  }
}

/** The labels of each process by key, the longest first. */
function sorted(a: Labels, origin: number): Map<string, Key[]> {
  const all = new Map<string, Map<string, Band[]>>();
  for (const l of a.labels) {
    if (l.tid !== 0) continue; // of a thread
    const name = nameOf(l.node, l.pid);
    const keys = all.get(name) ?? new Map<string, Band[]>();
    all.set(name, keys);
    const list = keys.get(l.key) ?? [];
    keys.set(l.key, list);
    list.push({ from: l.start_ns - origin, to: l.start_ns - origin + l.duration_ns, value: l.value });
  }
  const mean = (k: Key) => k.list.reduce((sum, b) => sum + b.to - b.from, 0) / k.list.length;
  const out = new Map<string, Key[]>();
  for (const [name, keys] of all) {
    const list = [...keys].map(([key, bands]) => ({ name: key, list: bands }));
    out.set(name, list.sort((x, y) => mean(y) - mean(x)).slice(0, mostKeys));
  }
  return out;
}
