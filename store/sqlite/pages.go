package sqlite

import (
	"context"

	"zombiezen.com/go/sqlite"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// pageKind is the page allocations of processes.
var pageKind = &kind[event.PageSum]{
	tables:     []table{{name: "page_second", prune: "ts"}},
	rows:       func(t *store.Tables) *[]event.PageSum { return &t.Pages },
	statements: []string{"insert into page_second values (" + values(8) + ")"},
	insert: func(w *Writer, s []*boundStmt, p *event.PageSum) error {
		b := s[0]
		w.setThread(b, 2, event.Thread{PID: p.PID, TID: p.PID}, p.Comm, 0)
		b.set(3, int64(p.Allocations))
		b.set(4, int64(p.Pages))
		b.set(5, int64(p.Bytes))
		b.opt(6, int64(p.NoWaitBytes))
		b.opt(7, int64(p.Failed))
		b.set(8, w.session.id)
		_, err := b.runAt(p.At)
		return err
	},
	query: "select ts, thread, allocs, pages, bytes, nowait, failed from page_second where ts between ? and ? order by ts",
	scan: func(ctx context.Context, r *Reader, s *sqlite.Stmt) (event.PageSum, error) {
		i := func(n int) uint64 { return number(s, n) }
		p := event.PageSum{At: i(0), Allocations: i(2), Pages: i(3), Bytes: i(4), NoWaitBytes: i(5), Failed: i(6)}
		if s.ColumnIsNull(1) {
			return p, nil
		}
		t, err := r.thread(ctx, s.ColumnInt64(1))
		p.PID, p.Comm = t.PID, t.Comm
		return p, err
	},
}
