package sqlite

import (
	"context"

	"zombiezen.com/go/sqlite"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// threadTimeKind is running totals of how threads' time was spent.
var threadTimeKind = &kind[event.ThreadTime]{
	tables:     []table{{name: "thread_time", initial: true, prune: "ts"}},
	rows:       func(t *store.Tables) *[]event.ThreadTime { return &t.ThreadTimes },
	statements: []string{"insert into thread_time values (" + values(18) + ")"},
	insert: func(w *Writer, s []*boundStmt, t *event.ThreadTime) error {
		w.session.count(t.At, t.At, 0)
		b := s[0]
		b.set(2, w.threads.bornAt(t.Thread, t.Comm, w.unixOf(t.Born), 0, t.At).id)
		b.opt(3, int64(t.OnCPU))
		for c, ns := range t.NS {
			b.opt(4+c, int64(ns))
		}
		b.opt(15, int64(t.Runtime))
		b.flag(16, t.Dispatch)
		b.flag(17, t.Followed)
		b.opt(18, int64(t.Kernel))
		_, err := b.runAt(t.At)
		return err
	},
}

// ThreadTimes implements store.Reader.
func (r *Reader) ThreadTimes(ctx context.Context, w store.Window, visit func(*event.ThreadTime) bool) error {
	var tt event.ThreadTime
	const query = "select * from thread_time where ts between ? and ? order by ts"
	return r.rows(ctx, query, bounds(w), func(s *sqlite.Stmt) error {
		t, err := r.thread(ctx, s.ColumnInt64(1))
		if err != nil {
			return err
		}
		tt = event.ThreadTime{
			At: number(s, 0), Thread: t.Thread, Comm: t.Comm, OnCPU: number(s, 2),
			Runtime: number(s, 14), Dispatch: s.ColumnInt64(15) != 0, Followed: s.ColumnInt64(16) != 0, Kernel: number(s, 17),
		}
		for c := range tt.NS {
			tt.NS[c] = number(s, 3+c)
		}
		return stopUnless(visit(&tt))
	})
}
