// Mouse, wheel and keys of the stage.

import { size } from "./layout";
import { tops, type Stage } from "./stage";
import { pan, zoom } from "./view";

/** How far the pointer may move in a click, in pixels. */
const still = 4;

type Drag = { kind: "pan" | "select" | "map"; x: number; y: number; from: number; to: number; scroll: number; moved: boolean };

export function listen(s: Stage): () => void {
  const stop = new AbortController();
  const { canvas } = s;
  let drag: Drag | undefined;
  const on = <K extends keyof HTMLElementEventMap>(name: K, f: (e: HTMLElementEventMap[K]) => void) =>
    canvas.addEventListener(name, f, { signal: stop.signal, passive: false });

  on("pointerdown", (e) => {
    if (e.button !== 0) return;
    const kind = e.offsetY < tops.map ? "map" : e.shiftKey || e.offsetY < tops.all ? "select" : "pan";
    drag = { kind, x: e.offsetX, y: e.offsetY, from: s.view.from, to: s.view.to, scroll: s.scroll, moved: false };
    canvas.setPointerCapture(e.pointerId);
    if (kind === "map") mapTo(s, e.offsetX);
  });
  on("pointermove", (e) => {
    if (!drag) {
      point(s, e);
      return;
    }
    drag.moved ||= Math.hypot(e.offsetX - drag.x, e.offsetY - drag.y) > still;
    if (!drag.moved) return;
    point(s, undefined);
    if (drag.kind === "map") mapTo(s, e.offsetX);
    else if (drag.kind === "select") select(s, drag.x, e.offsetX);
    else {
      const by = ((drag.x - e.offsetX) / s.plot) * (drag.to - drag.from);
      s.go({ from: drag.from + by, to: drag.to + by });
      s.scrollTo(drag.scroll + drag.y - e.offsetY);
    }
  });
  const up = (e: PointerEvent) => {
    const d = drag;
    drag = undefined;
    if (!d || d.kind === "map") return;
    if (d.kind === "select" && d.moved) s.on.selected(s.selection);
    else if (!d.moved) click(s, e.offsetX, e.offsetY);
  };
  on("pointerup", up);
  on("pointercancel", () => (drag = undefined));
  on("pointerleave", () => point(s, undefined));
  on("dblclick", (e) => {
    const i = s.at(e.offsetX, e.offsetY);
    if (i) s.go({ from: i.start - i.duration * 0.2, to: i.start + i.duration * 1.2 });
  });
  on("wheel", (e) => {
      e.preventDefault();
      const unit = e.deltaMode === 1 ? 16 : 1;
      if (e.offsetX < size.labels && e.offsetY > tops.all) s.scrollTo(s.scroll + e.deltaY * unit);
      else if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) s.go(pan(s.view, ((e.deltaX || e.deltaY) * unit) / s.plot, s.limits));
      else s.go(zoom(s.view, Math.exp(Math.min(Math.max(e.deltaY * unit, -200), 200) * 0.0022), share(s, e.offsetX), s.limits));
  });
  on("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || !press(s, e.key)) return;
    e.preventDefault();
    e.stopPropagation(); // a and d mean something else to the page
  });
  return () => stop.abort();
}

function share(s: Stage, x: number): number {
  return Math.min(Math.max((x - size.labels) / s.plot, 0), 1);
}

function press(s: Stage, key: string): boolean {
  const center = s.picked ? share(s, s.x(s.picked.start)) : 0.5;
  switch (key.length === 1 ? key.toLowerCase() : key) {
    case "a":
    case "ArrowLeft":
      s.go(pan(s.view, -0.15, s.limits));
      return true;
    case "d":
    case "ArrowRight":
      s.go(pan(s.view, 0.15, s.limits));
      return true;
    case "w":
    case "+":
    case "=":
      s.go(zoom(s.view, 0.7, center, s.limits));
      return true;
    case "s":
    case "-":
      s.go(zoom(s.view, 1 / 0.7, center, s.limits));
      return true;
    case "ArrowUp":
      s.scrollTo(s.scroll - 40);
      return true;
    case "ArrowDown":
      s.scrollTo(s.scroll + 40);
      return true;
    case "Home":
      s.go({ from: s.limits.first, to: s.limits.last });
      return true;
    case "End":
      s.go({ from: s.limits.last - (s.view.to - s.view.from), to: s.limits.last });
      return true;
    case "Enter":
    case "]":
    case "[":
      walk(s, key === "[" ? -1 : 1);
      return true;
    case "Escape":
      s.selection = undefined;
      s.on.selected(undefined);
      s.on.picked(undefined);
      return true;
  }
  return false;
}

/** Picks the call or wait before or after, and moves the view to it if needed. */
function walk(s: Stage, way: 1 | -1): void {
  const next = s.neighbour(way);
  if (!next) return;
  const wide = s.view.to - s.view.from;
  if (next.start < s.view.from || next.start > s.view.to) s.go({ from: next.start - wide / 2, to: next.start + wide / 2 });
  s.reveal(next.row);
  s.on.picked(next);
  s.schedule();
}

function mapTo(s: Stage, x: number): void {
  const t = s.limits.first + share(s, x) * (s.limits.last - s.limits.first);
  const half = (s.view.to - s.view.from) / 2;
  s.go({ from: t - half, to: t + half });
}

function select(s: Stage, x0: number, x1: number): void {
  const [from, to] = [s.time(Math.max(Math.min(x0, x1), size.labels)), s.time(Math.max(x0, x1, size.labels))];
  s.selection = { from: Math.round(from), to: Math.round(to) };
  s.schedule();
}

function click(s: Stage, x: number, y: number): void {
  if (y < tops.all) {
    const near = s.marks.map((m) => ({ m, d: Math.abs(s.x(m.at) - x) })).sort((a, b) => a.d - b.d)[0];
    if (near && near.d < 8) s.on.marked(near.m);
    return;
  }
  s.picked = s.at(x, y);
  s.on.picked(s.picked);
  s.schedule();
}

function point(s: Stage, e: PointerEvent | undefined): void {
  const item = e && s.at(e.offsetX, e.offsetY);
  s.canvas.style.cursor = !e ? "" : e.offsetY < tops.map ? "pointer" : e.offsetY < tops.all || e.shiftKey ? "col-resize" : item ? "default" : "grab";
  if (item?.start === s.hover?.start && item?.row.index === s.hover?.row.index && item?.kind === s.hover?.kind) {
    if (item) s.on.pointed(item, e.offsetX, e.offsetY);
    return;
  }
  s.hover = item;
  s.on.pointed(item, e?.offsetX ?? 0, e?.offsetY ?? 0);
  s.schedule();
}
