package sqlite_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
)

// What one query set, or left behind, does not concern the next one on the same connection.
func TestAKeptConnectionIsAsNew(t *testing.T) {
	q, err := sqlite.OpenQueries(fullRecording(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { q.Close() })
	ask := func(ctx context.Context, sql string, l store.Limits) error {
		r, err := q.Query(ctx, sql, l)
		if err != nil {
			return err
		}
		defer r.Close()
		for r.Next() {
			r.Values()
		}
		return r.Err()
	}
	const endless = "with recursive x (n) as (select 1 union all select n + 1 from x) select max(n) from x"
	for _, disturb := range []struct {
		name, sql string
		limits    store.Limits
		want      error // nil: any
	}{
		{name: "an answer", sql: "select 1"},
		{"few columns", "select 1, 2, 3", store.Limits{Columns: 2}, store.ErrSyntax},
		{"few bytes", "select printf('%.*c', 1000, 'x')", store.Limits{Value: 100}, store.ErrTooLarge},
		{"a short statement", "select 1 + 1", store.Limits{Statement: 4}, store.ErrRefused},
		{"no time", endless, store.Limits{Time: 20 * time.Millisecond}, store.ErrTooLong},
		{"a refused statement", "delete from call", store.Limits{}, store.ErrRefused},
		{"two statements", "select 1; select 2", store.Limits{}, store.ErrRefused},
		{"a wrong statement", "selec 1", store.Limits{}, store.ErrSyntax},
		{"one row of many", "select * from events", store.Limits{Rows: 1}, nil},
	} {
		t.Run(disturb.name, func(t *testing.T) {
			err := ask(t.Context(), disturb.sql, disturb.limits)
			if disturb.want != nil && !errors.Is(err, disturb.want) {
				t.Fatalf("%v, want %v", err, disturb.want)
			}
			if err := ask(t.Context(), "select printf('%.*c', 1000, 'x'), 2, 3, median(duration_ns) from calls",
				store.Limits{}); err != nil {
				t.Error(err)
			}
			if err := ask(t.Context(), "create temp table x (y)", store.Limits{}); !errors.Is(err, store.ErrRefused) {
				t.Errorf("writing: %v, want it refused", err)
			}
		})
	}
	t.Run("a caller that left", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(20*time.Millisecond, cancel)
		if err := ask(ctx, endless, store.Limits{}); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if err := ask(t.Context(), "select 1", store.Limits{}); err != nil {
			t.Error(err)
		}
	})
}

// Several queries at once use a connection each.
func TestKeptConnectionsAreNotShared(t *testing.T) {
	q, err := sqlite.OpenQueries(fullRecording(t))
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			for range 10 {
				r, err := q.Query(t.Context(), "select name from ops order by name", store.Limits{})
				if err != nil {
					t.Error(err)
					return
				}
				var last string
				n := 0
				for ; r.Next(); n++ {
					op := r.Values()[0].(string)
					if strings.Compare(op, last) < 0 {
						t.Errorf("%s after %s", op, last)
					}
					last = op
				}
				if err := errors.Join(r.Err(), r.Close()); err != nil || n < 100 {
					t.Errorf("%d operations: %v", n, err)
				}
			}
		})
	}
	wg.Wait()
	if err := q.Close(); err != nil {
		t.Error(err)
	}
}
