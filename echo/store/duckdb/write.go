package duckdb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/duckdb/duckdb-go/v2"

	"github.com/ingero-io/ingero/echo/row"
	"github.com/ingero-io/ingero/echo/store"
)

// Write implements store.Writer.
func (s *Store) Write(ctx context.Context, rows []row.Row) (store.Written, error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.lost() {
		s.mend(context.WithoutCancel(ctx), nil)
	}
	out, err := s.try(ctx, rows)
	if err != nil && outOfMemory(err) { // running questions had it, and have been ended
		out, err = s.try(ctx, rows)
	}
	if err == nil && s.held > s.options.Memory/4 {
		s.refresh(context.WithoutCancel(ctx), "memory")
	}
	return out, err
}

func (s *Store) try(ctx context.Context, rows []row.Row) (store.Written, error) {
	var out store.Written
	err := s.use(func(*sql.DB) (err error) {
		out, err = s.write(ctx, rows)
		return err
	})
	if err == nil {
		return out, nil
	}
	if errors.Is(err, store.ErrAway) {
		return store.Written{}, fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	s.seen.Drop(rows)
	s.numbers.forgetNumbers() // some may belong to series that were not stored
	if gaveUp(err) || errors.As(err, new(*insertError)) || s.lost() {
		s.mend(context.WithoutCancel(ctx), err)
	}
	return store.Written{}, err
}

// The engine knows of each row which transaction wrote it. If the rows of a vector of 2,048 are of several
// transactions, that takes a block of memory for their group of rows, which stays until the engine is reopened, though
// it is not needed for long (seen with 1.5.5). While a question runs, a group may need up to four blocks.
const (
	group   = 122_880 // rows
	ofGroup = 256 << 10
)

// heldFor returns about how many bytes of the engine's memory some rows take until the engine is reopened.
func heldFor(rows int) int64 { return int64(rows) * ofGroup / group }

// grace is how long questions may still run before the engine is reopened for its memory. Writing waits meanwhile.
const grace = 500 * time.Millisecond

// refresh reopens the engine to free what it holds: memory, of which it would take all it may have, so that writing
// fails; or deleted rows. The caller has locked s.writing.
func (s *Store) refresh(ctx context.Context, why string) {
	if s.lost() {
		return // mend opens it
	}
	began := time.Now()
	if _, err := s.conn.ExecContext(ctx, "checkpoint"); err != nil { // so that no log has to be read
		s.options.Logger.Warn("the log cannot be moved into the file", "err", err)
		if gaveUp(err) {
			s.mend(ctx, err)
			return
		}
	}
	held := s.held
	if s.reopen(ctx, grace) {
		s.options.Logger.Info("the store was opened again to free "+why, "path", s.path, "bytes", held, "took",
			time.Since(began).Round(time.Millisecond))
	}
}

// insertError means that rows could not be written. The engine's tables in memory may be wrong then: "Could not find
// node in column segment tree" and "Corrupted in-memory column" have followed.
type insertError struct{ error }

func (e *insertError) Unwrap() error { return e.error }

// outOfMemory reports whether a write failed because the engine had no memory, and no room to free some.
func outOfMemory(err error) bool {
	var d *duckdb.Error
	return errors.As(err, &d) && d.Type == duckdb.ErrorTypeOutOfMemory || slices.ContainsFunc(
		[]string{"could not allocate", "failed to allocate", "failed to offload", "failed to pin"},
		func(s string) bool { return strings.Contains(err.Error(), s) })
}

// lost reports whether the engine is not open although it should be.
func (s *Store) lost() bool {
	s.open.RLock()
	defer s.open.RUnlock()
	return s.db == nil && !s.closed
}

// gaveUp reports whether the engine does nothing more after an error.
func gaveUp(err error) bool {
	var d *duckdb.Error
	if errors.As(err, &d) && d.Type == duckdb.ErrorTypeFatal {
		return true
	}
	text := err.Error()
	return strings.Contains(text, "invalidated because of") || strings.Contains(text, "Failed to create checkpoint")
}

func (s *Store) write(ctx context.Context, rows []row.Row) (store.Written, error) {
	if err := s.seen.Read(ctx, rows, s.newest, stored{s.conn}); err != nil {
		return store.Written{}, fmt.Errorf("find rows that are there already: %w", err)
	}
	fresh, newest := make([]point, 0, len(rows)), s.newest
	for i := range rows {
		if r := &rows[i]; s.seen.Add(r) {
			fresh = append(fresh, point{r, none})
			newest = max(newest, r.Timestamp)
		}
	}
	if len(fresh) > 0 {
		if err := s.insert(ctx, fresh); err != nil {
			return store.Written{}, fmt.Errorf("%w: %w", store.ErrUnavailable, &insertError{err})
		}
	}
	s.newest = newest
	s.seen.Trim()
	s.numbers.trim()
	return store.Written{Rows: len(fresh), Duplicates: len(rows) - len(fresh)}, nil
}

// stored are the rows in the engine, for package seen.
type stored struct{ conn *sql.Conn }

// SecondOf implements seen.Source.
func (stored) SecondOf() string { return "timestamp_ns // 1000000000" }

// Count implements seen.Source.
func (t stored) Count(ctx context.Context, condition string, each func(second, rows int64)) error {
	var second, n int64
	rows := ofAll(t.SecondOf()+" as second", condition)
	return t.readStored(ctx, "select second, count(*) from ("+rows+") group by second",
		func() { each(second, n) }, &second, &n)
}

// Keys implements seen.Source.
func (t stored) Keys(ctx context.Context, condition string, each func(timestamp int64, key uint64)) error {
	var at int64
	var key uint64
	return t.readStored(ctx, ofAll("timestamp_ns, key", condition), func() { each(at, key) }, &at, &key)
}

func (t stored) readStored(ctx context.Context, statement string, each func(), into ...any) error {
	rows, err := t.conn.QueryContext(ctx, statement)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		each()
	}
	return rows.Err()
}

// atOnce is how many rows an appender is sure to pass to the engine at once.
const atOnce = 150_000

// insert writes rows in a transaction, with their new series.
func (s *Store) insert(ctx context.Context, rows []point) error {
	added, err := s.numbers.number(ctx, s.conn, rows)
	if err != nil {
		return fmt.Errorf("find series: %w", err)
	}
	numbers, shape := numbersOf(rows)
	all := func() error {
		return s.conn.Raw(func(c any) error {
			if err := appendSeries(raw(c), added); err != nil {
				return err
			}
			if err := s.appendNumbers(raw(c), rows, shape); err != nil {
				return err
			}
			if numbers == len(rows) {
				return nil
			}
			return s.appendOthers(raw(c), rows)
		})
	}
	if len(added) == 0 && numbers == len(rows) && numbers <= atOnce {
		// An appender's rows are a transaction. The statements to begin and end one cost more than some 1000 rows.
		err = all()
	} else {
		err = s.inTransaction(ctx, all)
	}
	if err == nil {
		s.held += heldFor(len(rows))
	}
	return err
}

// inTransaction calls f in a transaction, and commits it if f returns no error.
func (s *Store) inTransaction(ctx context.Context, f func() error) error {
	if _, err := s.conn.ExecContext(ctx, "begin transaction"); err != nil {
		return err
	}
	err := f()
	if err == nil {
		_, err = s.conn.ExecContext(ctx, "commit")
	}
	if err != nil {
		// If the transaction has already ended, this error means nothing.
		_, _ = s.conn.ExecContext(context.WithoutCancel(ctx), "rollback")
	}
	return err
}

// appendNumbers passes the points that are numbers to the engine, with the columns that any of them has: each value
// costs time, and each NULL a call of the engine.
func (s *Store) appendNumbers(c driver.Conn, rows []point, shape int) error {
	if shape == 0 {
		return nil
	}
	a, err := duckdb.NewAppenderWithColumns(c, "", "", "point", columnsOf(shape))
	if err != nil {
		return err
	}
	for i := range rows {
		p := &rows[i]
		if !p.isNumber() {
			continue
		}
		s.values = p.appendValues(s.values[:0], shape)
		if err := a.AppendRow(s.values...); err != nil {
			return abandon(a, err)
		}
	}
	return a.Close()
}

// abandon closes an appender and discards its rows.
func abandon(a *duckdb.Appender, err error) error { return errors.Join(err, a.Clear(), a.Close()) }

// appendOthers passes the other rows to the engine, grouped by kinds.
func (s *Store) appendOthers(c driver.Conn, rows []point) error {
	for i := range others {
		t := &others[i]
		for _, kinds := range t.alike {
			if used := t.usedBy(rows, kinds); used != nil {
				if err := s.appendAlike(c, rows, t.name, kinds, used); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// appendAlike passes rows of some kinds to the engine, with only the columns that they use.
func (s *Store) appendAlike(c driver.Conn, rows []point, table string, kinds []row.Kind, used []column) error {
	names := make([]string, len(used))
	for i := range used {
		names[i] = used[i].name
	}
	a, err := duckdb.NewAppenderWithColumns(c, "", "", table, names)
	if err != nil {
		return err
	}
	for i := range rows {
		p := &rows[i]
		if !p.isIn(table, kinds) {
			continue
		}
		s.values = s.values[:0]
		for j := range used {
			s.values = append(s.values, used[j].of(p))
		}
		if err := a.AppendRow(s.values...); err != nil {
			return abandon(a, err)
		}
	}
	return a.Close()
}
