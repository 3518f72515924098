package sqlite

import (
	"context"

	"zombiezen.com/go/sqlite"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// labelKind is what programs say they work on. Its rows name the process by its id, and no thread, so
// that merging keeps them where another recording of the machine has the process's calls.
var labelKind = &kind[event.Label]{
	tables:     []table{{name: "label", prune: labelUsed}},
	rows:       func(t *store.Tables) *[]event.Label { return &t.Labels },
	hold:       keepEach[event.Label],
	statements: []string{"insert into label values (" + values(11) + ")"},
	insert: func(w *Writer, s []*boundStmt, l *event.Label) error {
		b := s[0]
		b.set(2, w.session.id)
		b.set(3, int64(l.PID))
		b.set(4, int64(l.StartTime))
		b.set(5, int64(l.Since))
		b.opt(6, int64(l.Until))
		b.optText(7, l.Key)
		b.optText(8, l.Value)
		if l.Key == "" {
			b.null(9)
			b.null(10)
			b.null(11)
		} else {
			b.set(9, int64(l.Sender.PID))
			b.set(10, int64(l.Sender.UID))
			b.set(11, int64(l.Sender.GID))
		}
		_, err := b.runAt(l.Arrived)
		return err
	},
	view: labelsView,
}

// labelUsed is the time after which a row is of no use: a label that was set long ago may still hold. It is
// the last one of its key before the time up to which rows are deleted, ?1.
const labelUsed = `case when until is not null then until
	when key is null or ts >= ?1 or ts in (select max(n.ts) from label n where n.ts < ?1 and n.until is null
		group by n.session, n.pid, n.key) then 9223372036854775807
	else ts end`

// heldLabels is a row for each label of a process and the time in which it held: up to its end, if it
// has one, the next value of the key, the end of the process, or the end of the recording.
const heldLabels = `
with label_end as materialized (
  select session, pid, start_time, min(since) as at from label where key is null group by session, pid, start_time
), label_set as (
  select l.*, case when l.until is not null then l.until else lead(l.since) over (
    partition by l.session, l.pid, l.start_time, l.key, l.until is null order by l.since, l.ts) end as next
  from label l where l.key is not null
), label_held as (
  select l.*, s.node, min(coalesce(l.next, 9223372036854775807), coalesce(e.at, 9223372036854775807),
    case when l.until is null then max(s.stopped_ns, s.flushed_ns, s.last_ns) else 9223372036854775807 end) as ended
  from label_set l join session s on s.id = l.session
  left join label_end e on e.session = l.session and e.pid = l.pid and e.start_time = l.start_time and l.start_time <> 0
)`

// labelsView has them, and the ranges of NVTX.
const labelsView = `create view labels as` + heldLabels + `
select l.node || ':' || l.ts || 'l' as id, l.since as timestamp, l.ended - l.since as duration_ns, l.node, l.pid,
  null as tid,
  (select p.name from process p where p.pid = l.pid and p.session = l.session) as comm, l.key, l.value,
  'socket' as source, case when l.until is null then 'set' else 'span' end as kind, l.ended, l.ts as arrived,
  l.start_time, l.sender_pid, l.sender_uid, l.sender_gid
from label_held l where l.value is not null and l.ended > l.since
union all
select r.id, r.timestamp, r.duration_ns, r.node, r.pid, ` + rangeThread + `, r.comm,
  ` + rangeKey + `, ` + rangeValue + `, 'nvtx', r.kind, r.ended, r.timestamp, null, null, null, null
from nvtx_ranges r where r.text is not null;`

// What a range of NVTX is as a label. Those that PyTorch's profiler makes for its steps, "ProfilerStep#12" or
// "ProfilerStep#12, op_id = 345", are of the whole process, others of their thread.
const (
	stepRange   = `r.text glob 'ProfilerStep#[0-9]*'`
	rangeThread = `case when ` + stepRange + ` then null else r.tid end`
	rangeKey    = `case when ` + stepRange + ` then 'step' else 'nvtx' end`
	rangeValue  = `case when ` + stepRange + ` then cast(cast(substr(r.text, 14) as integer) as text) else r.text end`
)

// readLabels is the query of labels. It reads tables and no views, which may be of several machines.
var readLabels = heldLabels + `
select since as began, ended as until_, pid, 0, key, value, until is not null from label_held
where value is not null and ended > since and since <= ?2 and ended > ?1
union all
select r.timestamp, r.ended, r.pid, coalesce(` + rangeThread + `, 0), ` + rangeKey + `, ` + rangeValue + `, 1
from (` + markRanges() + `) r
where r.text is not null and r.ended > r.timestamp and r.timestamp <= ?2 and r.ended > ?1
order by began, until_`

// labels returns what processes said they worked on in the window, cut at its borders, by begin.
func (r *Reader) labels(ctx context.Context, w store.Window) (list []store.Label, err error) {
	b := bounds(w)
	err = r.optional(ctx, "label", readLabels, b, func(s *sqlite.Stmt) error {
		list = append(list, store.Label{
			From: max(number(s, 0), uint64(b[0])), To: min(number(s, 1), uint64(b[1])),
			PID: uint32(s.ColumnInt64(2)), TID: uint32(s.ColumnInt64(3)),
			Key: s.ColumnText(4), Value: s.ColumnText(5), Span: s.ColumnBool(6),
		})
		return nil
	})
	return list, err
}
