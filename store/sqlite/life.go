package sqlite

import (
	"context"

	"zombiezen.com/go/sqlite"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// lifeKind is starts and ends of processes and threads.
var lifeKind = &kind[event.Life]{
	tables:     []table{{name: "life", initial: true, prune: "ts", refs: map[string]string{"parent": "thread"}}},
	rows:       func(t *store.Tables) *[]event.Life { return &t.Lives },
	hold:       keepEach[event.Life],
	statements: []string{"insert into life values (" + values(6) + ")"},
	insert: func(w *Writer, s []*boundStmt, l *event.Life) error {
		w.session.count(l.At, l.At, 0)
		b := s[0]
		b.set(2, int64(l.Kind))
		b.set(3, w.threads.get(l.Thread, l.Comm, l.At).id)
		if l.Parent == (event.Thread{}) {
			b.null(4)
		} else {
			b.set(4, w.threads.get(l.Parent, "", l.At).id)
		}
		b.opt(5, int64(l.Op))
		b.opt(6, int64(l.Duration))
		_, err := b.runAt(l.At)
		return err
	},
	query: "select ts, kind, thread, parent, op, dur from life where ts between ? and ? order by ts",
	scan: func(ctx context.Context, r *Reader, s *sqlite.Stmt) (event.Life, error) {
		t, err := r.thread(ctx, s.ColumnInt64(2))
		if err != nil {
			return event.Life{}, err
		}
		parent, err := r.thread(ctx, s.ColumnInt64(3))
		return event.Life{
			At: number(s, 0), Kind: event.LifeKind(s.ColumnInt64(1)), Thread: t.Thread, Comm: t.Comm,
			Parent: parent.Thread, Op: event.Op(s.ColumnInt64(4)), Duration: number(s, 5),
		}, err
	},
}
