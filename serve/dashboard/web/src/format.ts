/** A duration, given in nanoseconds, with three digits, such as 1.41 s. */
export function duration(ns: number): string {
  const units: [number, string][] = [
    [3600e9, "h"],
    [60e9, "min"],
    [1e9, "s"],
    [1e6, "ms"],
    [1e3, "µs"],
  ];
  for (const [size, unit] of units) {
    if (Math.abs(ns) >= size) return digits(ns / size) + " " + unit;
  }
  return Math.round(ns) + " ns";
}

function digits(x: number): string {
  const a = Math.abs(x);
  return x.toFixed(a >= 99.95 ? 0 : a >= 9.995 ? 1 : 2);
}

/** A size with three digits and binary units, such as 1.50 GiB. */
export function bytes(n: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let i = 0;
  while (Math.abs(n) >= 1024 && i < units.length - 1) {
    n /= 1024;
    i++;
  }
  return (i === 0 ? String(n) : digits(n)) + " " + units[i];
}

/** A number with its thousands separated. */
export function count(n: number): string {
  return n.toLocaleString("en-US").replaceAll(",", "\u202f");
}

/** A share as percent. */
export function percent(share: number): string {
  return share > 0 && share < 0.001 ? "<0.1 %" : (100 * share).toFixed(share >= 0.0995 ? 0 : 1) + " %";
}

/** The time of day of a Unix time in nanoseconds, in the viewer's zone, to the millisecond. */
export function clock(ns: number): string {
  const d = new Date(ns / 1e6);
  return d.toLocaleTimeString("en-GB") + "." + String(d.getMilliseconds()).padStart(3, "0");
}

/** The day and time of a Unix time in nanoseconds. */
export function moment(ns: number): string {
  const d = new Date(ns / 1e6);
  return d.toLocaleDateString("sv-SE") + " " + d.toLocaleTimeString("en-GB");
}
