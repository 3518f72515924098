package sqlite

import (
	"context"

	"zombiezen.com/go/sqlite"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// gapKind is the gaps between outermost calls in which a thread was switched off the CPU.
var gapKind = &kind[event.Gap]{
	tables: []table{{name: "gap", initial: true, prune: "ts"}},
	rows:   func(t *store.Tables) *[]event.Gap { return &t.Gaps },
	statements: []string{
		"insert into gap (ts, thread, next, dur, notable, " + ledgerColumns + ") values (" + values(5+ledgerWidth) + ")",
	},
	insert: func(w *Writer, s []*boundStmt, g *event.Gap) error {
		w.session.count(g.Start, g.Start+g.Duration, 0)
		b := s[0]
		b.set(2, w.threads.get(g.Thread, "", g.Start).id)
		b.set(3, int64(g.Next))
		b.set(4, int64(g.Duration))
		b.flag(5, store.NotableGap(g))
		b.ledger(6, &g.Ledger)
		_, err := b.runAt(g.Start)
		return err
	},
}

const gapQuery = "select ts, thread, next, dur, %s from gap where ts between ? and ? "

var (
	notableGapQuery  = expand(gapQuery + "and notable = 1 order by ts")
	reachingGapQuery = expand(gapQuery + "and ts + dur > ? order by ts")
)

// NotableGaps implements store.Reader.
func (r *Reader) NotableGaps(ctx context.Context, w store.Window, visit func(*event.Gap) bool) error {
	return r.gaps(ctx, notableGapQuery, bounds(w), visit)
}

func (r *Reader) gaps(ctx context.Context, query string, args []int64, visit func(*event.Gap) bool) error {
	var g event.Gap
	return r.rows(ctx, query, args, func(s *sqlite.Stmt) error {
		t, err := r.thread(ctx, s.ColumnInt64(1))
		if err != nil {
			return err
		}
		g = event.Gap{Start: number(s, 0), Duration: number(s, 3), Thread: t.Thread, Next: event.Op(s.ColumnInt64(2))}
		readLedger(s, 4, &g.Ledger)
		return stopUnless(visit(&g))
	})
}
