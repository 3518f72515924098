import { useMemo, useState } from "preact/hooks";
import "./flame.css";
import { useGet, type Loaded } from "../../api";
import { classOf } from "../../classes";
import { count, duration, percent } from "../../format";
import { change, route, scope } from "../../route";
import { printable } from "../../printable";
import { State } from "../../state";
import type { Ops, Stacks, Waits } from "../../wire";
import { build, find, pathOf, place, search, type Box, type Node, type Site } from "./tree";

/** What is shown and by what it is measured, from the address. */
interface Choice {
  what: "calls" | "slow" | "waits";
  by: "time" | "calls";
  op: string;
}

/** Where in the code the time goes. */
export function Flame() {
  const p = route.value.params;
  const c: Choice = {
    what: p.get("what") === "waits" ? "waits" : p.get("what") === "all" ? "calls" : "slow",
    by: p.get("by") === "calls" ? "calls" : "time",
    op: p.get("op") ?? "",
  };
  return (
    <div class="flame">
      <Choices choice={c} />
      {c.what === "waits" ? <OfWaits choice={c} /> : <OfCalls choice={c} />}
    </div>
  );
}

function Choices(props: { choice: Choice }) {
  const { what, by, op } = props.choice;
  const ops = useGet<Ops>("ops", scope.value).value;
  const names = [...new Set([...(op ? [op] : []), ...(ops?.ops.map((o) => o.op) ?? [])])];
  return (
    <p class="tools">
      <label>
        of{" "}
        <select value={what} onChange={(e) => change({ what: { slow: null, calls: "all", waits: "waits" }[e.currentTarget.value as Choice["what"]] })}>
          <option value="slow">slow, failed and waiting calls</option>
          <option value="calls">all calls</option>
          <option value="waits">time off the CPU</option>
        </select>
      </label>
      <label>
        operation{" "}
        <select value={op} onChange={(e) => change({ op: e.currentTarget.value || null })}>
          <option value="">all</option>
          {names.map((n) => (
            <option key={n}>{n}</option>
          ))}
        </select>
      </label>
      <label>
        by{" "}
        <select value={by} onChange={(e) => change({ by: e.currentTarget.value === "calls" ? "calls" : null })}>
          <option value="time">time</option>
          <option value="calls">number</option>
        </select>
      </label>
    </p>
  );
}

const most = "5000"; // places

function ask(c: Choice): Record<string, string> {
  return { ...scope.value, limit: most, by: c.by === "calls" ? "calls" : "total", ...(c.op ? { op: c.op } : {}) };
}

function OfCalls(props: { choice: Choice }) {
  const { choice } = props;
  const loaded = useGet<Stacks>("stacks", { ...ask(choice), ...(choice.what === "slow" ? { slow: "yes" } : {}) });
  const a = loaded.value;
  const sites = useMemo(
    () => a?.stacks.map((s) => ({ process: s.process, pid: s.pid, heads: [s.kernel ? `${s.op}: ${s.kernel}` : s.op], frames: s.frames, value: choice.by === "calls" ? s.calls : s.total_ns, calls: s.calls })),
    [a, choice.by],
  );
  const notes = a && [
    a.calls_without_stack > 0 && `${count(a.calls_without_stack)} calls have no stack and are not in the picture`,
    a.partial && choice.what === "calls" && "there are so many calls that only those that were slow, failed, waited or were the first are counted",
    a.total > a.stacks.length && `the first ${count(a.stacks.length)} of ${count(a.total)} places`,
  ];
  return <Graph loaded={loaded} sites={sites} choice={choice} notes={notes} title="all calls with a stack" />;
}

function OfWaits(props: { choice: Choice }) {
  const { choice } = props;
  const loaded = useGet<Waits>("waits", ask(choice));
  const a = loaded.value;
  const sites = useMemo(
    () =>
      a?.waits.map((w) => ({
        process: w.process,
        pid: w.pid,
        heads: [w.op ?? "between calls", classOf(w.class).title],
        frames: w.frames,
        value: choice.by === "calls" ? w.waits : w.total_ns,
        calls: w.waits,
      })),
    [a, choice.by],
  );
  const notes = a && [a.total > a.waits.length && `the first ${count(a.waits.length)} of ${count(a.total)} places`];
  return <Graph loaded={loaded} sites={sites} choice={choice} notes={notes} title="all waits" />;
}

interface GraphProps {
  loaded: Loaded<unknown>;
  sites: Site[] | undefined;
  choice: Choice;
  notes: (string | false)[] | undefined;
  title: string;
}

function Graph(props: GraphProps) {
  const { sites, choice } = props;
  const [path, setPath] = useState<string[]>([]);
  const [text, setText] = useState("");
  const root = useMemo(() => build(sites ?? [], props.title), [sites]);
  const hits = useMemo(() => search(root, text), [root, text]);
  const said = props.notes?.filter(Boolean) ?? [];
  return (
    <State of={props.loaded}>
      {root.value === 0 ? (
        <p class="empty">{choice.what === "waits" ? "No time off the CPU was recorded in this window." : "No call with a stack was recorded in this window. Stacks are recorded by trace --stack."}</p>
      ) : (
        <>
          <p class="tools">
            <input type="search" placeholder="find a function" aria-label="find a function" value={text} onInput={(e) => setText(e.currentTarget.value)} />
            {text.trim() !== "" && (
              <span>
                {hits.found.size === 0 ? "not there" : `${percent(hits.value / root.value)} is in it`}
              </span>
            )}
            {path.length > 0 && <button onClick={() => setPath([])}>all of it</button>}
          </p>
          <Boxes root={root} focus={find(root, path)} found={hits.found} by={choice.by} pick={(n) => setPath(pathOf(n))} />
        </>
      )}
      {said.length > 0 && <p class="empty">{said.join("; ")}.</p>}
    </State>
  );
}

const line = 20; // pixels

function Boxes(props: { root: Node; focus: Node; found: Set<Node>; by: Choice["by"]; pick: (n: Node) => void }) {
  const { root, focus, found, pick } = props;
  const boxes = useMemo(() => place(focus, 0.0008), [focus]);
  const depth = boxes.reduce((d, b) => Math.max(d, b.depth), 0);
  const value = (n: Node) => (props.by === "calls" ? count(n.value) : duration(n.value));
  const words = (n: Node) => `${n.name}: ${value(n)}, ${percent(n.value / root.value)}${props.by === "time" ? `, ${count(n.calls)} times` : ""}`;
  const [over, setOver] = useState<Node>();
  return (
    <>
      <div
        class="boxes"
        role="tree"
        aria-label="flame graph"
        style={{ height: `${(depth + 1) * line}px` }}
        onKeyDown={(e) => {
          if (e.key !== "Escape") return;
          pick(root);
          e.stopPropagation();
        }}
        onMouseLeave={() => setOver(undefined)}
      >
        {boxes.map((b, i) => (
          <button
            key={i}
            role="treeitem"
            class={b.node.kind + (found.has(b.node) ? " found" : found.size > 0 ? " other" : "") + (b.depth < focusDepth(focus) ? " above" : "")}
            style={styleOf(b)}
            title={printable(words(b.node))}
            onClick={() => pick(b.node === focus && b.node.parent ? b.node.parent : b.node)}
            onMouseEnter={() => setOver(b.node)}
            onFocus={() => setOver(b.node)}
          >
            {b.to - b.from > 0.012 ? printable(b.node.name) : ""}
          </button>
        ))}
      </div>
      <p class="over">{over ? printable(words(over)) : "Click to go closer, Escape for all of it."}</p>
    </>
  );
}

function focusDepth(n: Node): number {
  return n.parent ? 1 + focusDepth(n.parent) : 0;
}

function styleOf(b: Box): Record<string, string> {
  return { left: `${100 * b.from}%`, width: `calc(${100 * (b.to - b.from)}% - 1px)`, top: `${b.depth * line}px`, ...(b.node.kind === "frame" ? { background: shade(b.node.name) } : {}) };
}

/** A light warm colour for a name, always the same. Dark text is readable on all of them. */
function shade(name: string): string {
  let h = 0;
  for (let i = 0; i < name.length; i++) h = (h * 31 + name.charCodeAt(i)) >>> 0;
  return `hsl(${24 + (h % 30)} ${70 + ((h >> 5) % 25)}% ${66 + ((h >> 10) % 14)}%)`;
}
