package duckdb_test

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ingero-io/ingero/echo/row"
	"github.com/ingero-io/ingero/echo/store"
	"github.com/ingero-io/ingero/echo/store/duckdb"
	"github.com/ingero-io/ingero/internal/servetest"
)

// While the engine is not open, Query waits, for as long as it may take, and then returns ErrAway, as Stats does at
// once; and Stuck is called. If it opens after all, all rows are there.
func TestAnEngineThatDoesNotOpenAgain(t *testing.T) {
	stuck := make(chan error, 1)
	s := open(t, filepath.Join(t.TempDir(), "echo.db"), duckdb.Options{Stuck: func(err error) { stuck <- err }})
	write := func(at int64) {
		t.Helper()
		if w, err := s.Write(t.Context(), gaugesWith(10, at, func(int) string { return "{}" })); err != nil || w.Rows != 10 {
			t.Fatalf("%+v, %v", w, err)
		}
	}
	limits := store.Limits{Time: time.Minute, Rows: 1, Bytes: 1 << 20}
	write(1)
	began, ready, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		s.Reopen(t.Context(), func() { close(began); <-ready }, time.Millisecond)
	}()
	<-began
	if err := <-stuck; err == nil || !strings.Contains(err.Error(), "echo.db is not open again after 1ms") {
		t.Errorf("stuck: %v", err)
	}
	short := limits
	short.Time = 50 * time.Millisecond
	if _, err := s.Query(t.Context(), "select 1", short); !errors.Is(err, store.ErrAway) {
		t.Errorf("a question meanwhile: %v", err)
	}
	waited := make(chan error, 1)
	go func() {
		_, err := s.Query(t.Context(), "select 1", limits)
		waited <- err
	}()
	if _, err := s.Stats(t.Context()); !errors.Is(err, store.ErrAway) {
		t.Errorf("what is kept, meanwhile: %v", err)
	}
	close(ready)
	<-done
	if err := <-waited; err != nil {
		t.Errorf("a question that waited: %v", err)
	}
	write(2)
	r, err := s.Query(t.Context(), "select count(*) from events", limits)
	if err != nil || r.Rows[0][0] != int64(20) {
		t.Errorf("%v, %v", r, err)
	}
	select {
	case err := <-stuck:
		t.Error("stuck again: ", err)
	default:
	}
}

// Each batch leaves something in the engine's memory. Reopening the engine frees it: no question fails, and rows that
// come again are still known.
func TestTheEngineIsReopenedForItsMemory(t *testing.T) {
	var log servetest.Buffer
	s := open(t, filepath.Join(t.TempDir(), "echo.db"), duckdb.Options{
		Memory: 32 << 20, Logger: slog.New(slog.NewTextHandler(&log, nil)),
	})
	ctx, stop := context.WithCancel(t.Context())
	var asking sync.WaitGroup
	defer asking.Wait()
	defer stop()
	limits := store.Limits{Time: time.Minute, Rows: 1, Bytes: 1 << 20}
	for range 2 {
		asking.Go(func() {
			for ctx.Err() == nil {
				_, err := s.Query(ctx, "select max(value_int), count(distinct timestamp_ns) from events", limits)
				if err != nil && ctx.Err() == nil {
					t.Error(err)
				}
			}
		})
	}
	const batch, batches = 10, 700
	rows := func(n int64) []row.Row { return gaugesWith(batch, 1+n, func(int) string { return "{}" }) }
	for n := range int64(batches) {
		if w, err := s.Write(t.Context(), rows(n)); err != nil || w.Rows != batch {
			t.Fatalf("batch %d: %+v, %v", n, w, err)
		}
	}
	stop()
	asking.Wait()
	if n := strings.Count(log.String(), "opened again to free memory"); n != 1 {
		t.Errorf("opened again %d times, want 1:\n%s", n, log.String())
	}
	for _, n := range []int64{0, batches / 2, batches - 1} {
		if w, err := s.Write(t.Context(), rows(n)); err != nil || w.Duplicates != batch {
			t.Errorf("batch %d again: %+v, %v", n, w, err)
		}
	}
	r, err := s.Query(t.Context(), "select count(*) from events", limits)
	if err != nil || r.Rows[0][0] != int64(batch*batches) {
		t.Errorf("%v, %v", r, err)
	}
}
