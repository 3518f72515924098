import { get, query, useLoad } from "../../api";
import { classOf } from "../../classes";
import { count, duration, percent } from "../../format";
import { printable } from "../../printable";
import { State } from "../../state";
import type { Call, OffCPU, Timeline } from "../../wire";
import { sumsOf, type Sum } from "./data";
import type { Arrow } from "./overlay";
import type { Item } from "./item";
import type { Stage } from "./stage";
import type { View } from "./view";
import { useEffect } from "preact/hooks";

/** The exact Unix time, in ns, of one of the stage's times. */
function unix(s: Stage, t: number): bigint {
  return BigInt(s.origin) + BigInt(Math.round(t));
}

/** Details of a call, a wait, or a bucket of many. */
export function Detail(props: { stage: Stage; item: Item; close: () => void }) {
  const { item, stage } = props;
  const info = item.row.info;
  return (
    <aside class="detail" aria-label="details">
      <button class="quiet" onClick={props.close} title="close (Esc)">
        ×
      </button>
      <h2>{item.kind === "wait" ? classOf(item.name).title : item.name}</h2>
      {info && (
        <p>
          {printable(info.thread || "thread")} {info.tid}, {printable(info.process)} {info.pid}
        </p>
      )}
      {item.kind === "bucket" ? <Bucket item={item} stage={stage} /> : <Row stage={stage} item={item} key={item.kind + item.start + "/" + info?.tid} />}
    </aside>
  );
}

function Bucket(props: { item: Item; stage: Stage }) {
  const { item } = props;
  return (
    <>
      <p>{duration(item.duration)} with many calls and waits, summed up. Zoom in to see them one by one.</p>
      <Sums list={item.parts ?? []} of={item.duration} title={(n) => n} />
      <button onClick={() => props.stage.go({ from: item.start - item.duration, to: item.start + 2 * item.duration })}>zoom in</button>
    </>
  );
}

export function Sums(props: { list: Sum[]; of: number; title: (name: string) => string }) {
  return (
    <table>
      <tbody>
        {props.list.map((s) => (
          <tr key={s.name}>
            <td>{props.title(s.name)}</td>
            <td class="number">{duration(s.ns)}</td>
            <td class="number">{percent(s.ns / props.of)}</td>
            <td class="number">{s.n > 0 ? count(s.n) : ""}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Row(props: { stage: Stage; item: Item }) {
  const { stage, item } = props;
  const info = item.row.info!;
  const from = unix(stage, item.begin);
  const params = { from: String(from), to: String(from + 1n), pid: String(info.pid), tid: String(info.tid), limit: "20" };
  const loaded = useLoad((signal) => get<Timeline>("timeline", params, signal), [params]);
  const call = item.kind === "call" ? loaded.value?.calls.find((c) => c.op === item.name) : undefined;
  const wait = item.kind === "wait" ? loaded.value?.off_cpu[0] : undefined;
  useEffect(() => {
    stage.arrows = wait ? waitArrows(stage, item, wait) : [];
    stage.schedule();
  }, [wait]);
  return (
    <State of={loaded}>
      <dl class="facts">
        <dt>begins</dt>
        <dd>{clockOf(stage, item.start)}</dd>
        <dt>takes</dt>
        <dd>{duration(item.duration)}</dd>
        {item.weight > 1 && (
          <>
            <dt>stands for</dt>
            <dd>{count(item.weight)} calls: not all were stored</dd>
          </>
        )}
        {call && (
          <>
            <dt>returned</dt>
            <dd>{call.ret_code}</dd>
          </>
        )}
        {wait?.op && (
          <>
            <dt>in</dt>
            <dd>{wait.op}</dd>
          </>
        )}
      </dl>
      {call?.waited_ns && <Ledger of={call} />}
      {wait && <Who of={wait} />}
      {call?.stack_hash && <Stack hash={call.stack_hash} />}
      {call && !call.stack_hash && <p class="empty">No stack was taken of this call.</p>}
    </State>
  );
}

/** A time of day to the nanosecond. */
function clockOf(s: Stage, t: number): string {
  const ns = unix(s, t);
  const d = new Date(Number(ns / 1000000n));
  return d.toLocaleTimeString("en-GB") + "." + String(ns % 1000000000n).padStart(9, "0");
}

/** Where a call's time went. */
function Ledger(props: { of: Call }) {
  const waited = Object.entries(props.of.waited_ns ?? {}).map(([name, ns]) => ({ name, ns, n: 0 }));
  const off = waited.reduce((sum, w) => sum + w.ns, 0);
  const list = [{ name: "on_cpu", ns: Math.max(props.of.duration_ns - off, 0), n: 0 }, ...waited].sort((a, b) => b.ns - a.ns);
  return (
    <>
      <h3>Where the time went</h3>
      <Sums list={list} of={props.of.duration_ns} title={(n) => classOf(n).title} />
    </>
  );
}

function Who(props: { of: OffCPU }) {
  const { waker, holder_tid, culprits, run_queue_ns } = props.of;
  return (
    <>
      {run_queue_ns > 0 && <p>Of that {duration(run_queue_ns)} in the run queue: it could have run.</p>}
      {culprits && (
        <>
          <h3>Ran instead</h3>
          <Sums list={culprits.map((c) => ({ name: `${printable(c.comm)} ${c.pid}`, ns: c.ns ?? 0, n: 0 }))} of={props.of.duration_ns} title={(n) => n} />
        </>
      )}
      <dl class="facts">
        {waker && (
          <>
            <dt>woken by</dt>
            <dd>
              {printable(waker.comm)} {waker.tid}
            </dd>
          </>
        )}
        {holder_tid ? (
          <>
            <dt>lock held by</dt>
            <dd>thread {holder_tid}</dd>
          </>
        ) : null}
      </dl>
    </>
  );
}

/** Arrows from the threads that woke this one, held the lock, or ran instead. */
function waitArrows(s: Stage, item: Item, w: OffCPU): Arrow[] {
  const row = item.row;
  const out: Arrow[] = [];
  const add = (tid: number, pid: number | undefined, name: string, at: number, label: string) =>
    out.push({ from: { row: s.layout.find(tid, pid), at, name, part: "call" }, to: { row, at, part: "wait" }, label });
  const woken = item.begin + w.duration_ns - w.run_queue_ns;
  if (w.waker) add(w.waker.tid, w.waker.pid, `${w.waker.comm} ${w.waker.tid}`, woken, "woke it");
  if (w.holder_tid && w.holder_tid !== w.waker?.tid) add(w.holder_tid, undefined, `thread ${w.holder_tid}`, item.begin, "held the lock");
  const most = w.culprits?.[0];
  if (most) add(most.tid, most.pid, `${most.comm} ${most.pid}`, woken, `ran instead for ${duration(most.ns ?? 0)}`);
  return out.filter((a) => a.from.row !== row);
}

function Stack(props: { hash: string }) {
  const hash = /^-?\d+$/.test(props.hash) ? props.hash : "0";
  const sql = `select kind, symbol, file, line, module, coalesce(offset, addr, 0) from stack_frames where stack_hash = ${hash} order by depth`;
  const loaded = useLoad((signal) => query<[string, string, string, number | null, string, number]>(sql, 200, signal), [sql]);
  const rows = loaded.value?.rows ?? [];
  return (
    <State of={loaded}>
      <h3>Stack, innermost first</h3>
      {rows.length === 0 && <p class="empty">It is not in the recording any more.</p>}
      <ol class="stack">
        {rows.map(([kind, symbol, file, line, module, offset], i) => (
          <li key={i} class={kind} title={printable(file ? `${file}:${line ?? 0}` : module)}>
            {printable(symbol || `${module.split("/").pop()}+0x${offset.toString(16)}`)}
            <small>{printable(file ? `${file.split("/").pop()}:${line ?? 0}` : (module.split("/").pop() ?? ""))}</small>
          </li>
        ))}
      </ol>
    </State>
  );
}

/** The sums of a selected part of the time. */
export function Selection(props: { stage: Stage; part: View; close: () => void }) {
  const { stage, part } = props;
  const loaded = useLoad((signal) => stage.sums(part, signal), [part.from, part.to]);
  const a = loaded.value;
  const base = a ? a.start_ns - stage.origin : 0;
  const sums = a && sumsOf(a, part.from - base, part.to - base);
  const threads = a?.lanes.filter((l) => l.calls.length + l.waits.length > 0).length ?? 0;
  const width = part.to - part.from;
  return (
    <aside class="detail" aria-label="what was chosen">
      <button class="quiet" onClick={props.close} title="close (Esc)">
        ×
      </button>
      <h2>{duration(width)} chosen</h2>
      <p>
        <button onClick={() => stage.go(part)}>zoom to it</button>
      </p>
      <State of={loaded}>
        {sums && (
          <>
            <p>
              {count(threads)} threads{sums.exact ? "" : `; to ${duration(a.bucket_ns)} at the ends`}
              {a.total > a.lanes.length && `; the first ${count(a.lanes.length)} of ${count(a.total)} threads`}
            </p>
            {a.estimate && <p class="empty">An estimate: {a.estimate}.</p>}
            <h3>In calls</h3>
            <Sums list={sums.calls} of={width * Math.max(threads, 1)} title={(n) => n} />
            <h3>Off the CPU</h3>
            <p class="empty">Waits of 0.1 ms or more, without the usual ones for the GPU; the ledger has all.</p>
            <Sums list={sums.waits} of={width * Math.max(threads, 1)} title={(n) => classOf(n).title} />
          </>
        )}
      </State>
    </aside>
  );
}
