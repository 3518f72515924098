package duckdb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"time"
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

// Reopen opens the engine again. Before it does, it calls wait; it is stuck after patience.
func (s *Store) Reopen(ctx context.Context, wait func(), patience time.Duration) {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.patience = patience
	s.connect = func(path string) (driver.Connector, error) {
		wait()
		return connect(path)
	}
	s.mend(ctx, nil)
}
