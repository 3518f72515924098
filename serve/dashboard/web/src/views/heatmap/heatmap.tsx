import { useEffect, useRef, useState } from "preact/hooks";
import "./heatmap.css";
import { query, useGet, useLoad } from "../../api";
import { clock, count, duration } from "../../format";
import { change, href, route, scope } from "../../route";
import { State } from "../../state";
import { isDark, onTheme } from "../../theme";
import type * as wire from "../../wire";
import { bounds, Chart, type Map } from "./chart";
import { cellsOf, rowEnd, viridis, within, type Part } from "./scale";

/** How long the calls of an operation took, over time. */
export function Heatmap() {
  const op = route.value.params.get("op");
  const loaded = useGet<wire.Heatmap>("heatmap", { ...scope.value, ...(op ? { op } : {}) });
  const a = loaded.value;
  return (
    <State of={loaded}>
      {a && (
        <div class="heatmap">
          <p class="tools">
            <label>
              operation{" "}
              <select value={a.op} onChange={(e) => change({ op: e.currentTarget.value })}>
                {(a.ops.includes(a.op) || !a.op ? a.ops : [a.op, ...a.ops]).map((o) => (
                  <option key={o}>{o}</option>
                ))}
              </select>
            </label>
            <span class="empty">
              {count(a.calls)} calls{a.exact ? "" : ", by those that are stored and what they stand for"}; a column is {duration(a.column_ns)}
            </span>
          </p>
          {a.calls === 0 ? <p class="empty">No call of this operation was recorded in this window.</p> : <Heat answer={a} />}
        </div>
      )}
    </State>
  );
}

function Heat(props: { answer: wire.Heatmap }) {
  const a = props.answer;
  const canvas = useRef<HTMLCanvasElement>(null);
  const chart = useRef<Chart | undefined>(undefined);
  const [part, setPart] = useState<Part>();
  const [tip, setTip] = useState<{ x: number; y: number; cell: { column: number; row: number } }>();
  const shown = useRef<Part | undefined>(undefined);
  shown.current = part;
  const map: Map = { start: a.start_ns, column: a.column_ns, columns: a.columns, cells: cellsOf(a.cells) };

  useEffect(() => {
    const c = (chart.current = new Chart(canvas.current!, map));
    const draw = () => c.draw(shown.current);
    draw();
    const resized = new ResizeObserver(draw);
    resized.observe(canvas.current!);
    const end = onTheme(draw);
    return () => {
      end();
      resized.disconnect();
    };
  }, [a]);
  useEffect(() => setPart(undefined), [a.op, a.columns, a.column_ns]);
  useEffect(() => chart.current?.draw(part), [part]);
  useBrush(canvas, chart, shown, setPart, setTip);

  return (
    <>
      <div class="map">
        <canvas
          ref={canvas}
          tabIndex={0}
          role="application"
          aria-label={`Heat map of ${a.op}: ${count(a.calls)} calls by time and duration. Arrow keys move a cell, with Shift they make it a part, Escape leaves it.`}
        />
        {tip && <Tip map={map} at={tip} />}
      </div>
      <Legend most={chart.current?.most ?? map.cells.reduce((m, c) => Math.max(m, c.n), 0)} />
      {part ? <Chosen answer={a} map={map} part={part} /> : <p class="empty">Drag over a part of it to see its calls.</p>}
    </>
  );
}

/** Selects a part with the mouse or the keys. */
function useBrush(
  canvas: { current: HTMLCanvasElement | null },
  chart: { current: Chart | undefined },
  shown: { current: Part | undefined },
  setPart: (p: Part | undefined) => void,
  setTip: (t: { x: number; y: number; cell: { column: number; row: number } } | undefined) => void,
): void {
  useEffect(() => {
    const el = canvas.current!;
    const stop = new AbortController();
    const on = <K extends keyof HTMLElementEventMap>(name: K, f: (e: HTMLElementEventMap[K]) => void) => el.addEventListener(name, f, { signal: stop.signal });
    let from: { column: number; row: number } | undefined;
    const between = (a: { column: number; row: number }, b: { column: number; row: number }): Part => ({
      column0: Math.min(a.column, b.column),
      column1: Math.max(a.column, b.column),
      row0: Math.min(a.row, b.row),
      row1: Math.max(a.row, b.row),
    });
    on("pointerdown", (e) => {
      from = chart.current!.at(e.offsetX, e.offsetY);
      if (from) el.setPointerCapture(e.pointerId);
    });
    on("pointermove", (e) => {
      const cell = chart.current!.at(e.offsetX, e.offsetY);
      setTip(cell && { x: e.offsetX, y: e.offsetY, cell });
      if (from) chart.current!.draw(between(from, chart.current!.near(e.offsetX, e.offsetY)));
    });
    on("pointerup", (e) => {
      if (from) setPart(between(from, chart.current!.near(e.offsetX, e.offsetY)));
      from = undefined;
    });
    on("pointerleave", () => setTip(undefined));
    on("keydown", (e) => {
      const moves: Record<string, [number, number]> = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
      const move = moves[e.key];
      if (e.key === "Escape") setPart(undefined);
      if (!move) return;
      e.preventDefault();
      const c = chart.current!;
      const p = shown.current ?? { ...zero(c), column1: zero(c).column0, row1: zero(c).row0 };
      const end = c.kept(p.column1 + move[0], p.row1 + move[1]);
      setPart(e.shiftKey ? between({ column: p.column0, row: p.row0 }, end) : { column0: end.column, column1: end.column, row0: end.row, row1: end.row });
    });
    return () => stop.abort();
  }, []);
}

/** The cell with most calls. */
function zero(c: Chart): { column0: number; row0: number } {
  const most = c.map.cells.reduce((a, b) => (b.n > a.n ? b : a));
  return { column0: most.column, row0: most.row };
}

function Tip(props: { map: Map; at: { x: number; y: number; cell: { column: number; row: number } } }) {
  const { map, at } = props;
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!box.current) return;
    const wide = box.current.parentElement!.clientWidth;
    box.current.style.left = `${Math.min(at.x + 14, wide - 230)}px`;
    box.current.style.top = `${at.y + 14}px`;
  });
  const { column, row } = at.cell;
  const n = within(map.cells, { column0: column, column1: column, row0: row, row1: row });
  return (
    <div class="tip" ref={box}>
      <b>{count(n)}</b> calls of {duration(rowEnd(row - 1))} to {duration(rowEnd(row))}
      <br />
      at {clock(map.start + column * map.column)}
    </div>
  );
}

function Legend(props: { most: number }) {
  const bar = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const draw = () => {
      const g = bar.current?.getContext("2d");
      for (let x = 0; g && x < 200; x++) {
        g.fillStyle = viridis(x / 199, isDark());
        g.fillRect(x, 0, 1, 10);
      }
    };
    draw();
    return onTheme(draw);
  }, []);
  const middle = Math.round(Math.sqrt(props.most));
  return (
    <p class="scale">
      calls in a cell: 1 <canvas ref={bar} width={200} height={10} /> {count(props.most)}
      {middle > 1 && <span class="empty"> (in the middle {count(middle)})</span>}
    </p>
  );
}

/** The calls in a part of the map. */
function Chosen(props: { answer: wire.Heatmap; map: Map; part: Part }) {
  const { map, part, answer } = props;
  const b = bounds(map, part);
  const pid = scope.value.pid;
  const sql =
    `select timestamp, duration_ns, pid, tid, comm, ret_code from cuda_events where stored and op = '${answer.op.replaceAll("'", "''")}'` +
    ` and timestamp >= ${b.from} and timestamp < ${b.to} and duration_ns > ${b.above} and duration_ns <= ${b.most}` +
    `${pid && /^\d+$/.test(pid) ? ` and pid = ${pid}` : ""} order by duration_ns desc limit 50`;
  const rows = useLoad((signal) => query<[number, number, number, number, string, number]>(sql, 50, signal), [sql]);
  return (
    <>
      <h2>
        {count(within(map.cells, part))} calls of {duration(Math.max(b.above, 0))} to {duration(b.most)}
      </h2>
      <p>
        {clock(Number(b.from))} … {clock(Number(b.to))} · <a href={href("timeline", { from: String(b.from), to: String(b.to), since: null })}>timeline of it</a> ·{" "}
        <a href={href("heatmap", { from: String(b.from), to: String(b.to), since: null, op: answer.op })}>heat map of it</a>
      </p>
      <p>The longest of those that were stored one by one:</p>
      <State of={rows}>
        <table>
          <thead>
            <tr>
              <th>begins</th>
              <th class="number">takes</th>
              <th>thread</th>
              <th class="number">returned</th>
            </tr>
          </thead>
          <tbody>
            {rows.value?.rows.map(([at, took, p, t, comm, ret]) => (
              <tr key={at + "/" + t}>
                <td>
                  <a href={href("timeline", { from: String(BigInt(at) - BigInt(took)), to: String(BigInt(at) + 2n * BigInt(took) + 1000n), since: null, tid: t })}>{clock(at)}</a>
                </td>
                <td class="number">{duration(took)}</td>
                <td>
                  {comm} {t} ({p})
                </td>
                <td class="number">{ret}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </State>
    </>
  );
}
