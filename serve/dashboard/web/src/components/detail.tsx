import type { ComponentChildren } from "preact";
import { count, duration } from "../format";
import type { Chain, Owner, Report, Step } from "../wire";
import { href } from "../route";
import { Evidence } from "./evidence";
import { Fact, Facts } from "./facts";
import { Lost, Severity, When, Who, slow } from "./finding";
import { Frames } from "./stack";

/** One finding in full. */
export function Detail(props: { chain: Chain; report: Report }) {
  const c = props.chain;
  return (
    <article class="finding" aria-label="finding">
      <h1>
        <Severity of={c.severity} /> {c.summary}
      </h1>
      <Numbers chain={c} />
      {c.pattern && <When pattern={c.pattern} window={props.report.window} tid={c.effect.tid} link />}
      <section>
        <h3>From the effect to the cause</h3>
        <ol class="path">
          {c.path.map((s, i) => (
            <PathStep key={i} step={s} also={also(c.path, i)} of={c.lost_ns} />
          ))}
        </ol>
        <p class="cause">
          <code>{c.cause.kind}</code> <Who {...c.cause} />: {c.cause.detail}
        </p>
        {c.also && (
          <p>
            The thread waited in {c.also.map((kind, i) => [i > 0 && ", ", <code key={kind}>{kind}</code>])}.
          </p>
        )}
      </section>
      <Part title="Who takes part">
        {c.culprits && (
          <ul class="plain culprits">
            {c.culprits.map((w) => (
              <li key={w.tid}>
                <Who {...w} />: {w.pct} %, {duration(w.ns)}
              </li>
            ))}
          </ul>
        )}
      </Part>
      <Part title="What else was lost">
        {c.rest && (
          <ul class="plain rest">
            {c.rest.map((r, i) => (
              <li key={i}>
                {r.pct} % of the {r.of}: {r.what} ({duration(r.ns)})
              </li>
            ))}
          </ul>
        )}
      </Part>
      <Part title="What to do">
        {c.recommendations.length > 0 && (
          <ul class="fixes">
            {c.recommendations.map((r) => (
              <li key={r}>{r}</li>
            ))}
          </ul>
        )}
      </Part>
      <Part title="Without it">{c.what_if && <WhatIf of={c.what_if} steps={c.per_step} />}</Part>
      <Part title="What speaks against it">{c.counter_evidence}</Part>
      <Part title="What else it could be">
        {c.alternatives && (
          <ul class="plain">
            {c.alternatives.map((a) => (
              <li key={a.kind}>
                <code>{a.kind}</code> {a.pct} %: {a.why}
              </li>
            ))}
          </ul>
        )}
      </Part>
      <Evidence of={c} />
      <Part title="Stack">{c.stack.length > 0 && <Frames of={c.stack} />}</Part>
      <Part title="Whose it is">
        {c.owners && (
          <ul class="plain">
            {c.owners.map((o) => (
              <li key={o.pid}>
                <Who process={o.process} pid={o.pid} />: {owner(o)}
              </li>
            ))}
          </ul>
        )}
      </Part>
      <p class="faint">
        <code>{c.id}</code> is the same whenever the same thread loses time to the same cause.
      </p>
    </article>
  );
}

/** A part with its title; nothing if it is empty. */
function Part(props: { title: string; children?: ComponentChildren }) {
  if (!props.children) return null;
  return (
    <section>
      <h3>{props.title}</h3>
      {props.children}
    </section>
  );
}

function Numbers(props: { chain: Chain }) {
  const { effect: e, lost_ns, lost_pct, explained_pct, evidence, per_step: s } = props.chain;
  return (
    <Facts>
      {lost_ns > 0 && (
        <Fact name="lost">
          <Lost ns={lost_ns} pct={lost_pct} />
        </Fact>
      )}
      <Fact name="explained">
        {explained_pct} % <small>by {count(evidence.sample)}</small>
      </Fact>
      <Fact name="slow">
        {slow(e)}
        {e.kernel && <small> of {e.kernel}</small>}
      </Fact>
      <Fact name="in">
        <a href={href("timeline", { tid: e.tid })}>
          <Who {...e} />
        </a>
      </Fact>
      {e.max_ns > 0 && (
        <Fact name="p50, p99, longest">
          {duration(e.p50_ns)}, {duration(e.p99_ns)}, {duration(e.max_ns)} {e.tail_ratio > 0 && <small>p99 is {e.tail_ratio} × p50</small>}
        </Fact>
      )}
      {s && (
        <Fact name="a step loses">
          {duration(s.lost_ns)} <small>in {count(s.affected)} of {count(s.steps)}</small>
        </Fact>
      )}
    </Facts>
  );
}

const shapes: Record<string, string> = { running: "▶", runnable: "◇", throttled: "◈", blocked: "■" };

/** What a thread was doing, in the words of "ingero explain". */
function doing(s: Step): string {
  if (!s.on) return s.state;
  return s.state === "running" && !/^(a )?CPU/.test(s.on) ? `${s.state}, ${s.on}` : `${s.state} on ${s.on}`;
}

/** Whether a step is one of several that ran while the thread of an earlier one could not. */
function also(path: Step[], i: number): boolean {
  const ran = (s?: Step) => s?.layer === "HOST" && s.state === "running";
  return ran(path[i]) && ran(path[i - 1]);
}

function PathStep(props: { step: Step; also: boolean; of: number }) {
  const s = props.step;
  const share = props.of > 0 ? Math.min(s.ns / props.of, 1) : 0;
  return (
    <li class={props.also ? "also" : ""}>
      <span class="layer">{s.layer}</span>
      <Who {...s} />
      <span class="state">
        {shapes[s.state] ?? "○"} {doing(s)}
      </span>
      <b class="time">{duration(s.ns)}</b>
      <meter min={0} max={1} value={share} title={`${(100 * share).toFixed(0)} % of what was lost`} />
    </li>
  );
}

function WhatIf(props: { of: NonNullable<Chain["what_if"]>; steps: Chain["per_step"] }) {
  const w = props.of;
  return (
    <p>
      A step takes <b>{duration(w.step_ns)}</b> instead of {duration(w.now_ns)}: <b>{w.faster_pct} % faster</b>{" "}
      <small>
        ({duration(w.low_ns)} to {duration(w.high_ns)})
      </small>
      {w.remains && <>. What remains: {w.remains}</>}
    </p>
  );
}

function owner(o: Owner): string {
  return [o.text, o.rank !== undefined && `rank ${o.rank}${o.world_size ? ` of ${o.world_size}` : ""}`, o.ns_pid && `pid ${o.ns_pid} inside`].filter(Boolean).join(", ");
}
