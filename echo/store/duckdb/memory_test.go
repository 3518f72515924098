package duckdb_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ingero-io/ingero/echo/row"
	"github.com/ingero-io/ingero/echo/store"
	"github.com/ingero-io/ingero/echo/store/duckdb"
	"github.com/ingero-io/ingero/echo/store/storetest"
)

// memory returns the process's memory, and its peak since it was forgotten, in MiB.
func memory(t *testing.T) (kept, peak int64) {
	t.Helper()
	kept, peak = storetest.Memory(t, os.Getpid())
	return kept >> 20, peak >> 20
}

// kept returns how much memory the process keeps, in MiB, when that is no more than most. The engine gives memory back
// in the background, most of it in a second; if it does not, what it keeps is returned after half a minute.
func kept(t *testing.T, most int64) int64 {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(look) {
		if now, _ := memory(t); now <= most || time.Now().After(end) {
			return now
		}
	}
}

// look is the time between two looks at the memory.
const look = 20 * time.Millisecond

// While questions take all of the engine's memory, no written row is refused, lost, or stored twice.
func TestWritingBesideQuestionsThatTakeMemory(t *testing.T) {
	const memory, batch, batches = 64 << 20, 20_000, 60
	s := open(t, filepath.Join(t.TempDir(), "echo.db"), duckdb.Options{Memory: memory})
	ctx, stop := context.WithCancel(t.Context())
	var asking sync.WaitGroup
	defer asking.Wait()
	defer stop()
	var out atomic.Int64 // ended for memory
	for i := range 3 {
		asking.Go(func() {
			for n := i; ctx.Err() == nil; n++ {
				_, err := s.Query(ctx, []string{
					"select quantile_cont(a.value_int * b.value_int, 0.5) from events a, events b where a.value_int < 3",
					"select median(value_int) over (order by h) from (select value_int, hash(timestamp_ns) as h from events)",
					"select attrs_json || resource_json || value_int as x, count(*) from events group by x order by x desc limit 3",
				}[n%3], store.Limits{Time: time.Minute, Rows: 10, Bytes: 1 << 20})
				if errors.As(err, new(*store.LimitError)) {
					out.Add(1)
				} else if err != nil && ctx.Err() == nil && !errors.Is(err, store.ErrAway) {
					t.Error(err)
				}
			}
		})
	}
	for n := range int64(batches) {
		w, err := s.Write(t.Context(), gaugesWith(batch, 1+n, func(i int) string { return fmt.Sprintf(`{"i":%d}`, i%100) }))
		if err != nil || w.Rows != batch {
			t.Fatalf("batch %d: %+v, %v", n, w, err)
		}
	}
	stop()
	asking.Wait()
	r, err := s.Query(t.Context(), "select count(*), count(distinct timestamp_ns) from events", store.Limits{Time: time.Minute, Rows: 1, Bytes: 1 << 20})
	if err != nil || r.Rows[0][0] != int64(batch*batches) || r.Rows[0][1] != int64(batch*batches) {
		t.Errorf("%v, %v", r, err)
	}
	t.Logf("%d questions ended for lack of memory", out.Load())
	if out.Load() == 0 {
		t.Error("questions did not take enough memory for that to be tested")
	}
}

// Rows whose deletion at once would take more memory than the engine has are deleted. A write at that time succeeds.
func TestManyRowsAreDeletedInLittleMemory(t *testing.T) {
	const memory, batch, batches = 64 << 20, 100_000, 100
	s := open(t, filepath.Join(t.TempDir(), "echo.db"), duckdb.Options{Memory: memory})
	write := func(second int64) {
		rows := gaugesWith(batch, second, func(i int) string { return fmt.Sprintf(`{"i":%d}`, i%10) })
		if w, err := s.Write(t.Context(), rows); err != nil || w.Rows != batch {
			t.Errorf("second %d: %+v, %v", second, w, err)
		}
	}
	for n := range int64(batches) {
		write(1 + n)
	}
	var writing sync.WaitGroup
	writing.Go(func() { write(1 + batches) })
	deleted, err := s.Retain(t.Context(), row.SecondBegins(batches), store.Retention{Age: 1})
	if err != nil || deleted != batch*(batches-1) {
		t.Errorf("deleted %d: %v", deleted, err)
	}
	writing.Wait()
	r, err := s.Query(t.Context(), "select count(*), min(received_ns) from events",
		store.Limits{Time: time.Minute, Rows: 1, Bytes: 1 << 20})
	if err != nil || r.Rows[0][0] != int64(2*batch) || r.Rows[0][1] != row.SecondBegins(batches) {
		t.Errorf("%v, %v", r, err)
	}
}

// A question that reads the oldest rows keeps their space from becoming free. It ends, and no more rows are deleted for
// that.
func TestAQuestionDoesNotMakeMoreRowsBeDeleted(t *testing.T) {
	const batch, batches = 50_000, 30
	s := open(t, filepath.Join(t.TempDir(), "echo.db"), duckdb.Options{})
	write := func(second int64, rows int) {
		made := gaugesWith(rows, second, func(i int) string { return fmt.Sprintf(`{"i":%d}`, i%10) })
		if _, err := s.Write(t.Context(), made); err != nil {
			t.Error(err)
		}
	}
	for n := range int64(batches) {
		write(1+n, batch)
	}
	if _, err := s.Retain(t.Context(), 0, store.Retention{}); err != nil {
		t.Fatal(err)
	}
	before, err := s.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	asking, leave := context.WithCancel(t.Context())
	asked := s.AskOn(asking)
	stop, writing := make(chan struct{}), sync.WaitGroup{}
	writing.Go(func() { // the file grows meanwhile
		for n := int64(batches); ; n++ {
			select {
			case <-stop:
				return
			default:
				write(1+n, 500)
			}
		}
	})
	deleted, err := s.Retain(t.Context(), 0, store.Retention{Bytes: before.Bytes * 4 / 5})
	close(stop)
	writing.Wait()
	leave() // if it still asks
	if all := int64(batch * batches); err != nil || deleted < all/10 || deleted > all/2 {
		t.Errorf("%d of %d rows are deleted, %v; want some 28 %%", deleted, all, err)
	}
	if err := <-asked; !errors.Is(err, store.ErrAway) {
		t.Errorf("the question ended with %v", err)
	}
	if after, err := s.Stats(t.Context()); err != nil || after.Bytes > before.Bytes*9/10 {
		t.Errorf("%+v of %+v are left, %v", after, before, err)
	}
}

// Questions that would need gigabytes end before the process has one, and their memory is freed.
func TestAQuestionThatTakesMemoryIsEndedAndFreesIt(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "echo.db"), duckdb.Options{})
	for second := range int64(4) {
		rows := gaugesWith(10_000, 1+second, func(i int) string {
			return fmt.Sprintf(`{"i":%d,"text":"%s"}`, i, strings.Repeat("x", 500))
		})
		if _, err := s.Write(t.Context(), rows); err != nil {
			t.Fatal(err)
		}
	}
	limits := store.Limits{Time: time.Minute, Rows: 10, Bytes: 1 << 20}
	parts := strings.Repeat("a.attrs_json, ", 31)
	const (
		engine, slack = duckdb.DefaultMemory >> 20, 150 // MiB: the engine's cache, and a margin
		most          = 1000
	)
	first, _ := memory(t)
	memoryEnded := false // at least one of them ended for memory
	for _, sql := range []string{
		"select quantile_cont(a.value_int * b.value_int, 0.5) from events a, events b",
		"select a.attrs_json from events a, events b order by a.attrs_json || b.attrs_json",
		"select max(x) from (select concat(" + parts + "b.attrs_json) as x from events a, events b) group by x",
		"select mode(a.value_int * b.value_int) from events a, events b",
		"select count(distinct a.value_int * 100000 + b.value_int) from events a, events b",
		"select median(a.value_int) over (order by b.value_int) from events a, events b",
	} {
		storetest.ForgetPeak(t, os.Getpid())
		before, _ := memory(t)
		_, err := s.Query(t.Context(), sql, limits)
		if !errors.As(err, new(*store.LimitError)) {
			t.Fatalf("%s: %v; want a limit", sql, err)
		}
		memoryEnded = memoryEnded || strings.Contains(err.Error(), "of memory")
		limits.Time = 3 * time.Second // the first one certainly takes memory, the others may be slow
		_, peak := memory(t)
		after := kept(t, first+engine+slack)
		t.Logf("%d MiB, at most %d, then %d: %.60s: %v", before, peak, after, sql, err)
		if peak > most {
			t.Errorf("%s: the process had %d MiB", sql, peak)
		}
		if after > first+engine+slack {
			t.Errorf("%s: the process keeps %d MiB, at first it had %d", sql, after, first)
		}
	}
	if !memoryEnded {
		t.Error("none of them took enough memory for that to be tested")
	}
	r, err := s.Query(t.Context(), "select count(*) from events", limits)
	if err != nil || r.Rows[0][0] != int64(40_000) {
		t.Errorf("%v, %v", r, err)
	}
}

// As many texts as may be made of a row fit in memory, if they are as long as a text that is kept may be.
func TestTheLongestTextsFitInMemory(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "echo.db"), duckdb.Options{Threads: 1})
	for second := range int64(8) {
		rows := gaugesWith(512, 1+second, func(int) string { return "{}" })
		for i := range rows {
			rows[i].Kind, rows[i].Metric, rows[i].HasInt = row.Log, "", false
			rows[i].Record = &row.Record{Body: strings.Repeat(fmt.Sprintf("%08d", i), 16<<10/8)}
		}
		if _, err := s.Write(t.Context(), rows); err != nil {
			t.Fatal(err)
		}
	}
	const most, slack = 2048 * 528 >> 10, 100 // MiB: the texts of a chunk of rows, and a margin
	first, _ := memory(t)
	nested := func(n int, before, after string) string {
		return strings.Repeat(before, n) + "body" + strings.Repeat(after, n)
	}
	for _, text := range []string{
		nested(33, "lower(", ")"), nested(33, "trim(", ")"), nested(33, "substr(", ", 2)"), nested(33, "left(", ", -1)"),
		nested(33, "reverse(", ")"), nested(33, "strip_accents(", ")"), nested(33, "right_grapheme(", ", -1)"),
		nested(33, "regexp_extract(", ", '.(.*)', 1)"), nested(16, "", "[2:]"), nested(1, "split_part(", ", '', 1)"),
		nested(1, "concat("+strings.Repeat("body, ", 31), ")"), nested(1, strings.Repeat("body || ", 6), ""),
		nested(2, "translate(", ", '01', '😀😀')"), nested(1, "json_quote(", ")"),
	} {
		kept(t, first+2*slack)
		storetest.ForgetPeak(t, os.Getpid())
		before, _ := memory(t)
		_, err := s.Query(t.Context(), "select max(length("+text+")) from events",
			store.Limits{Time: time.Minute, Rows: 1, Bytes: 1 << 20})
		if err != nil && !errors.As(err, new(*store.LimitError)) {
			t.Errorf("%.60s: %v", text, err)
		}
		_, peak := memory(t)
		t.Logf("%d MiB, at most %d: %.60s: %v", before, peak, text, err)
		if peak-before > most+slack {
			t.Errorf("%.60s: the process took %d MiB", text, peak-before)
		}
	}
}
