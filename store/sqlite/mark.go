package sqlite

import (
	"strings"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// markKind is ranges and marks that programs set themselves.
var markKind = &kind[event.Mark]{
	tables:     []table{{name: "mark", prune: "ts"}},
	rows:       func(t *store.Tables) *[]event.Mark { return &t.Marks },
	statements: []string{"insert into mark values (" + values(9) + ")"},
	insert: func(w *Writer, s []*boundStmt, m *event.Mark) error {
		w.session.count(m.Start, m.End(), 0)
		b := s[0]
		b.set(2, w.threads.get(m.Thread, "", m.Start).id)
		b.set(3, int64(m.Op))
		b.set(4, int64(m.Duration))
		b.opt(5, int64(m.Domain))
		switch m.Kind() {
		case event.MarkPush, event.MarkPop:
			b.set(6, int64(m.Level))
		default:
			b.opt(6, int64(m.Range))
		}
		b.opt(7, int64(m.Category))
		b.optText(8, m.Text)
		b.opt(9, int64(m.Message))
		_, err := b.runAt(m.Start)
		return err
	},
	view: markViews(),
}

// markOps lists the operations that mark this.
func markOps(k event.MarkKind) string {
	return opsThat(func(i *event.Info) bool { return i.Mark == k })
}

// markViews are the marks one by one, and the ranges that they are the ends of. Those that were pushed
// are matched by how many of the thread and domain have begun and not ended, not by the level that
// the library answers: without a tool it answers none. So it is for each process's ranges that any
// thread may end: without a tool their ids are all 0, and no end is told.
func markViews() string {
	var kinds strings.Builder
	for _, k := range event.MarkKinds {
		kinds.WriteString(" when m.op in (" + markOps(k) + ") then '" + k.String() + "'")
	}
	return strings.NewReplacer("{kind}", "case"+kinds.String()+" end",
		"{push}", markOps(event.MarkPush), "{pop}", markOps(event.MarkPop), "{start}", markOps(event.MarkStart),
		"{end}", markOps(event.MarkEnd)).Replace(`create view nvtx_marks as
select s.node || ':' || m.ts || 'n' as id, m.ts as timestamp, m.dur as duration_ns, s.node, t.pid, t.tid, t.comm,
  o.name as op, {kind} as kind, coalesce(m.domain, 0) as domain, m.text,
  coalesce(m.category, 0) as category, case when m.op in ({push}, {pop}) then m.answer end as level,
  case when m.op in ({start}, {end}) then m.answer end as range_id, m.message
from mark m left join thread t on t.id = m.thread left join session s on s.id = t.session
left join op_name o on o.id = m.op;

create view nvtx_ranges as
`) + markRanges() + ";"
}

// markRanges is the query of the view nvtx_ranges.
func markRanges() string {
	return strings.NewReplacer("{push}", markOps(event.MarkPush), "{pop}", markOps(event.MarkPop),
		"{start}", markOps(event.MarkStart), "{end}", markOps(event.MarkEnd)).Replace(`with step as (
  select ts, thread, coalesce(domain, 0) as domain, op in ({push}) as begins, text, category,
    sum(case when op in ({push}) then 1 else -1 end) over (partition by thread, coalesce(domain, 0) order by ts)
      + (op in ({pop})) as depth
  from mark where op in ({push}, {pop})
), pushed as (
  select *, lead(ts) over w as next, lead(begins) over w as again from step
  window w as (partition by thread, domain, depth order by ts)
), started as (
  select m.ts, m.thread, m.domain, m.text, m.category, m.op in ({start}) as begins,
    case when lead(m.op in ({end})) over w and m.answer is not null then lead(m.ts) over w end as until
  from mark m join thread t on t.id = m.thread where m.op in ({start}, {end})
  window w as (partition by t.session, t.pid, m.answer order by m.ts)
), range as (
  select ts, thread, domain, text, category, 'push' as kind, case when again = 0 then next end as until
  from pushed where begins
  union all
  select ts, thread, coalesce(domain, 0), text, category, 'start', until from started where begins
)
select s.node || ':' || r.ts || 'n' as id, r.ts as timestamp, r.until - r.ts as duration_ns, s.node, t.pid, t.tid,
  t.comm, r.kind, r.domain, r.text, coalesce(r.category, 0) as category, r.until as ended
from range r left join thread t on t.id = r.thread left join session s on s.id = t.session`)
}
