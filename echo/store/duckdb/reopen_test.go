package duckdb_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ingero-io/ingero/echo/store"
	"github.com/ingero-io/ingero/echo/store/duckdb"
)

// While the engine is not open, Query and Stats return ErrAway, and Stuck is called. If it opens after all, all rows
// are there.
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
	if _, err := s.Query(t.Context(), "select 1", limits); !errors.Is(err, store.ErrAway) {
		t.Errorf("a question meanwhile: %v", err)
	}
	if _, err := s.Stats(t.Context()); !errors.Is(err, store.ErrAway) {
		t.Errorf("what is kept, meanwhile: %v", err)
	}
	close(ready)
	<-done
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
