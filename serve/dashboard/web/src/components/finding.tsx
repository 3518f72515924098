import { clock, count, duration } from "../format";
import { href } from "../route";
import type { Effect, Pattern, Report } from "../wire";

const marks = { HIGH: "▲", MEDIUM: "◆", LOW: "●" };

/** How severe a finding is, in a word, a colour and a shape. */
export function Severity(props: { of: string }) {
  const mark = marks[props.of as keyof typeof marks] ?? "○";
  return (
    <span class={`severity ${props.of.toLowerCase()}`}>
      {mark} {props.of}
    </span>
  );
}

/** Lost time and its share, such as 1.89 s (16 %). */
export function Lost(props: { ns: number; pct: number }) {
  return (
    <span class="lost">
      <b>{duration(props.ns)}</b> {props.pct > 0 && `(${Number(props.pct.toPrecision(2))} %)`}
    </span>
  );
}

/** When time was lost: a bar for each equal part of the window, linked to the timeline there. */
export function When(props: { pattern: Pattern; window: Report["window"]; tid?: number; link?: boolean }) {
  const parts = props.pattern.timeline;
  const width = (props.window.to_ns - props.window.from_ns) / parts.length;
  const peak = Math.max(...parts, 0.01);
  const bar = (share: number, i: number) => {
    const from = Math.round(props.window.from_ns + i * width);
    const height = share > 0 ? Math.max((20 * share) / peak, 1.5) : 0;
    const shape = (
      <>
        <rect class="ground" x={i * 6} y={0} width={6} height={22} />
        <rect class="part" x={i * 6} y={21 - height} width={5} height={height} />
        <title>{`${duration(i * width)} to ${duration((i + 1) * width)}: ${(100 * share).toFixed(1)} % lost`}</title>
      </>
    );
    if (!props.link || share === 0) return <g key={i}>{shape}</g>;
    return (
      <a key={i} href={href("timeline", { from, to: Math.round(from + width), tid: props.tid ?? null, since: null })} tabIndex={-1}>
        {shape}
      </a>
    );
  };
  return (
    <figure class="when">
      <svg viewBox={`0 0 ${parts.length * 6} 22`} preserveAspectRatio="none" role="img" aria-label={`when it was lost: ${often(props.pattern)}`}>
        {parts.map(bar)}
        <path class="axis" d={`M0 21.5H${parts.length * 6}`} />
      </svg>
      <figcaption>{often(props.pattern)}</figcaption>
    </figure>
  );
}

/** How often, in words. */
export function often(p: Pattern): string {
  const times = p.times === 1 ? "once" : `${p.times} times`;
  switch (p.kind) {
    case "once":
      return p.to_ns ? `once, ${clock(p.from_ns)} to ${clock(p.to_ns)}` : "once";
    case "periodic":
      return `every ${duration(p.period_ns)}, ${times}`;
    case "constant":
      return "all the time";
    case "growing":
      return "growing over time";
    case "burst":
      return `mostly ${clock(p.from_ns)} to ${clock(p.to_ns ?? p.from_ns)}`;
    default:
      return `${times}, without a period`;
  }
}

/** A thread, with its name if that is not the process's. */
export function Who(props: { process: string; thread?: string; pid: number; tid?: number; node?: string }) {
  // A process's first thread may still have the name of the program that started it.
  const own = props.thread && props.thread !== props.process && props.tid !== props.pid;
  const id = own || (props.tid && props.tid !== props.pid) ? `tid ${props.tid}` : `pid ${props.pid}`;
  return (
    <span class="who">
      {props.process}
      {own && ` / ${props.thread}`} {props.pid !== 0 && <small>{id}</small>}
      {props.node && <small> on {props.node}</small>}
    </span>
  );
}

/** What was slow, in words. */
export function slow(e: Effect): string {
  const what = e.op === "between calls" ? "gaps between calls" : `${e.op} calls`;
  const many = count(e.calls);
  if (e.slow_calls === 0) return `${many} ${what}`;
  return e.slow_calls >= e.calls ? `each of ${many} ${what}` : `${count(e.slow_calls)} of ${many} ${what}`;
}
