import type { ComponentChildren } from "preact";
import { State } from "../state";
import { useSQL } from "../sql";
import { Table, type Column, type Kind } from "./table";

/** A column of an answer, by its place: title and kind. */
export type Of = [title: string, kind?: Kind];

/**
 * A table of what a statement answers. Where there are no rows, it says why, or is left
 * out if there is nothing to say.
 */
export function Answer(props: { title: string; sql: string | undefined; columns: Of[]; none?: ComponentChildren; first?: number }) {
  const loaded = useSQL(props.sql ?? null, 500);
  const rows = loaded.value;
  if (rows?.length === 0 && !props.none && !loaded.error) return null;
  const columns: Column<unknown[]>[] = props.columns.map(([title, kind], i) => ({ title, kind, of: (r) => r[i] }));
  return (
    <section>
      <h2>{props.title}</h2>
      <State of={loaded}>
        {rows && rows.length > 0 ? <Table rows={rows} columns={columns} caption={props.title} first={props.first} /> : <p class="empty">{props.none}</p>}
      </State>
    </section>
  );
}
