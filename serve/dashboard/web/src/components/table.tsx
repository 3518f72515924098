import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { bytes, clock, count, duration } from "../format";

/** How a value is shown. */
export type Kind = "text" | "code" | "number" | "bytes" | "duration" | "time" | "percent" | "stack";

export interface Column<Row> {
  title: string;
  of: (row: Row) => unknown;
  kind?: Kind;
  show?: (row: Row) => ComponentChildren; // instead of the value as text
}

const words: Record<Kind, (v: never) => string> = {
  text: String,
  code: String,
  number: count,
  bytes,
  duration,
  time: clock,
  percent: (v: number) => v.toFixed(1) + " %",
  stack: String,
};

function cell(v: unknown, kind: Kind): string {
  return v === null || v === undefined || v === "" ? "–" : words[kind](v as never);
}

/** A table that shows its first rows, and all on a click. A quiet caption is for screen readers only. */
export function Table<Row>(props: { rows: Row[]; columns: Column<Row>[]; caption: string; quiet?: boolean; first?: number; id?: (row: Row) => string | number }) {
  const [all, setAll] = useState(false);
  const first = props.first ?? 15;
  const rows = all ? props.rows : props.rows.slice(0, first);
  return (
    <div class="table">
      <table>
        <caption class={props.quiet ? "unseen" : ""}>{props.caption}</caption>
        <thead>
          <tr>
            {props.columns.map((c) => (
              <th key={c.title} scope="col" class={numeric(c.kind)}>
                {c.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((r, i) => (
            <tr key={props.id?.(r) ?? i}>
              {props.columns.map((c) => (
                <td key={c.title} class={`${numeric(c.kind)} ${c.kind ?? "text"}`}>
                  {c.show ? c.show(r) : cell(c.of(r), c.kind ?? "text")}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {props.rows.length > first && (
        <button onClick={() => setAll(!all)}>{all ? `first ${first}` : `all ${count(props.rows.length)}`}</button>
      )}
    </div>
  );
}

function numeric(kind: Kind = "text"): string {
  return kind === "text" || kind === "code" || kind === "stack" ? "" : "number";
}
