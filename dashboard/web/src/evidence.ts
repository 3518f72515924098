// The rows of a recording that a finding rests on. Times are compared in SQL: as numbers
// of this page they would lose their last digits.

/** The columns of spans, in order. */
export type Span = [
  id: string,
  start: string,
  duration_ns: number,
  span: "call" | "gap",
  op: string,
  pid: number,
  tid: number,
  ret_code: number | null,
  stack_hash: string,
  wait_ns: number | null,
  reason: string | null,
];

/** Where the digits of a time stand in the id of a row. */
const timed = /:(\d{17,})([a-z]?)$/;

function quoted(text: string): string {
  return "'" + text.replaceAll("'", "''") + "'";
}

const classes = ["runq", "throttled", "futex", "block_io", "fault", "network", "pipe", "poll", "sleep", "ioctl", "other"];
const longest = `max(${classes.map((c) => `l.${c}_ns`).join(", ")})`;
const classOfLongest = `case ${longest} when 0 then null ${classes.map((c) => `when l.${c}_ns then '${c}'`).join(" ")} end`;

/** A statement for one id: where it is a call after a pause that was too long, for that. */
function span(id: string, between: boolean, tid: number, longestNS: number): string {
  const at = timed.exec(id)?.[1];
  if (at && between) {
    return `select id, timestamp as start, duration_ns, span, op, pid, tid, null as ret_code, 0 as stack_hash from ledger
      where span = 'gap' and tid = ${tid} and timestamp between ${at} - ${Math.ceil(longestNS)} and ${at} and timestamp + duration_ns = ${at}`;
  }
  return `select id, timestamp as start, duration_ns, 'call' as span, op, pid, tid, ret_code, stack_hash from events
    where ${at ? `timestamp = ${at} and ` : ""}id = ${quoted(id)}`;
}

/**
 * The statement for the rows with these ids. A finding about pauses names the calls that
 * came late: then the gaps before them are meant, of at most so many nanoseconds.
 */
export function spans(ids: string[], between: boolean, tid: number, longestNS: number): string {
  const parts = ids.map((id) => span(id, between, tid, longestNS));
  return `with s as (${parts.join(" union ")})
    select s.id, cast(s.start as text), s.duration_ns, s.span, s.op, s.pid, s.tid, s.ret_code, cast(s.stack_hash as text), ${longest}, ${classOfLongest}
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
