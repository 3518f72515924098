package duckdb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"

	"github.com/ingero-io/ingero/echo/store"
)

// lessThanFull is the share of the allowed size that is left after rows were deleted for size, so that not every call
// has to delete.
const lessThanFull = 0.9

// Retain implements store.Keeper. Rows are deleted in steps, between which others may be written.
func (s *Store) Retain(ctx context.Context, now int64, r store.Retention) (int64, error) {
	// Also if nothing is written that would notice that the engine is not open.
	if err := s.alone(ctx, func() error { return nil }); err != nil {
		return 0, fmt.Errorf("delete old rows: %w", err)
	}
	deleted, err := s.retain(ctx, now, r)
	if deleted > 0 {
		err = errors.Join(err, s.alone(ctx, func() error {
			s.seen.DropAll()
			err := s.inTransaction(ctx, func() error { return s.dropSeries(ctx) })
			if err != nil {
				s.numbers.forgetNumbers()
			}
			return err
		}))
	}
	if err == nil {
		err = s.alone(ctx, func() error { return s.checkpoint(ctx) })
	}
	if err != nil {
		return deleted, fmt.Errorf("delete old rows: %w", err)
	}
	return deleted, nil
}

func (s *Store) retain(ctx context.Context, now int64, r store.Retention) (deleted int64, err error) {
	if r.Age > 0 {
		if deleted, err = s.deleteBefore(ctx, now-int64(r.Age)); err != nil {
			return deleted, err
		}
	}
	if r.Bytes > 0 {
		n, err := s.shrink(ctx, r.Bytes)
		return deleted + n, err
	}
	return deleted, nil
}

// alone calls f while nothing is written.
func (s *Store) alone(ctx context.Context, f func() error) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.lost() {
		s.mend(context.WithoutCancel(ctx), nil)
	}
	err := s.use(func(*sql.DB) error { return f() })
	if err != nil && gaveUp(err) {
		s.mend(context.WithoutCancel(ctx), err)
	}
	return err
}

// checkpoint moves the log into the file, and frees the space of deleted rows.
func (s *Store) checkpoint(ctx context.Context) error {
	_, err := s.conn.ExecContext(ctx, "checkpoint")
	return err
}

// deleteBefore deletes what came before a time, in steps: until a checkpoint the engine keeps in memory which
// transaction deleted a row.
func (s *Store) deleteBefore(ctx context.Context, received int64) (deleted int64, err error) {
	for {
		until, more, err := s.step(ctx, received)
		if err != nil {
			return deleted, err
		}
		var n int64
		err = s.alone(ctx, func() (err error) {
			if n, err = s.deleteAtOnce(ctx, until); err != nil || n == 0 {
				return err
			}
			return s.checkpoint(ctx)
		})
		if deleted += n; err != nil || n == 0 || !more {
			return deleted, err
		}
	}
}

// ofDeleted is how many bytes of memory a deleted row takes: the number of its transaction.
const ofDeleted = 8

// step returns the time before which about as many rows came as may be deleted at once, which takes a quarter of the
// engine's memory, and whether more came before received.
func (s *Store) step(ctx context.Context, received int64) (until int64, more bool, err error) {
	most := s.options.Memory / 4 / ofDeleted
	from := ofAll("received_ns", fmt.Sprintf("received_ns < %d", received))
	err = s.look(ctx, func(db *sql.DB) error {
		var rows int64
		until, more = received, false
		if err := db.QueryRowContext(ctx, "select count(*) from ("+from+")").Scan(&rows); err != nil || rows <= most {
			return err
		}
		err := quantile(ctx, db, float64(most)/float64(rows), from, &until)
		until = min(until+1, received)
		more = until < received
		return err
	})
	return until, more, err
}

// look asks as ask does, but waits at most Patience for an engine that is not open: Retain opens it when it is called
// next. The question itself, which has its own context, may take longer. If the engine gives up, it is opened again.
func (s *Store) look(ctx context.Context, f func(*sql.DB) error) error {
	waiting, cancel := context.WithTimeout(ctx, s.options.Patience)
	defer cancel()
	err := s.ask(waiting, f)
	if err != nil && gaveUp(err) {
		s.writing.Lock()
		defer s.writing.Unlock()
		s.mend(context.WithoutCancel(ctx), err)
	}
	return err
}

// quantile finds about which value has a share of the values of a query below it. An exact one would take 8 bytes of
// memory for each row.
func quantile(ctx context.Context, db *sql.DB, share float64, of string, value any) error {
	return db.QueryRowContext(ctx, fmt.Sprintf("select approx_quantile(received_ns, %f) from (%s)", share, of)).Scan(value)
}

func (s *Store) deleteAtOnce(ctx context.Context, received int64) (deleted int64, err error) {
	err = s.inTransaction(ctx, func() error {
		for _, table := range tables {
			res, err := s.conn.ExecContext(ctx, "delete from "+table+" where received_ns < ?", received)
			if err != nil {
				return err
			}
			n, err := res.RowsAffected()
			if err != nil {
				return err
			}
			deleted += n
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return deleted, nil
}

// shrinks is how often in a row shrink deletes.
const shrinks = 4

// groupRows is how many rows the engine stores together. A checkpoint frees space if the rows that are left fit in
// fewer groups.
const groupRows = 122_880

// shrink deletes the oldest rows of a file that is too large: as many as its size suggests if all rows are of equal
// size, and more if that was not enough.
func (s *Store) shrink(ctx context.Context, most int64) (int64, error) {
	var deleted int64
	before, inVain := int64(math.MaxInt64), 0 // the size before a deletion, and how many freed nothing
	for range shrinks {
		size, err := s.size(ctx)
		if err == nil && size > most && (deleted == 0 || size >= before) {
			// Rows that were deleted still take space while a question reads them, which began before. It ends now.
			s.writing.Lock()
			s.refresh(context.WithoutCancel(ctx), "space")
			s.writing.Unlock()
			size, err = s.size(ctx)
		}
		if size >= before {
			inVain++
		}
		if err != nil || size <= most || inVain == 2 { // it may be one large group of rows
			return deleted, err
		}
		before = size
		share := 1 - lessThanFull*float64(most)/float64(size)
		if deleted > 0 { // the engine compresses the groups that are left anew, sometimes less
			least, err := s.shareOfGroup(ctx)
			if err != nil {
				return deleted, err
			}
			share = max(share, least)
		}
		n, err := s.deleteShare(ctx, share)
		if deleted += n; err != nil {
			return deleted, err
		}
	}
	return deleted, nil
}

// shareOfGroup returns about which share of all rows to delete, so that the table with most of them has a group less;
// 0: it has one group.
func (s *Store) shareOfGroup(ctx context.Context) (share float64, err error) {
	const margin = 0.01 // quantiles are not exact
	err = s.look(ctx, func(db *sql.DB) error {
		all, largest := int64(0), int64(0)
		for _, table := range tables {
			var n int64
			if err := db.QueryRowContext(ctx, "select count(*) from "+table).Scan(&n); err != nil {
				return err
			}
			all, largest = all+n, max(largest, n)
		}
		if left := (largest - 1) / groupRows * groupRows; left > 0 {
			share = min(1, float64(largest-left)/float64(all)+margin)
		}
		return nil
	})
	return share, err
}

// size returns the bytes of the file in use, after the log was moved into it.
func (s *Store) size(ctx context.Context) (bytes int64, err error) {
	err = s.alone(ctx, func() (err error) {
		if err = s.checkpoint(ctx); err == nil {
			bytes, err = used(ctx, s.conn)
		}
		return err
	})
	return bytes, err
}

// deleteShare deletes about a share of all rows, the oldest ones.
func (s *Store) deleteShare(ctx context.Context, share float64) (int64, error) {
	var until sql.NullInt64
	err := s.look(ctx, func(db *sql.DB) error {
		return quantile(ctx, db, share, ofAll("received_ns", "true"), &until)
	})
	if err != nil || !until.Valid {
		return 0, err
	}
	return s.deleteBefore(ctx, until.Int64+1)
}

// querier is a connection.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// used returns the bytes of the file in use, without the log.
func used(ctx context.Context, c querier) (int64, error) {
	var bytes int64
	err := c.QueryRowContext(ctx, "select sum(used_blocks * block_size)::bigint from pragma_database_size()").Scan(&bytes)
	return bytes, err
}

// Stats implements store.Keeper.
func (s *Store) Stats(ctx context.Context) (store.Stats, error) {
	var out store.Stats
	err := s.ask(ctx, func(db *sql.DB) error {
		var oldest sql.NullInt64
		err := db.QueryRowContext(ctx, "select count(*), min(received_ns) from ("+ofAll("received_ns", "true")+")").
			Scan(&out.Rows, &oldest)
		if err != nil {
			return err
		}
		out.Oldest = oldest.Int64
		if out.Bytes, err = used(ctx, db); err != nil {
			return err
		}
		switch log, err := os.Stat(s.path + ".wal"); {
		case err == nil:
			out.Bytes += log.Size()
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
		return nil
	})
	if err != nil {
		return store.Stats{}, fmt.Errorf("look at the store: %w", err)
	}
	return out, nil
}
