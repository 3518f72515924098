import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { Lost, Severity, Who, slow } from "../components/finding";
import { Frames } from "../components/stack";
import { clock, count, duration } from "../format";
import type { GPUError, InFlight, RankEvent, Report, Workload } from "../wire";
import { href } from "../route";

/** What a report has besides its findings. Empty parts are left out. */
export function Rest(props: { report: Report }) {
  const r = props.report;
  return (
    <>
      <Part title="Errors of GPUs" of={r.gpu_errors} show={(e) => <Xid of={e} />} />
      <Part title="Ranks of jobs" of={r.rank_events} show={(e) => <Ranked of={e} />} />
      <Part title="Calls in flight" of={r.in_flight} show={(f) => <Flight of={f} />} />
      <Part title="Ended by the kernel" of={r.ended} show={(e) => <><Who {...e} /> at {clock(e.at_ns)}: {e.why}</>} />
      <Part
        title="Not explained"
        of={r.not_explained}
        show={(n) => (
          <>
            <Who {...n.effect} /> lost <Lost ns={n.lost_ns} pct={n.lost_pct} /> in {slow(n.effect)}: {n.why} <small>({n.explained_pct} % explained)</small>
          </>
        )}
      />
      <Part
        title="Idle"
        of={r.idle}
        show={(i) => (
          <>
            <Who {...i} /> waited for work for <Lost ns={i.ns} pct={i.pct} />, in {i.on}
          </>
        )}
      />
      <Part
        title="Changed"
        of={r.changes}
        show={(c) => (
          <>
            {c.summary}
            {c.node && <small> on {c.node}</small>}
            <br />
            <small>{c.parts.map((p) => `${p.ns < 0 ? "-" : "+"}${duration(Math.abs(p.ns))} ${p.what}`).join("; ")}</small>
          </>
        )}
      />
      <Part title="Steps" of={r.workloads} show={(w) => <Steps of={w} />} />
      <Part
        title="Found by the earlier Ingero that recorded this"
        of={r.stored_chains}
        show={(s) => (
          <>
            <Severity of={s.severity} /> {s.summary} <small>at {clock(s.at_ns)}{s.node && ` on ${s.node}`}, {s.op}</small>
            <br />
            {s.explanation || s.root_cause}
            <br />
            <small>what the data supports: {s.supported}</small>
            {s.recommendations?.length > 0 && <small> · {s.recommendations.join("; ")}</small>}
          </>
        )}
      />
    </>
  );
}

/** How many items of a part are shown before a click shows all. */
const few = 12;

function Part<T>(props: { title: string; of?: T[]; show: (item: T) => ComponentChildren }) {
  const [all, setAll] = useState(false);
  const items = props.of ?? [];
  if (items.length === 0) return null;
  return (
    <section>
      <h2>{props.title}</h2>
      <ul class="plain">
        {(all ? items : items.slice(0, few)).map((item, i) => (
          <li key={i}>{props.show(item)}</li>
        ))}
      </ul>
      {items.length > few && <button onClick={() => setAll(!all)}>{all ? `first ${few}` : `all ${count(items.length)}`}</button>}
    </section>
  );
}

function Flight(props: { of: InFlight }) {
  const f = props.of;
  const end = Math.round(f.since_ns + f.age_ns);
  return (
    <div class={f.hangs ? "flight hangs" : "flight"}>
      <Who {...f} />: <code>{f.op}</code>
      {f.inner_op && <code> › {f.inner_op}</code>} since <a href={href("timeline", { from: f.since_ns, to: end, tid: f.tid, since: null })}>{clock(f.since_ns)}</a>, for{" "}
      <b>{duration(f.age_ns)}</b>: {f.doing}
      {f.waits_for && `, waits for ${f.waits_for}`}
      {f.holder && `, held by ${f.holder}${f.holder_tid ? ` (tid ${f.holder_tid})` : ""}`}
      {f.file && <code> {f.file}</code>}
      {f.outcome === "died" && <b class="bad"> its thread ended in it.</b>}
      {f.hangs && <b class="bad"> hangs</b>}
      <Frames of={f.stack ?? []} />
    </div>
  );
}

/** What a fleet said of a rank. */
function Ranked(props: { of: RankEvent }) {
  const e = props.of;
  const from = e.since_ns || e.at_ns;
  return (
    <>
      {e.ended_ns ? e.summary : <b class="bad">{e.summary}</b>}{" "}
      <small>
        since <a href={href("timeline", { from, to: Math.max(e.ended_ns || e.at_ns, from + 1e9), since: null })}>{clock(from)}</a>
        {e.ended_ns ? `, until ${clock(e.ended_ns)}` : ", not over"}
      </small>
    </>
  );
}

function Xid(props: { of: GPUError }) {
  const e = props.of;
  return (
    <>
      <b class="bad">{e.description}</b> at {clock(e.at_ns)}
      {e.times > 1 && `, ${e.times} times`}
      {e.failed_calls?.map((f) => (
        <div key={f.op + f.pid}>
          {f.process} <small>pid {f.pid}</small>: <code>{f.op}</code> failed with {f.ret_code}, {count(f.calls)} calls, {duration(f.after_ns)} later
        </div>
      ))}
    </>
  );
}

function Steps(props: { of: Workload }) {
  const w = props.of;
  return (
    <>
      {w.process} <small>tid {w.tid}{w.node && ` on ${w.node}`}</small>: {count(w.steps)} steps of {w.per_step}; p50 {duration(w.p50_ns)}, p99 {duration(w.p99_ns)}
      {w.warmup_ns > 0 && `, the first ${duration(w.warmup_ns)} left out`}
      {Math.abs(w.trend_pct) >= 1 && `, ${w.trend_pct > 0 ? "+" : ""}${w.trend_pct.toFixed(0)} % from the first quarter to the last`}
      {w.account && w.account.length > 0 && <StepAccount of={w} />}
    </>
  );
}

/** Where a mean step goes: a bar of its parts, and the same in words. */
function StepAccount(props: { of: Workload }) {
  const parts = props.of.account ?? [];
  const words = parts.map((p) => `${duration(p.ns)} ${p.what}`).join(", ");
  return (
    <>
      <span class="step-account" role="img" aria-label={words}>
        {parts.map((p, i) => (
          <i key={p.what} style={{ width: `${p.pct}%`, opacity: Math.max(0.25, 1 - 0.18 * i) }} title={`${p.what}: ${duration(p.ns)}, ${p.pct} %`} />
        ))}
      </span>
      <small>a mean step of {duration(props.of.mean_ns ?? 0)}: {words}</small>
    </>
  );
}
