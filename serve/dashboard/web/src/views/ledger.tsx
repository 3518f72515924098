import { useGet } from "../api";
import { classes, classOf } from "../classes";
import { Fact, Facts } from "../components/facts";
import { Who } from "../components/finding";
import { Swatch } from "../components/swatch";
import { count, duration, percent } from "../format";
import { href, scope } from "../route";
import { State } from "../state";
import type { Ledgers, ThreadLedger } from "../wire";
import "./ledger.css";

/** Where the time of each dispatching thread went, in calls and between them. */
export function Ledger() {
  const loaded = useGet<Ledgers>("ledger", scope.value);
  const threads = loaded.value?.threads ?? [];
  return (
    <State of={loaded}>
      <h1>Where the time went</h1>
      {threads.length === 0 ? (
        <p class="empty">No thread made calls in this part of the recording.</p>
      ) : (
        <>
          <p class="faint">From each thread's first call to its last. The sums are exact, of whole seconds; what is left of them was on a CPU.</p>
          <Legend of={threads} />
          {threads.map((t) => (
            <Thread key={`${t.pid}/${t.tid}`} of={t} />
          ))}
        </>
      )}
    </State>
  );
}

function Legend(props: { of: ThreadLedger[] }) {
  const there = classes.filter((c) => props.of.some((t) => t.in_calls_ns[c.name] || t.between_calls_ns[c.name]));
  return (
    <p class="legend">
      {there.map((c) => (
        <Swatch key={c.name} of={c} />
      ))}
    </p>
  );
}

function Thread(props: { of: ThreadLedger }) {
  const t = props.of;
  const between = Math.max(t.wall_ns - t.calls_ns, 0);
  return (
    <section class="thread" aria-label={`${t.thread || t.process} ${t.tid}`}>
      <h2>
        <a href={href("timeline", { tid: t.tid })}>
          <Who process={t.process} thread={t.thread} pid={t.pid} tid={t.tid} />
        </a>
      </h2>
      <Facts>
        <Fact name="in all">{duration(t.wall_ns)}</Fact>
        <Fact name="in calls">
          {duration(t.calls_ns)} <small>{percent(t.calls_ns / t.wall_ns)}, {count(t.calls)} calls</small>
        </Fact>
        <Fact name="between calls">
          {duration(between)} <small>{percent(between / t.wall_ns)}</small>
        </Fact>
      </Facts>
      <Bar title="in calls" ns={t.in_calls_ns} of={t.wall_ns} />
      <Bar title="between" ns={t.between_calls_ns} of={t.wall_ns} />
      <Numbers of={t} />
    </section>
  );
}

/** A part of a thread's time as one bar, as long as its share of it. */
function Bar(props: { title: string; ns: Record<string, number>; of: number }) {
  const parts = classes.map((c) => ({ class: c, ns: props.ns[c.name] ?? 0 })).filter((p) => p.ns > 0);
  return (
    <div class="bar" role="img" aria-label={`${props.title}: ${parts.map((p) => `${p.class.title} ${duration(p.ns)}`).join(", ")}`}>
      <span class="title">{props.title}</span>
      <span class="parts">
        {parts.map((p) => (
          <i
            key={p.class.name}
            class={`class-${p.class.name}`}
            style={{ width: `${(100 * p.ns) / props.of}%` }}
            title={`${p.class.title}: ${duration(p.ns)}, ${percent(p.ns / props.of)}`}
          >
            {p.ns / props.of > 0.11 && <b>{p.class.title}</b>}
          </i>
        ))}
      </span>
    </div>
  );
}

function Numbers(props: { of: ThreadLedger }) {
  const t = props.of;
  const rows = Object.keys({ ...t.in_calls_ns, ...t.between_calls_ns })
    .map((name) => ({ name, within: t.in_calls_ns[name] ?? 0, between: t.between_calls_ns[name] ?? 0 }))
    .sort((a, b) => b.within + b.between - a.within - a.between);
  return (
    <div class="table">
      <table>
        <thead>
          <tr>
            <th scope="col">what it did</th>
            <th scope="col" class="number">in calls</th>
            <th scope="col" class="number">between</th>
            <th scope="col" class="number">together</th>
            <th scope="col" class="number">share</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((r) => (
            <tr key={r.name}>
              <th scope="row">
                <Swatch of={classOf(r.name)} />
              </th>
              <td class="number">{r.within > 0 ? duration(r.within) : "–"}</td>
              <td class="number">{r.between > 0 ? duration(r.between) : "–"}</td>
              <td class="number">{duration(r.within + r.between)}</td>
              <td class="number">{percent((r.within + r.between) / t.wall_ns)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
