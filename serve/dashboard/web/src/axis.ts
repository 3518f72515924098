// Axes of time.

import { clock } from "./format";

export interface Tick {
  at: number;
  label: string;
}

const units: [number, string][] = [
  [1, "ns"],
  [1e3, "µs"],
  [1e6, "ms"],
  [1e9, "s"],
];

/**
 * The distance of ticks so that at most so many fit: 1, 2 or 5 times a power of ten, or a round
 * number of minutes, hours or days.
 */
export function tickStep(width: number, most: number): number {
  const want = width / Math.max(most, 1);
  const round = [60, 300, 600, 1800, 3600, 7200, 21600, 43200, 86400, 172800, 604800].map((s) => s * 1e9);
  if (want > 30e9) {
    const found = round.find((r) => r >= want);
    if (found) return found;
    return Math.ceil(want / 604800e9) * 604800e9;
  }
  const ten = 10 ** Math.floor(Math.log10(Math.max(want, 1)));
  return [1, 2, 5, 10].map((f) => f * ten).find((s) => s >= want)!;
}

/** Ticks of a view, at round times of the day. Labels of close ones give the time since the last whole ms or µs. */
export function ticks(v: { from: number; to: number }, most: number, originNS: number, clock: (unixNS: number, step: number) => string): Tick[] {
  const step = tickStep(v.to - v.from, most);
  const out: Tick[] = [];
  // The origin is not round itself: ticks are counted from the second before it.
  const base = -(originNS % (step > 1e9 ? step : 1e9));
  for (let i = Math.ceil((v.from - base) / step); out.length < 1000; i++) {
    const at = base + i * step;
    if (at > v.to) break;
    out.push({ at, label: step >= 1e6 ? clock(originNS + at, step) : within(at - base, step) });
  }
  return out;
}

/** The part of a time after its last whole millisecond, or microsecond. */
function within(at: number, step: number): string {
  const [size, unit] = units[step >= 1e3 ? 1 : 0]!;
  const next = size * 1e3;
  const part = ((at % next) + next) % next;
  if (part < step / 2) return clockless(at, next);
  return "+" + Math.round(part / size) + " " + unit;
}

function clockless(at: number, size: number): string {
  const [, unit] = units.find(([s]) => s === size)!;
  const whole = Math.round(at / size);
  return (((whole % 1000) + 1000) % 1000) + " " + unit;
}

/** A time of day, as precise as the step of the ticks. */
export function axisClock(unix: number, step: number): string {
  const d = new Date(Math.round(unix / 1e6));
  if (step >= 86400e9) return d.toLocaleDateString("sv-SE");
  if (step >= 3600e9) return d.toLocaleDateString("sv-SE").slice(5) + " " + d.toLocaleTimeString("en-GB").slice(0, 5);
  return step >= 1e9 ? d.toLocaleTimeString("en-GB") : clock(d.getTime() * 1e6 + 5e5);
}
