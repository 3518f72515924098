import { useEffect, useRef, useState } from "preact/hooks";
import "./timeline.css";
import { asked, get, useLoad } from "../../api";
import { classes, classOf } from "../../classes";
import { count, duration } from "../../format";
import { change, live, route, scope } from "../../route";
import { printable } from "../../printable";
import { State } from "../../state";
import { onTheme } from "../../theme";
import type { Chain } from "../../wire";
import { swatch } from "./colours";
import type { Lanes } from "../../wire";
import { sumsOf } from "./data";
import { Detail, Selection } from "./detail";
import { chainArrows, marksOf, timeOf } from "./findings";
import { listen } from "./input";
import type { Item } from "./item";
import { Stage } from "./stage";
import { atEnd, zoom, type View } from "./view";

/** What each thread did. */
export function Timeline() {
  const pid = scope.value.pid;
  return <Lanes key={pid ?? ""} pid={pid} />;
}

/** The whole recording, requested again until the server has read all of it. */
function useWhole(own: Record<string, string>) {
  const [round, setRound] = useState(0);
  const params = { ...own, since: "all", rows: "0", buckets: "512", limit: "200" };
  const loaded = useLoad((signal) => get<Lanes>("lanes", params, signal), [params, round]);
  useEffect(() => {
    if (loaded.value && loaded.value.read_ns > 0) setRound(round + 1);
  }, [loaded.value]);
  return loaded;
}

interface Tip {
  item: Item;
  x: number;
  y: number;
}

function Lanes(props: { pid: string | undefined }) {
  const own: Record<string, string> = props.pid ? { pid: props.pid } : {};
  const whole = useWhole(own);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [stage, setStage] = useState<Stage>();
  const [tip, setTip] = useState<Tip>();
  const [item, setItem] = useState<Item>();
  const [part, setPart] = useState<View>();
  const [legend, setLegend] = useState(0);
  const [failed, setFailed] = useState("");
  const ready = whole.value !== undefined && whole.value.total > 0;

  useEffect(() => {
    if (!ready || !canvas.current) return;
    const a = whole.value!;
    const origin = Math.floor(a.window.from_ns / 2 ** 30) * 2 ** 30; // exact as a floating-point number
    const s: Stage = new Stage(canvas.current, origin, a, own, {
      moved: (v) => {
        remember(s, v);
        s.bands.load(v).catch(() => undefined); // other requests show the error
      },
      pointed: (i, x, y) => setTip(i && { item: i, x, y }),
      picked: (i) => {
        s.arrows = [];
        s.picked = i;
        setPart(undefined);
        setItem(i);
      },
      selected: (v) => {
        s.arrows = [];
        setItem(undefined);
        setPart(v);
      },
      marked: (m) => change({ finding: m.finding }),
      failed: setFailed,
      known: () => setLegend((n) => n + 1),
    });
    Object.assign(canvas.current, { stage: s }); // for the browser tests
    const end = listen(s);
    setStage(s);
    canvas.current.focus({ preventScroll: true });
    return () => {
      end();
      s.stop();
    };
  }, [ready]);
  useEffect(() => {
    if (stage && whole.value && whole.value !== stage.whole) stage.grown(whole.value);
  }, [whole.value]);
  useWindow(stage);
  useBands(stage);
  const finding = useFindings(stage);

  if (whole.value?.total === 0) return <p class="empty">No thread did anything that was recorded.</p>;
  return (
    <State of={whole}>
      {failed && <p class="error">{failed}</p>}
      <div class="timeline">
        <Tools stage={stage} />
        {finding && (
          <p class="finding">
            {printable(finding.summary)} <button onClick={() => change({ finding: null })}>without arrows</button>
          </p>
        )}
        <div class="stage">
          <canvas
            ref={canvas}
            tabIndex={0}
            role="application"
            aria-label={`Timeline of ${count(whole.value?.total ?? 0)} threads. Keys: W and S zoom, A and D move, arrows move and scroll, Home all, End the end, Enter details, brackets the call before and after, Escape closes.`}
          />
          {tip && <Tooltip {...tip} width={stage?.width ?? 0} />}
          {stage && item && <Detail stage={stage} item={item} close={() => stage.on.picked(undefined)} />}
          {stage && part && <Selection stage={stage} part={part} close={() => closeSelection(stage)} />}
        </div>
        {stage && <Legend stage={stage} key={legend} />}
      </div>
    </State>
  );
}

function closeSelection(s: Stage): void {
  s.selection = undefined;
  s.on.selected(undefined);
  s.schedule();
}

/** Writes the window to the address, unless it follows the end of a live recording. */
function remember(s: Stage, v: View): void {
  if (route.value.view !== "timeline") return;
  const all = v.from <= s.limits.first && v.to >= s.limits.last;
  if (live.value && atEnd(v, s.limits)) return;
  const unix = (t: number) => String(BigInt(s.origin) + BigInt(Math.max(Math.round(t), 0)));
  const to = all ? { from: null, to: null, since: null } : { from: unix(v.from), to: unix(v.to), since: null };
  s.written = all ? "" : `${to.from} ${to.to}`;
  change(to, true);
}

/** Shows the window that the address names. */
function useWindow(s: Stage | undefined): void {
  const { from = "", to = "", since = "" } = scope.value;
  const wanted = from || to || since !== "all" ? `${from} ${to}${since === "all" ? "" : since}` : "";
  useEffect(() => {
    if (!s) return;
    if (wanted === s.written) return;
    s.written = wanted;
    if (wanted === "") {
      s.go({ from: s.limits.first, to: s.limits.last });
      return;
    }
    const stop = new AbortController();
    const ns = /^\d{17,}$/;
    if (ns.test(from) && ns.test(to)) {
      const rel = (t: string) => Number(BigInt(t) - BigInt(s.origin));
      s.go({ from: rel(from), to: rel(to) });
    } else {
      // Times in other forms are resolved by the server.
      get<Lanes>("lanes", { ...scope.value, buckets: "1", rows: "0", limit: "1" }, stop.signal).then(
        (a) => s.go({ from: a.window.from_ns - s.origin, to: a.window.to_ns - s.origin }),
        (e) => stop.signal.aborted || s.on.failed(String(e instanceof Error ? e.message : e)),
      );
    }
    return () => stop.abort();
  }, [s, wanted]);
}

/** Shows the labels of processes, and asks for new ones of a live recording. */
function useBands(s: Stage | undefined): void {
  useEffect(() => {
    if (!s) return;
    const load = () => void s.bands.load().catch(() => undefined); // other requests show the error
    load();
    if (!live.value) return;
    const timer = setInterval(load, often);
    return () => clearInterval(timer);
  }, [s, live.value]);
}

/** Requests findings. That takes a while, so the picture is drawn first unless a finding is wanted. */
async function explained(s: Stage, wanted: boolean, signal: AbortSignal): Promise<{ chains: Chain[] | null }> {
  while (!wanted && !s.still && !signal.aborted) await new Promise((done) => setTimeout(done, 300));
  signal.throwIfAborted();
  return get("chains", { ...s.scope, since: "all" }, signal);
}

/** The time until a live page asks for findings again, in milliseconds: they take longer than the rest. */
const often = 10_000;

/** Marks findings, and shows the chain of the one in the address. */
function useFindings(s: Stage | undefined): Chain | undefined {
  const chains = useRef<Chain[]>([]);
  const [, loaded] = useState(0);
  const id = route.value.params.get("finding") ?? "";
  const tid = Number(route.value.params.get("tid") ?? 0);
  useEffect(() => {
    if (!s) return;
    const stop = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const load = async () => {
      try {
        chains.current = (await explained(s, id !== "", stop.signal)).chains ?? [];
        s.marks = marksOf(chains.current, s.origin);
        s.schedule();
        loaded((n) => n + 1);
      } catch {
        // Other views show the error.
      }
      if (live.value && !stop.signal.aborted) timer = setTimeout(load, often);
    };
    void load();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [s, asked.value, live.value]);
  const found = chains.current.find((c) => c.id === id);
  useEffect(() => {
    if (!s) return;
    const row = tid ? s.layout.find(tid) : undefined;
    if (row) s.reveal(row);
    s.arrows = [];
    const times = found?.evidence.event_ids.map((e) => timeOf(e, s.origin)).filter((t) => t !== undefined) ?? [];
    const at = times.find((t) => t >= s.view.from && t <= s.view.to) ?? times[0];
    if (found && at !== undefined) {
      if (at < s.view.from || at > s.view.to || s.view.to - s.view.from > 2e9) s.go({ from: at - 20e6, to: at + 60e6 });
      s.arrows = chainArrows(found, at, s.layout);
      if (s.arrows[0]) s.reveal(s.arrows[0].to.row);
    }
    s.schedule();
  }, [s, found, tid, s?.layout]);
  return found;
}

function Tooltip(props: Tip & { width: number }) {
  const { item, x, y } = props;
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!box.current) return;
    box.current.style.left = `${Math.min(x + 14, Math.max(props.width - 290, 0))}px`;
    box.current.style.top = `${y + 16}px`;
  });
  const title = item.kind === "wait" ? classOf(item.name).title : item.name;
  return (
    <div class="tip" ref={box}>
      {item.parts ? (
        item.parts.slice(0, 6).map((p) => (
          <div key={p.name}>
            {classes.some((c) => c.name === p.name) ? classOf(p.name).title : p.name}: {duration(p.ns)}
            {p.n > 0 && `, ${count(p.n)}`}
          </div>
        ))
      ) : (
        <div>
          <b>{title}</b> {duration(item.duration)}
          {item.weight > 1 && `, stands for ${count(item.weight)}`}
        </div>
      )}
      {item.parts && <div class="empty">in {duration(item.duration)}</div>}
    </div>
  );
}

function Tools(props: { stage: Stage | undefined }) {
  const s = props.stage;
  const [op, setOp] = useState("");
  const [said, say] = useState("");
  const next = async () => {
    if (!s || !op) return;
    const after = BigInt(s.origin) + BigInt(Math.round(s.picked ? s.picked.start : s.view.from)) + 1n;
    try {
      const a = await get<{ calls: { start_ns: number; duration_ns: number; tid: number; pid: number }[] }>("timeline", { ...s.scope, op, from: String(after), limit: "1" });
      const c = a.calls[0];
      if (!c) {
        say("no more of them");
        return;
      }
      say("");
      show(s, op, c.start_ns - s.origin, c.duration_ns, c.tid, c.pid);
    } catch (e) {
      say(e instanceof Error ? e.message : String(e));
    }
  };
  return (
    <div class="tools">
      <button onClick={() => s?.go(zoom(s.view, 0.5, 0.5, s.limits))} title="closer (w, +)">
        +
      </button>
      <button onClick={() => s?.go(zoom(s.view, 2, 0.5, s.limits))} title="wider (s, -)">
        −
      </button>
      <button onClick={() => s?.go({ from: s.limits.first, to: s.limits.last })} title="all of it (Home)">
        all
      </button>
      <form
        onSubmit={(e) => {
          e.preventDefault();
          void next();
        }}
      >
        <input list="ops" placeholder="find a call: its operation" aria-label="operation to find" value={op} onInput={(e) => setOp(e.currentTarget.value)} />
        <datalist id="ops">{s && s.ops.order.map((o) => <option key={o} value={o} />)}</datalist>
        <button type="submit">next</button>
      </form>
      <span class="empty">{said || "drag: move · wheel: zoom · shift and drag: choose · click: details"}</span>
    </div>
  );
}

/** Moves the view to a call that was found, and picks it. */
function show(s: Stage, name: string, start: number, took: number, tid: number, pid: number): void {
  const half = Math.max(took * 3, Math.min((s.view.to - s.view.from) / 2, 5e6));
  s.go({ from: start + took / 2 - half, to: start + took / 2 + half });
  const row = s.layout.find(tid, pid);
  if (!row) return;
  s.reveal(row);
  s.on.picked({ row, kind: "call", name, start, begin: start, duration: took, depth: 0, weight: 1 });
}

function Legend(props: { stage: Stage }) {
  const { stage } = props;
  const waits = sumsOf(stage.whole, 0, Infinity).waits;
  const ops = stage.ops.order.slice(0, 6);
  return (
    <div class="legend">
      {ops.map((o) => (
        <Chip key={o} title={o} paint={(c) => fill(c, stage.ops.get(o))} />
      ))}
      {stage.ops.order.length > ops.length && <Chip title={`${stage.ops.order.length - ops.length} more`} paint={(c) => fill(c, stage.ops.get(""))} />}
      {waits.map((w) => (
        <Chip key={w.name} title={classOf(w.name).title} paint={(c) => swatch(c, stage.paint, w.name)} />
      ))}
    </div>
  );
}

function fill(c: HTMLCanvasElement | null, colour: string): void {
  const g = c?.getContext("2d");
  if (!c || !g) return;
  g.fillStyle = colour;
  g.fillRect(0, 0, c.width, c.height);
}

function Chip(props: { title: string; paint: (c: HTMLCanvasElement | null) => void }) {
  const c = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    props.paint(c.current);
    return onTheme(() => props.paint(c.current));
  }, []);
  return (
    <span>
      <canvas ref={c} width={24} height={12} /> {props.title}
    </span>
  );
}
