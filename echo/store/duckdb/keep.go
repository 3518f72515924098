package duckdb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/ingero-io/ingero/echo/store"
)

// lessThanFull is the share of the allowed size that is left after rows were deleted for size, so that not every call
// has to delete.
const lessThanFull = 0.9

// Retain implements store.Keeper.
func (s *Store) Retain(ctx context.Context, now int64, r store.Retention) (int64, error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.lost() { // nothing may be written that would notice
		s.mend(context.WithoutCancel(ctx), nil)
	}
	var deleted int64
	err := s.use(func(*sql.DB) (err error) {
		deleted, err = s.retain(ctx, now, r)
		return err
	})
	if err != nil {
		if gaveUp(err) {
			s.mend(context.WithoutCancel(ctx), err)
		}
		return 0, fmt.Errorf("delete old rows: %w", err)
	}
	return deleted, nil
}

func (s *Store) retain(ctx context.Context, now int64, r store.Retention) (int64, error) {
	var deleted int64
	if r.Age > 0 {
		n, err := s.deleteBefore(ctx, now-int64(r.Age))
		if err != nil {
			return 0, err
		}
		deleted += n
	}
	if r.Bytes > 0 {
		n, err := s.shrink(ctx, r.Bytes)
		if err != nil {
			return 0, err
		}
		deleted += n
	}
	if deleted > 0 {
		s.seen.DropAll()
	}
	// Moves the log into the file, and frees the space of deleted rows.
	if _, err := s.conn.ExecContext(ctx, "checkpoint"); err != nil {
		return 0, err
	}
	return deleted, nil
}

func (s *Store) deleteBefore(ctx context.Context, received int64) (deleted int64, err error) {
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
		if deleted == 0 {
			return nil
		}
		return s.dropSeries(ctx)
	})
	if err != nil {
		s.numbers.forget()
		return 0, err
	}
	return deleted, nil
}

// shrinks is how often in a row shrink deletes. Space is free when all rows of a group of 122,880 are deleted.
const shrinks = 4

// shrink deletes the oldest rows of a file that is too large: as many as its size suggests if all rows are of equal
// size, and more if that was not enough.
func (s *Store) shrink(ctx context.Context, most int64) (int64, error) {
	var deleted, before int64
	for range shrinks {
		if _, err := s.conn.ExecContext(ctx, "checkpoint"); err != nil {
			return deleted, err
		}
		size, err := used(ctx, s.conn)
		// If no space became free, a question still reads the deleted rows: wait for the next call.
		if err != nil || size <= most || size == before {
			return deleted, err
		}
		before = size
		n, err := s.deleteShare(ctx, 1-lessThanFull*float64(most)/float64(size))
		if err != nil {
			return deleted, err
		}
		deleted += n
	}
	return deleted, nil
}

// deleteShare deletes about a share of all rows, the oldest ones.
func (s *Store) deleteShare(ctx context.Context, share float64) (int64, error) {
	var cutoff sql.NullInt64
	// An exact quantile would take 8 bytes of memory per row.
	if err := s.conn.QueryRowContext(ctx, fmt.Sprintf("select approx_quantile(received_ns, %f) from (%s)",
		share, ofAll("received_ns", "true"))).
		Scan(&cutoff); err != nil || !cutoff.Valid {
		return 0, err
	}
	return s.deleteBefore(ctx, cutoff.Int64+1)
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
