package sqlite

import (
	"context"

	"zombiezen.com/go/sqlite"
)

// ClockOffsets returns by how many ns machines' clocks are ahead of the first machine's, by first
// session, as far as their common collective operations show. A recording of one machine has none,
// nor has one of an older schema.
func (r *Reader) ClockOffsets(ctx context.Context) (map[int64]int64, error) {
	ahead := map[int64]int64{}
	told := false
	err := r.rows(ctx, "select 1 from sqlite_schema where type = 'view' and name = 'clock_offsets'", nil,
		func(*sqlite.Stmt) error {
			told = true
			return nil
		})
	if err != nil || !told {
		return ahead, err
	}
	err = r.rows(ctx, "select machine, ahead_ns from clock_offsets where operations > 0 and ahead_ns is not null", nil,
		func(s *sqlite.Stmt) error {
			ahead[s.ColumnInt64(0)] = s.ColumnInt64(1)
			return nil
		})
	return ahead, err
}
