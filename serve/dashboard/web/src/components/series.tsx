import { useSQL } from "../sql";
import { Chart, lines, type Unit } from "./chart";

/** How many points a line has at most. */
const points = 500;

/** What a chart is about: of each name, a column of a view over time. */
export interface Of {
  view: string;
  column: string; // or an expression that begins with one
  name: string; // an expression
  where: string;
  time?: string; // the column; timestamp
}

/** Of each name, the largest value in each of some hundred equal parts of the time. */
function statement(o: Of): string {
  const time = o.time ?? "timestamp";
  const rows = `from ${o.view} where ${o.where}`;
  const part = `(select 1 + (max(${time}) - min(${time})) / ${points} ${rows})`;
  return `select ${time} / ${part} * ${part} as at, ${o.name} as name, max(${o.column}) ${rows} group by name, at order by at`;
}

/** A chart of a column; nothing where there is nothing. */
export function Series(props: { title: string; unit: Unit; of: Of }) {
  const column = /^\w+/.exec(props.of.column)![0];
  const found = useSQL<[number, string, number | null]>(statement(props.of), 20_000, `${props.of.view}.${column}`);
  const all = lines(found.value ?? []);
  if (found.error) return <p class="error">{props.title}: {found.error}</p>;
  return all.length > 0 ? <Chart title={props.title} unit={props.unit} lines={all} /> : null;
}
