// The visible part of the time, and how it is moved. Times are nanoseconds since a common
// origin, so that they are exact where Unix times would not be.

export interface View {
  from: number;
  to: number;
}

/** The limits of a view: the recording, and the closest zoom. */
export interface Limits {
  first: number;
  last: number;
  least: number; // narrowest width, ns
}

/** The narrowest window, in ns. */
export const least = 1000;

/** Keeps a view in its limits: some of the recording is in it, and at most a tenth around it. */
export function clamp(v: View, l: Limits): View {
  const whole = Math.max(l.last - l.first, l.least);
  const width = Math.min(Math.max(v.to - v.from, l.least), whole * 1.2);
  let from = v.from + (v.to - v.from - width) / 2;
  const around = Math.min(whole * 0.1, width * 0.5);
  from = Math.min(Math.max(from, l.first - around), l.last + around - width);
  return { from, to: from + width };
}

/** Zooms by a factor (below 1: closer); what is at this share of the width stays there. */
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
