// The rows of a finding's evidence. Times are compared in SQL, because as numbers of this
// page they would lose their last digits.

import { classes } from "./classes";

/** The columns of spans, in order. */
export type Span = [
  id: string,
  start: string,
  duration_ns: number,
  span: "call" | "gap" | "wait",
  op: string,
  pid: number,
  tid: number,
  ret_code: number | null,
  stack_hash: string,
  wait_ns: number | null,
  reason: string | null,
];

/** The digits of a time in the id of a row, and the letter of its kind. */
const timed = /:(\d{17,})([a-z]?)$/;

function quoted(text: string): string {
  return "'" + text.replaceAll("'", "''") + "'";
}

const waits = classes.map((c) => c.name).filter((name) => name !== "on_cpu");
const longest = `max(${waits.map((c) => `l.${c}_ns`).join(", ")})`;
const classOfLongest = `case ${longest} when 0 then null ${waits.map((c) => `when l.${c}_ns then '${c}'`).join(" ")} end`;

/**
 * A statement for one id. Its letter says what it is: none for a call, g for a gap between
 * calls, o for an off-CPU wait, c for a rank's part in a collective operation. Only waits have
 * a reason.
 */
function span(id: string): string {
  const [, at, kind] = timed.exec(id) ?? [];
  const where = `where ${at ? `timestamp = ${at} and ` : ""}id = ${quoted(id)}`;
  switch (kind) {
    case "g":
      return `select id, timestamp as start, duration_ns, span, op, pid, tid, null as ret_code, 0 as stack_hash, null as reason from ledger ${where}`;
    case "o":
      return `select id, timestamp as start, duration_ns, 'wait' as span, in_op as op, pid, tid, null as ret_code, 0 as stack_hash, class as reason from off_cpu ${where}`;
    case "c":
      return `select id, timestamp as start, barrier_wait_ns as duration_ns, 'call' as span, op, pid, tid, ret_code, 0 as stack_hash, null as reason from collectives ${where}`;
  }
  return `select id, timestamp as start, duration_ns, 'call' as span, op, pid, tid, ret_code, stack_hash, null as reason from events ${where}`;
}

/** The statement for the rows with these ids. */
export function spans(ids: string[]): string {
  return `with s as (${ids.map(span).join(" union ")})
    select s.id, cast(s.start as text), s.duration_ns, s.span, s.op, s.pid, s.tid, s.ret_code, cast(s.stack_hash as text),
      case s.span when 'wait' then s.duration_ns else ${longest} end, coalesce(s.reason, ${classOfLongest})
    from s left join ledger l on l.timestamp = s.start and l.id = s.id order by s.duration_ns desc`;
}

/** The columns of intervals, in order. */
export type Interval = [
  start: string,
  duration_ns: number,
  reason: string,
  runq_ns: number,
  syscall: string | null,
  futex: string | null,
  holder_tid: number | null,
  inode: string | null,
  waker: string | null,
  culprit: string | null,
  culprit_ns: number | null,
  stack_hash: string,
];

/** The statement for the intervals in which the thread of a span was off the CPU. */
export function intervals(s: Span): string {
  return `select cast(o.timestamp as text), o.duration_ns, o.class, o.runq_ns, o.syscall, printf('0x%x', o.futex), o.holder_tid,
      cast(o.inode as text), o.waker_comm || ' ' || o.waker_tid, o.culprit_comm || ' ' || o.culprit_tid, o.culprit_ns, cast(o.stack_hash as text)
    from off_cpu o where o.tid = ${s[6]} and o.timestamp >= ${s[1]} and o.timestamp < ${s[1]} + ${s[2]} order by o.timestamp`;
}
