import { get, useGet, useLoad } from "../api";
import { Table, type Column } from "../components/table";
import { count, duration, moment } from "../format";
import { change, href, route } from "../route";
import { State } from "../state";
import type { ComparedFact, ComparedKernel, ComparedPart, ComparedThread, ComparedWindow, Comparison, Recording } from "../wire";
import "./compare.css";

/** What changed between two parts of the recording, or from another recording to this one. */
export function Compare() {
  const a = route.value.params.get("a") ?? "";
  const b = route.value.params.get("b") ?? "";
  const asked = a !== "" || b !== "";
  const recording = useGet<Recording>("recording", {});
  const loaded = useLoad<Comparison>(asked ? (signal) => get<Comparison>("compare", { a, b }, signal) : null, ["compare", a, b], true);
  return (
    <>
      <h1>Compare</h1>
      <Sides key={`${a} ${b}`} a={a} b={b} baselines={recording.value?.baselines ?? []} />
      {asked ? <State of={loaded}>{loaded.value && <Result of={loaded.value} />}</State> : <State of={recording}>{recording.value && <Hints of={recording.value} />}</State>}
    </>
  );
}

function Sides(props: { a: string; b: string; baselines: string[] }) {
  const submit = (e: Event) => {
    e.preventDefault();
    const form = new FormData(e.currentTarget as HTMLFormElement);
    change({ a: String(form.get("a")).trim() || "all", b: String(form.get("b")).trim() || null });
  };
  return (
    <form class="sides" onSubmit={submit}>
      <label>
        A, before <input name="a" value={props.a} placeholder="0s-30s" list="baselines" />
      </label>
      <label>
        B, after <input name="b" value={props.b} placeholder="all of the recording" list="baselines" />
      </label>
      <button type="submit">Compare</button>
      <datalist id="baselines">
        {props.baselines.map((b) => (
          <option key={b} value={b} />
        ))}
      </datalist>
    </form>
  );
}

function Hints(props: { of: Recording }) {
  const { first_ns: first, last_ns: last, baselines } = props.of;
  const half = Math.round((last - first) / 2e9);
  return (
    <div class="empty">
      <p>
        A part is a time since the recording began (<code>0s-30s</code>), of day (<code>14:00-14:05</code>), a process (<code>pid=4821</code>) or a rank (<code>rank=3</code>).
      </p>
      {half > 0 && (
        <p>
          <a href={href("compare", { a: `0s-${half}s`, b: `${half}s-` })}>Compare the first half with the second one</a>
        </p>
      )}
      {baselines.length > 0 ? (
        baselines.map((b) => (
          <p key={b}>
            <a href={href("compare", { a: b })}>Compare with {b}</a>
          </p>
        ))
      ) : (
        <p>
          To compare with another recording, start <code>ingero dashboard --baseline FILE</code>.
        </p>
      )}
    </div>
  );
}

function Result(props: { of: Comparison }) {
  const r = props.of;
  return (
    <>
      <p class="verdict">{r.verdict}</p>
      <p class="faint">
        A: <Side of={r.a} />
        <br />
        B: <Side of={r.b} />
      </p>
      {r.notes.map((n) => (
        <p key={n} class="faint">
          {n}
        </p>
      ))}
      {r.threads.map((t) => (
        <Pair key={`${t.a.pid} ${t.a.tid} ${t.b.tid}`} of={t} />
      ))}
      <Alone side="A" of={r.only_a} />
      <Alone side="B" of={r.only_b} />
      {r.changes.length > 0 && <Table rows={r.changes} columns={facts} caption="what else differs" id={(c) => `${c.of} ${c.what} ${c.a}`} />}
    </>
  );
}

function Side(props: { of: ComparedWindow }) {
  const { name, node, from_ns: from, to_ns: to, events } = props.of;
  return (
    <>
      {name}, {moment(from)} to {moment(to)}, {count(events)} calls{node && `, node ${node}`}
    </>
  );
}

const units: Record<string, string> = { step: "a step", second: "work in a second" };

/** Two threads that do the same: how long a unit takes in both, and what the difference is made of. */
function Pair(props: { of: ComparedThread }) {
  const t = props.of;
  const most = Math.max(t.a.unit_ns, t.b.unit_ns, 1);
  const bar = (side: string, m: ComparedThread["a"]) => (
    <div class="unit">
      <span>{side}</span>
      <div class="length">
        <i style={{ width: `${(100 * m.unit_ns) / most}%` }} class={side === "B" && t.changed ? (t.difference_ns > 0 ? "longer" : "shorter") : ""} />
      </div>
      <b>{duration(m.unit_ns)}</b>
      <small>
        pid {m.pid}, tid {m.tid}: {m.does || "nothing that repeats"}
      </small>
    </div>
  );
  const verdict = t.changed ? `${Math.abs(t.slower_pct)} % ${t.slower_pct > 0 ? "longer" : "shorter"}` : `no difference beyond ±${t.noise_pct} %`;
  return (
    <section class="pair">
      <h2>
        {t.process}: {units[t.unit] ?? `from one ${t.unit} to the next`}, {verdict}
      </h2>
      {bar("A", t.a)}
      {bar("B", t.b)}
      {t.changed && t.parts.length > 0 && <Table rows={rows(t)} columns={parts} caption="parts of the difference; they add up to it" id={(p) => p.text} />}
      {t.kernels.length > 0 && (
        <Table rows={t.kernels} columns={kernels} caption="kernels launched more or less often; how long they ran on the GPU is not recorded" id={(k) => k.name} />
      )}
      {t.causes.map((c) => (
        <p key={c.kind + c.who}>
          <b>{c.state}</b> {c.kind}
          {c.who && ` (${c.who})`}: {lost(c.b_ns)} instead of {lost(c.a_ns)} lost in each; {c.summary}
        </p>
      ))}
    </section>
  );
}

type Row = Pick<ComparedPart, "ns" | "text">;

function rows(t: ComparedThread): Row[] {
  const list: Row[] = [...t.parts];
  if (t.rest_ns !== 0) list.push({ ns: t.rest_ns, text: "all smaller parts" });
  return list;
}

const lost = (ns: number) => (ns > 0 ? duration(ns) : "none");

const signed = (ns: number) => (ns < 0 ? "-" : "+") + duration(Math.abs(ns));

const parts: Column<Row>[] = [
  { title: "difference", of: (p) => p.ns, kind: "number", show: (p) => signed(p.ns) },
  { title: "by", of: (p) => p.text },
];

const launches = (n: number, k: ComparedKernel) => (k.estimate ? "about " : "") + Number(n.toPrecision(3));

const kernels: Column<ComparedKernel>[] = [
  { title: "kernel", of: (k) => k.name, kind: "code" },
  { title: "A", of: (k) => k.a, kind: "number", show: (k) => launches(k.a, k) },
  { title: "B", of: (k) => k.b, kind: "number", show: (k) => launches(k.b, k) },
  { title: "", of: (k) => k.state },
];

const facts: Column<ComparedFact>[] = [
  { title: "of", of: (c) => c.of },
  { title: "what", of: (c) => c.what },
  { title: "A", of: (c) => c.a },
  { title: "B", of: (c) => c.b },
];

function Alone(props: { side: string; of: Comparison["only_a"] }) {
  if (props.of.length === 0) return null;
  return (
    <p>
      Only in {props.side}: {props.of.map((u) => `${u.process} (pid ${u.pid}, tid ${u.tid}, ${count(u.calls)} calls)`).join(", ")}
    </p>
  );
}
