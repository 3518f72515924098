package duckdb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"time"
)

// Version is the version of the tables.
const Version = 3

// HeldFor is heldFor.
var HeldFor = heldFor

// Hold makes the store believe that the engine holds so many bytes.
func (s *Store) Hold(bytes int64) {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.held = bytes
}

// Count returns the number of rows in a table.
func (s *Store) Count(ctx context.Context, table string) (n int64, err error) {
	err = s.use(func(db *sql.DB) error {
		return db.QueryRowContext(ctx, "select count(*) from "+table).Scan(&n)
	})
	return n, err
}

// AskOn begins to read rows, and goes on until the engine is closed, or ctx ends. It returns when it has begun; how it
// ended is sent.
func (s *Store) AskOn(ctx context.Context) <-chan error {
	began, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- s.use(func(db *sql.DB) error {
			ctx, done := s.watch.begin(ctx)
			defer done()
			tx, err := db.BeginTx(context.WithoutCancel(ctx), nil)
			if err != nil {
				close(began)
				return err
			}
			defer func() { _ = tx.Rollback() }()
			var n int64
			err = tx.QueryRow("select count(*) from point").Scan(&n)
			close(began)
			if err != nil {
				return err
			}
			<-ctx.Done()
			return context.Cause(ctx)
		})
	}()
	<-began
	return ended
}

// Reopen reopens the engine. Before it is opened, now and later, it calls ready, and does not open it if that fails;
// after patience it counts as stuck.
func (s *Store) Reopen(ctx context.Context, ready func() error, patience time.Duration) {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.options.Patience = patience
	s.connect = func(path string) (driver.Connector, error) {
		if err := ready(); err != nil {
			return nil, err
		}
		return connect(path)
	}
	s.mend(ctx, nil)
}

// Ended is ended.
var Ended = ended

// Look is look.
func (s *Store) Look(ctx context.Context, f func(*sql.DB) error) error { return s.look(ctx, f) }
