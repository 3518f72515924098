// The part of the time that is seen, and how it is moved. Times are nanoseconds since an
// origin that all of them share, so that they are exact where Unix times would not be.

export interface View {
  from: number;
  to: number;
}

/** What can be looked at: the recording, and how close. */
export interface Limits {
  first: number;
  last: number;
  least: number; // ns that are seen at least
}

/** The narrowest window: 200 ns. */
export const least = 200;

/** Keeps a view in its limits: at most the recording with a tenth around it. */
export function clamp(v: View, l: Limits): View {
  const whole = Math.max(l.last - l.first, l.least);
  const width = Math.min(Math.max(v.to - v.from, l.least), whole * 1.2);
  let from = v.from + (v.to - v.from - width) / 2;
  from = Math.min(Math.max(from, l.first - whole * 0.1), l.last + whole * 0.1 - width);
  return { from, to: from + width };
}

/** Zooms by a factor, below 1 closer, so that what is at share of the width stays there. */
export function zoom(v: View, factor: number, share: number, l: Limits): View {
  const width = v.to - v.from;
  const next = Math.min(Math.max(width * factor, l.least), Math.max(l.last - l.first, l.least) * 1.2);
  const from = v.from + (width - next) * share;
  return clamp({ from, to: from + next }, l);
}

/** Moves by a share of the width. */
export function pan(v: View, share: number, l: Limits): View {
  const by = (v.to - v.from) * share;
  return clamp({ from: v.from + by, to: v.to + by }, l);
}

/** Whether a view reaches to the end, so that it follows a recording that grows. */
export function atEnd(v: View, l: Limits): boolean {
  return v.to >= l.last - (v.to - v.from) * 0.02;
}

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

/** The distance of ticks of which at most so many fit: 1, 2 or 5 times a power of ten, or a round number of minutes, hours or days. */
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

/** Ticks of a view. They are at round times of the day; a label tells how far from the one before when they are near. */
export function ticks(v: View, most: number, originNS: number, clock: (unixNS: number, step: number) => string): Tick[] {
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
