package sqlite

import (
	"context"

	"zombiezen.com/go/sqlite"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// reclaimKind is time in which threads had to reclaim memory.
var reclaimKind = &kind[event.Reclaim]{
	tables:     []table{{name: "reclaim", prune: "ts"}},
	rows:       func(t *store.Tables) *[]event.Reclaim { return &t.Reclaims },
	statements: []string{"insert into reclaim values (" + values(6) + ")"},
	insert: func(w *Writer, s []*boundStmt, r *event.Reclaim) error {
		w.session.count(r.Start, r.End(), 0)
		b := s[0]
		b.set(2, w.threads.get(r.Thread, "", r.Start).id)
		b.set(3, int64(r.Duration))
		b.set(4, int64(r.NS))
		b.set(5, int64(r.Kind))
		b.set(6, int64(r.Parts))
		_, err := b.runAt(r.Start)
		return err
	},
	query: "select ts, thread, dur, ns, kind, parts from reclaim where ts between ? and ? order by ts",
	scan: func(ctx context.Context, r *Reader, s *sqlite.Stmt) (event.Reclaim, error) {
		t, err := r.thread(ctx, s.ColumnInt64(1))
		return event.Reclaim{
			Start: number(s, 0), Thread: t.Thread, Duration: number(s, 2), NS: number(s, 3),
			Kind: event.ReclaimKind(s.ColumnInt64(4)), Parts: uint32(s.ColumnInt64(5)),
		}, err
	},
}
