package sqlite

import (
	"context"
	"math"
	"strings"

	"zombiezen.com/go/sqlite"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// waitSeriesQuery adds up the ledgers of calls and gaps that have one.
var waitSeriesQuery = func() string {
	var sums, any []string
	for _, c := range strings.Split(ledgerColumns, ", ")[:event.NumClasses] {
		sums = append(sums, "sum("+c+")")
		any = append(any, c)
	}
	part := func(op, table string) string {
		return "select (id >> 20) / ?3 * ?3, thread, " + op + ", " + strings.Join(sums, ", ") + " from " + table +
			" where id between ?1 and ?2 and coalesce(" + strings.Join(any, ", ") + ") is not null group by 1, 2, 3"
	}
	return part("op", "call_second") + " union all " + part("0", "gap_second") + " order by 1, 2, 3"
}()

// WaitSeries implements store.Reader. The window grows to whole seconds.
func (r *Reader) WaitSeries(ctx context.Context, w store.Window, step uint64) ([]store.WaitSecond, error) {
	var out []store.WaitSecond
	step = min(max(step, 1), math.MaxInt32)
	err := r.rows(ctx, waitSeriesQuery, append(seconds(w), int64(step)), func(s *sqlite.Stmt) error {
		t, err := r.thread(ctx, s.ColumnInt64(1))
		if err != nil {
			return err
		}
		o := store.WaitSecond{Second: uint64(s.ColumnInt64(0)), Thread: t.Thread, Op: event.Op(s.ColumnInt64(2))}
		for c := range o.Ledger.NS {
			o.Ledger.NS[c] = uint64(s.ColumnInt64(3 + c))
		}
		out = append(out, o)
		return nil
	})
	return out, err
}
