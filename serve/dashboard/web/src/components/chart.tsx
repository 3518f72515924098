import { useEffect, useRef } from "preact/hooks";
import type uPlot from "uplot";
import { bytes, clock, count, duration } from "../format";
import { css, onTheme } from "../theme";
import "./chart.css";

/** A line: times in Unix nanoseconds, and the value at each. */
export interface Line {
  name: string;
  points: [at: number, value: number][];
}

export type Unit = "bytes" | "duration" | "number" | "percent" | "celsius" | "watt";

const words: Record<Unit, (v: number) => string> = {
  bytes,
  duration,
  number: (v) => count(Math.round(v * 100) / 100),
  percent: (v) => v.toFixed(v < 10 && v % 1 !== 0 ? 1 : 0) + " %",
  celsius: (v) => v.toFixed(0) + " °C",
  watt: (v) => v.toFixed(0) + " W",
};

/** Colours of lines. Dashes tell lines apart as well. */
const colours = ["--block-io", "--runq", "--on-cpu", "--futex", "--ioctl", "--network", "--fault", "--other"];
const dashes = [[], [6, 3], [2, 2], [8, 3, 2, 3]];

/** Lines over time. The library is loaded when the first chart is shown. */
export function Chart(props: { title: string; lines: Line[]; unit: Unit }) {
  const place = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot | undefined>(undefined);
  const latest = useRef(props);
  latest.current = props;
  const names = props.lines.map((l) => l.name).join("\n");

  useEffect(() => {
    const box = place.current!;
    let ended = false;
    const clean: (() => void)[] = [];
    void import("./plot").then(({ draw, table }) => {
      if (ended) return;
      const make = () => {
        chart.current?.destroy();
        chart.current = draw(box, latest.current.lines.map(look), latest.current.unit === "bytes", words[latest.current.unit], table(latest.current.lines));
      };
      make();
      clean.push(onTheme(make));
      const watch = new ResizeObserver(() => chart.current?.setSize({ width: box.clientWidth, height: 180 }));
      watch.observe(box);
      clean.push(() => watch.disconnect());
    });
    return () => {
      ended = true;
      clean.forEach((f) => f());
      chart.current?.destroy();
      chart.current = undefined;
    };
  }, [names, props.unit]);

  useEffect(() => {
    if (chart.current) void import("./plot").then(({ fill, table }) => chart.current && fill(chart.current, table(latest.current.lines)));
  }, [props.lines]);

  return (
    <figure class="chart">
      <figcaption>{props.title}</figcaption>
      <div ref={place} role="img" aria-label={`${props.title}: ${props.lines.map((l) => said(l, words[props.unit])).join("; ")}`} />
    </figure>
  );
}

function look(l: Line, i: number) {
  return { name: l.name, colour: css(colours[i % colours.length]!), dash: dashes[Math.floor(i / 2) % dashes.length]! };
}

/** A line in words, for screen readers. */
function said(l: Line, say: (v: number) => string): string {
  const values = l.points.map((p) => p[1]);
  const last = l.points.at(-1);
  if (!last) return `${l.name}: nothing`;
  return `${l.name} ${say(Math.min(...values))} to ${say(Math.max(...values))}, ${say(last[1])} at ${clock(last[0])}`;
}

/** Makes lines of rows of time, name and value. */
export function lines(rows: [number, string, number | null][]): Line[] {
  const by = new Map<string, Line>();
  for (const [at, name, value] of rows) {
    if (value === null) continue;
    let line = by.get(name);
    if (!line) by.set(name, (line = { name, points: [] }));
    line.points.push([at, value]);
  }
  return [...by.values()].sort((a, b) => a.name.localeCompare(b.name, "en", { numeric: true }));
}
