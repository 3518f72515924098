import { useGet } from "../api";
import { Fact, Facts } from "../components/facts";
import { Lost, Severity, When, Who } from "../components/finding";
import { Losses } from "../components/losses";
import { Table, type Column } from "../components/table";
import { clock, count, duration, moment } from "../format";
import { href, scope } from "../route";
import { State } from "../state";
import type { Chain, Op, Ops, Recording, Report } from "../wire";
import { Rest } from "./rest";
import "./overview.css";

/** The verdict, then the findings and numbers behind it. */
export function Overview() {
  const report = useGet<Report>("chains", scope.value);
  const r = report.value;
  return (
    <State of={report}>
      {r && (
        <>
          <h1 class="verdict">{r.verdict}</h1>
          <What report={r} />
          <Losses lost={r.lost} />
          <Notes of={r.notes} />
          <section class="cards" aria-label="findings">
            {r.chains.map((c) => (
              <Card key={c.id} chain={c} window={r.window} />
            ))}
          </section>
          <Rest report={r} />
          <Operations />
        </>
      )}
    </State>
  );
}

/** What was recorded, and where. */
function What(props: { report: Report }) {
  const { window, events } = props.report;
  const recording = useGet<Recording>("recording", {}).value;
  const last = recording?.sessions.at(-1);
  return (
    <Facts>
      <Fact name="looked at">
        {duration(window.to_ns - window.from_ns)} from {clock(window.from_ns)}
        {window.note && <small> {window.note}</small>}
      </Fact>
      <Fact name="calls">{count(events)}</Fact>
      {recording && <Fact name="stored one by one">{count(recording.stored_rows)}</Fact>}
      {last && (
        <>
          <Fact name={recording!.sessions.length > 1 ? `last of ${recording!.sessions.length} sessions` : "session"}>
            {moment(last.started_ns)} {last.stopped_ns ? `to ${clock(last.stopped_ns)}` : "(not stopped)"} <small>Ingero {last.version}</small>
          </Fact>
          <Fact name="machine">
            {last.host || last.node}
            {last.cpus > 0 && `, ${last.cpus} CPUs`} <small>{[last.arch, last.kernel && `Linux ${last.kernel}`].filter(Boolean).join(", ")}</small>
          </Fact>
        </>
      )}
    </Facts>
  );
}

function Notes(props: { of?: string[] }) {
  if (!props.of?.length) return null;
  return (
    <ul class="notes">
      {props.of.map((n) => (
        <li key={n}>{n}</li>
      ))}
    </ul>
  );
}

function Card(props: { chain: Chain; window: Report["window"] }) {
  const c = props.chain;
  return (
    <article class={`card ${c.severity.toLowerCase()}`}>
      <header>
        <Severity of={c.severity} /> {c.lost_pct > 0 && <Lost ns={c.lost_ns} pct={c.lost_pct} />}
      </header>
      <a class="summary" href={href("findings", { finding: c.id })}>
        {c.summary}
      </a>
      <p class="cause">
        <code>{c.cause.kind}</code> <Who {...c.cause} />
      </p>
      {c.pattern && <When pattern={c.pattern} window={props.window} />}
      {!c.pattern && c.explained_pct > 0 && <p class="faint">{c.explained_pct} % explained</p>}
    </article>
  );
}

const columns: Column<Op>[] = [
  { title: "process", of: (o) => o.process, show: (o) => <Who process={o.process} pid={o.pid} /> },
  { title: "operation", of: (o) => o.op, kind: "code" },
  { title: "calls", of: (o) => o.calls, kind: "number" },
  { title: "total", of: (o) => o.total_ns, kind: "duration" },
  { title: "p50", of: (o) => o.p50_ns, kind: "duration" },
  { title: "p95", of: (o) => o.p95_ns, kind: "duration" },
  { title: "p99", of: (o) => o.p99_ns, kind: "duration" },
  { title: "longest", of: (o) => o.max_ns, kind: "duration" },
  { title: "bytes", of: (o) => o.bytes || null, kind: "bytes" },
  { title: "errors", of: (o) => o.errors || null, kind: "number", show: (o) => (o.errors ? <b class="bad">{count(o.errors)}</b> : "–") },
];

function Operations() {
  const ops = useGet<Ops>("ops", scope.value);
  if (ops.value?.ops.length === 0) return null;
  return (
    <section>
      <h2>Operations</h2>
      <State of={ops}>{ops.value && <Table rows={ops.value.ops} columns={columns} caption="operations, most time first; exact" id={(o) => `${o.pid} ${o.op}`} />}</State>
    </section>
  );
}

