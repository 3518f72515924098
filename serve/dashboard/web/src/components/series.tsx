import { useSQL } from "../sql";
import { Chart, lines, type Unit } from "./chart";

/** The most points of a line. */
const points = 500;

/** What a chart shows: a line for each name, of a column of a view over time. */
export interface Of {
  view: string;
  column: string; // or an expression that begins with a column's name
  name: string; // an expression
  where: string;
  time?: string; // the time column, by default timestamp
}

/** For each name, the largest value in each of some 500 equal parts of the time. */
function statement(o: Of): string {
  const time = o.time ?? "timestamp";
  const rows = `from ${o.view} where ${o.where}`;
  const part = `(select 1 + (max(${time}) - min(${time})) / ${points} ${rows})`;
  return `select ${time} / ${part} * ${part} as at, ${o.name} as name, max(${o.column}) ${rows} group by name, at order by at`;
}

/** A chart of a column; nothing if there are no values. */
export function Series(props: { title: string; unit: Unit; of: Of }) {
  const column = /^\w+/.exec(props.of.column)![0];
  const found = useSQL<[number, string, number | null]>(statement(props.of), 20_000, `${props.of.view}.${column}`);
  const all = lines(found.value ?? []);
  if (found.error) return <p class="error">{props.title}: {found.error}</p>;
  return all.length > 0 ? <Chart title={props.title} unit={props.unit} lines={all} /> : null;
}
