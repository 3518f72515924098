package sqlite

import (
	"context"

	"zombiezen.com/go/sqlite"

	"github.com/ingero-io/ingero/store"
)

// throttleKind is how long control groups were throttled by their CPU quota.
var throttleKind = &kind[store.Throttle]{
	tables:     []table{{name: "throttle", initial: true, prune: "ts", machine: true}},
	rows:       func(t *store.Tables) *[]store.Throttle { return &t.Throttles },
	statements: []string{"insert into throttle values (" + values(8) + ")"},
	insert: func(w *Writer, s []*boundStmt, t *store.Throttle) error {
		b := s[0]
		b.set(2, w.cgroups.id(t.Cgroup))
		b.set(3, int64(t.Periods))
		b.set(4, int64(t.NS))
		b.set(5, w.session.id)
		b.opt(6, int64(t.QuotaUS))
		b.opt(7, int64(t.PeriodUS))
		b.opt(8, int64(t.Version))
		_, err := b.runAt(t.At)
		return err
	},
	list: (*Reader).throttles,
}

// throttles reads the columns that the schema has.
func (r *Reader) throttles(ctx context.Context, w store.Window) ([]store.Throttle, error) {
	var out []store.Throttle
	quota := "null, null, null" // recordings before schema 16
	if ok, err := r.hasColumn(ctx, "throttle", "quota_us"); err != nil {
		return nil, err
	} else if ok {
		quota = "h.quota_us, h.period_us, h.version"
	}
	err := r.rows(ctx, "select h.ts, g.path, h.periods, h.ns, "+quota+`
		from throttle h left join cgroup g on g.id = h.cgroup
		where h.ts between ? and ? order by h.ts`, bounds(w), func(s *sqlite.Stmt) error {
		out = append(out, store.Throttle{
			At: number(s, 0), Cgroup: s.ColumnText(1), Periods: number(s, 2), NS: number(s, 3),
			QuotaUS: number(s, 4), PeriodUS: number(s, 5), Version: uint8(s.ColumnInt64(6)),
		})
		return nil
	})
	return out, err
}
