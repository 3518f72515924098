import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { State } from "../state";
import { useAnswer } from "../sql";
import { Stack } from "./stack";
import { Table, type Column, type Kind } from "./table";

/** Title and kind of an answer's column, in the order of the columns. */
export type Of = [title: string, kind?: Kind];

/**
 * The answer of a statement as a table. If it has no rows, the property none says why; without
 * that nothing is shown. needs is as with useSQL.
 */
export function Answer(props: { title: string; sql: string | undefined; columns: Of[]; none?: ComponentChildren; first?: number; needs?: string }) {
  const loaded = useAnswer(props.sql ?? null, 500, props.needs);
  const rows = loaded.value?.rows;
  if (rows?.length === 0 && !props.none && !loaded.error) return null;
  const columns: Column<unknown[]>[] = props.columns.map(([title, kind], i) => ({
    title,
    kind,
    of: (r) => r[i],
    ...(kind === "stack" ? { show: (r: unknown[]) => <Site of={r[i] as string | null} /> } : {}),
  }));
  return (
    <section>
      <h2>{props.title}</h2>
      <State of={loaded}>
        {rows && rows.length > 0 ? <Table rows={rows} columns={columns} caption={props.title} quiet first={props.first} /> : <p class="empty">{props.none}</p>}
        {rows && rows.length > 0 && loaded.value?.notes?.map((n) => <p class="empty">{n.text}</p>)}
      </State>
    </section>
  );
}

/** A place in the code, given as "HASH NAME"; a click opens its stack. */
function Site(props: { of: string | null }) {
  const [open, setOpen] = useState(false);
  const [, hash, name] = /^(-?\d+) (.*)$/.exec(props.of ?? "") ?? [];
  if (!hash || hash === "0") return <>–</>;
  return (
    <>
      <button class="row" aria-expanded={open} onClick={() => setOpen(!open)}>
        {open ? "▾" : "▸"} <code>{name}</code>
      </button>
      {open && <Stack hash={hash} title="stack, innermost first" />}
    </>
  );
}

/** SQL for a stack column of a view: the hash, and the innermost frame of the program's own code. */
export function site(view: string): string {
  const hash = `${view}.stack_hash`;
  const frame = `select symbol || coalesce(' ' || file || ':' || line, '') from stack_frames f where f.stack_hash = ${hash} and symbol <> ''`;
  return `cast(${hash} as text) || ' ' || coalesce((${frame} and kind = 'python' order by depth limit 1), (${frame} order by depth limit 1), '?')`;
}
