package clickhouse

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/ingero-io/ingero/echo/store"
)

// lessThanFull is the share of the allowed size that is left after rows were deleted for size, so that not every call
// has to delete.
const lessThanFull = 0.9

// expire sets how long the engine keeps rows, if that has changed.
func (s *Store) expire(ctx context.Context) error {
	for table, column := range map[string]string{"point": "received_ns", "minute": "minute_ns"} {
		table = s.layout.Local(table)
		var now string
		if err := s.conn.QueryRow(ctx, "select engine_full from system.tables where database = currentDatabase() and name = "+
			quoteText(table)).Scan(&now); err != nil {
			return err
		}
		want := fmt.Sprintf("toDateTime(intDiv(%s, 1000000000)) + toIntervalSecond(%d)", column,
			int64((s.options.Keep+time.Second-1)/time.Second))
		has := strings.Contains(now, " TTL ")
		var change string
		switch {
		case s.options.Keep == 0 && has:
			change = "remove ttl"
		case s.options.Keep > 0 && !strings.Contains(now, want):
			change = "modify ttl " + want
		default:
			continue
		}
		// Existing rows are checked in the background: nobody waits for that.
		if err := s.conn.Exec(ctx, "alter table "+table+s.layout.OnCluster()+" "+change); err != nil {
			return err
		}
	}
	return nil
}

// Retain implements store.Keeper. It rewrites the parts that have rows to be deleted, which is expensive if done
// often. The engine deletes what Options.Keep expires when it merges.
//
// It also computes the minutes of new rows. Others may write meanwhile.
func (s *Store) Retain(ctx context.Context, now int64, r store.Retention) (int64, error) {
	s.retaining.Lock()
	defer s.retaining.Unlock()
	var deleted int64
	err := s.use(func() (err error) {
		if err := s.addUp(ctx); err != nil {
			return fmt.Errorf("add up minutes: %w", err)
		}
		deleted, err = s.retain(ctx, now, r)
		return err
	})
	if deleted > 0 {
		s.forgetDeleted()
	}
	if err != nil {
		return deleted, fmt.Errorf("delete old rows: %w", err)
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
		if deleted += n; err != nil {
			return deleted, err
		}
	}
	return deleted, nil
}

// forgetDeleted drops what is known of rows that may have been deleted. Close may wait meanwhile: it is not for use.
func (s *Store) forgetDeleted() {
	s.ages.forgetTime()
	s.writing.Lock()
	defer s.writing.Unlock()
	s.seen.DropAll()
}

// deleteBefore deletes rows that came before a time, and minutes before it.
func (s *Store) deleteBefore(ctx context.Context, received int64) (int64, error) {
	var n uint64
	condition := fmt.Sprintf(" where received_ns < %d", received)
	if err := s.conn.QueryRow(ctx, "select count() from point final"+condition).Scan(&n); err != nil || n == 0 {
		return 0, err
	}
	if err := s.delete(ctx, "point", condition); err != nil {
		return 0, err
	}
	return int64(n), s.delete(ctx, "minute", fmt.Sprintf(" where minute_ns < %d", received))
}

// delete deletes rows of a table, and returns when they are gone. It does not wait within the statement: that may
// take longer than a server may be silent.
func (s *Store) delete(ctx context.Context, table, condition string) error {
	table = s.layout.Local(table)
	if err := s.exec(ctx, "alter table "+table+s.layout.OnCluster()+" delete"+condition); err != nil {
		return err
	}
	mutations := "system.mutations"
	if s.layout.Cluster != "" {
		mutations = "clusterAllReplicas(" + s.layout.Cluster + ", system.mutations)"
	}
	question := fmt.Sprintf(`select count(), max(latest_fail_reason) from %s
		where database = %s and table = %s and not is_done`, mutations, quoteText(s.database), quoteText(table))
	tick := time.NewTicker(deletes)
	defer tick.Stop()
	for {
		var running uint64
		var failure string
		if err := s.conn.QueryRow(ctx, question).Scan(&running, &failure); err != nil || running == 0 {
			return err
		}
		if failure != "" {
			return fmt.Errorf("%s: %s", table, failure)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// deletes is the time between two checks whether rows are deleted.
const deletes = 50 * time.Millisecond

// shrinks is how often in a row shrink deletes.
const shrinks = 4

// shrink deletes the oldest rows of tables that are too large: as many as their size suggests if all rows are of
// equal size, and more if that was not enough.
func (s *Store) shrink(ctx context.Context, most int64) (int64, error) {
	var deleted, before int64
	for range shrinks {
		size, _, err := s.used(ctx)
		if err != nil || size <= most || size == before {
			return deleted, err
		}
		before = size
		var cutoff sql.NullInt64
		share := 1 - lessThanFull*float64(most)/float64(size)
		question := fmt.Sprintf("select quantileOrNull(%g)(received_ns)::Nullable(Int64) from point", share)
		if err := s.conn.QueryRow(ctx, question).Scan(&cutoff); err != nil || !cutoff.Valid {
			return deleted, err
		}
		n, err := s.deleteBefore(ctx, cutoff.Int64+1)
		if err != nil {
			return deleted, err
		}
		deleted += n
	}
	return deleted, nil
}

// ages caches when the oldest row came: finding it reads all rows.
type ages struct {
	mu     sync.Mutex
	oldest int64
	until  time.Time
}

// remember is how long the cached time is valid.
const remember = time.Minute

func (a *ages) forgetTime() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.until = time.Time{}
}

func (s *Store) oldest(ctx context.Context) (int64, error) {
	s.ages.mu.Lock()
	defer s.ages.mu.Unlock()
	if time.Now().Before(s.ages.until) {
		return s.ages.oldest, nil
	}
	var oldest sql.NullInt64
	if err := s.conn.QueryRow(ctx, "select minOrNull(received_ns) from point").Scan(&oldest); err != nil {
		return 0, err
	}
	if oldest.Valid {
		s.ages.oldest, s.ages.until = oldest.Int64, time.Now().Add(remember)
	}
	return oldest.Int64, nil
}

// used returns the bytes and rows of the tables, on one replica of each shard. A row that was written twice counts
// twice until it is merged.
func (s *Store) used(ctx context.Context) (bytes, rows int64, err error) {
	parts := "system.parts"
	if s.layout.Cluster != "" {
		parts = "cluster(" + s.layout.Cluster + ", system.parts)"
	}
	point, minute := quoteText(s.layout.Local("point")), quoteText(s.layout.Local("minute"))
	err = s.conn.QueryRow(ctx, fmt.Sprintf(`select sum(bytes_on_disk)::Int64, sumIf(rows, table = %s)::Int64
		from %s where database = %s and active and table in (%s, %s)`, point, parts, quoteText(s.database), point, minute)).
		Scan(&bytes, &rows)
	return bytes, rows, err
}

// Stats implements store.Keeper.
func (s *Store) Stats(ctx context.Context) (store.Stats, error) {
	var out store.Stats
	err := s.use(func() (err error) {
		if out.Bytes, out.Rows, err = s.used(ctx); err != nil || out.Rows == 0 {
			return err
		}
		out.Oldest, err = s.oldest(ctx)
		return err
	})
	if err != nil {
		return store.Stats{}, fmt.Errorf("look at the store: %w", err)
	}
	return out, nil
}
