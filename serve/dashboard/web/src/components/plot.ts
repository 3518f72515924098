// All that uses the chart library. It is loaded only when there is a chart.
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { clock } from "../format";
import { css } from "../theme";
import type { Line } from "./chart";

/** The values of all lines at all times, which are in seconds. */
export function table(lines: Line[]): uPlot.AlignedData {
  return uPlot.join(lines.map((l) => [l.points.map((p) => p[0] / 1e9), l.points.map((p) => p[1])] as uPlot.AlignedData));
}

/** Steps of an axis of bytes: powers of two. */
const binary = Array.from({ length: 50 }, (_, i) => 2 ** i);

/** Sets a chart's values. The legend shows the last one unless the pointer is at another. */
export function fill(chart: uPlot, data: uPlot.AlignedData): void {
  chart.setData(data);
  last(chart);
}

function last(chart: uPlot): void {
  chart.setLegend({ idx: chart.data[0].length - 1 });
}

export function draw(place: HTMLElement, lines: { name: string; colour: string; dash: number[] }[], bytes: boolean, say: (v: number) => string, data: uPlot.AlignedData): uPlot {
  const axis = { stroke: css("--faint"), grid: { stroke: css("--line"), width: 1 }, ticks: { stroke: css("--line"), width: 1 }, font: "12px system-ui" };
  const options: uPlot.Options = {
    width: place.clientWidth,
    height: 180,
    padding: [8, 30, 0, 0],
    scales: { y: { range: (_, min, max) => [Math.min(0, min), max > 0 ? max * 1.08 : 1] } },
    axes: [
      { ...axis, values: (_, ticks) => ticks.map((t) => clock(t * 1e9).slice(0, 8)) },
      { ...axis, size: 76, values: (_, ticks) => ticks.map(say), ...(bytes ? { incrs: binary } : {}) },
    ],
    series: [
      { label: "at", value: (_, t) => (t ? clock(t * 1e9) : "–") },
      ...lines.map((l) => ({
        label: l.name,
        stroke: l.colour,
        width: 1.5,
        dash: l.dash,
        spanGaps: true,
        points: { show: (data[0]?.length ?? 0) < 3 },
        value: (_: uPlot, v: number | null | undefined) => (v == null ? "–" : say(v)),
      })),
    ],
    cursor: { drag: { setScale: false, x: false, y: false } },
    hooks: { setCursor: [(u) => u.cursor.idx === null && last(u)] },
  };
  const chart = new uPlot(options, data, place);
  last(chart);
  return chart;
}
