package duckdb

import (
	"context"
	"database/sql"
)

// Version is that of the tables.
const Version = 3

// Count is how many rows a table has.
func (s *Store) Count(ctx context.Context, table string) (n int64, err error) {
	err = s.use(func(db *sql.DB) error {
		return db.QueryRowContext(ctx, "select count(*) from "+table).Scan(&n)
	})
	return n, err
}
