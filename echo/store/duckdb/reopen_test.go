package duckdb_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	engine "github.com/duckdb/duckdb-go/v2"
	"github.com/duckdb/duckdb-go/v2/mapping"

	"github.com/ingero-io/ingero/echo/row"
	"github.com/ingero-io/ingero/echo/store"
	"github.com/ingero-io/ingero/echo/store/duckdb"
	"github.com/ingero-io/ingero/internal/servetest"
)

// While the engine is not open, Query and Stats wait, for as long as they may take, and then return ErrAway; and Stuck
// is called. If it opens after all, all rows are there.
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
		s.Reopen(t.Context(), func() error { close(began); <-ready; return nil }, time.Millisecond)
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
	soon, cancel := context.WithTimeout(t.Context(), short.Time)
	defer cancel()
	if _, err := s.Stats(soon); !errors.Is(err, store.ErrAway) {
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

// If the engine could not be opened again, and nothing is written that would try it, Retain does.
func TestRetainOpensTheEngineAgain(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "echo.db"), duckdb.Options{Patience: 20 * time.Millisecond})
	for at := range int64(2) {
		if _, err := s.Write(t.Context(), gaugesWith(10, 1+at, func(int) string { return "{}" })); err != nil {
			t.Fatal(err)
		}
	}
	failure := errors.New("no disk")
	s.Reopen(t.Context(), func() error { return failure }, time.Minute)
	keep := store.Retention{Age: time.Second}
	if _, err := s.Retain(t.Context(), row.SecondBegins(3), keep); !errors.Is(err, store.ErrAway) {
		t.Fatalf("the engine cannot be opened: %v", err)
	}
	failure = nil
	if n, err := s.Retain(t.Context(), row.SecondBegins(3), keep); err != nil || n != 10 {
		t.Fatalf("%d rows deleted, want 10; %v", n, err)
	}
	r, err := s.Query(t.Context(), "select count(*) from events", store.Limits{Time: time.Minute, Rows: 1, Bytes: 1 << 20})
	if err != nil || r.Rows[0][0] != int64(10) {
		t.Errorf("%v, %v", r, err)
	}
}

// If a question of Retain finds that the engine has given up, it is opened again: it may be that nobody writes.
func TestRetainFindsThatTheEngineGaveUp(t *testing.T) {
	var log servetest.Buffer
	s := open(t, filepath.Join(t.TempDir(), "echo.db"), duckdb.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	for _, c := range []struct {
		err   error
		again int
	}{
		{&engine.Error{Type: engine.ErrorTypeBinder, Msg: "Binder Error: no such table"}, 0},
		{&engine.Error{Type: engine.ErrorTypeFatal, Msg: "FATAL Error: Failed: database has been invalidated"}, 1},
	} {
		if err := s.Look(t.Context(), func(*sql.DB) error { return c.err }); !errors.Is(err, c.err) {
			t.Errorf("%v, want %v", err, c.err)
		}
		if n := strings.Count(log.String(), "opened again"); n != c.again {
			t.Errorf("after %v: opened again %d times, want %d:\n%s", c.err, n, c.again, log.String())
		}
	}
	if _, err := s.Retain(t.Context(), row.SecondBegins(3), store.Retention{Age: time.Second}); err != nil {
		t.Error(err)
	}
}

// Errors of the engine itself are not errors of a statement.
func TestErrorsOfTheEngineItself(t *testing.T) {
	for kind, ofStatement := range map[engine.ErrorType]bool{
		engine.ErrorTypeIO: false, engine.ErrorTypeInternal: false, engine.ErrorTypeFatal: false,
		engine.ErrorTypeBinder: true, engine.ErrorTypeConversion: true, engine.ErrorTypeInvalid: true,
	} {
		failure := &engine.Error{Type: kind, Msg: "it failed"}
		err := duckdb.Ended(t.Context(), failure)
		if errors.As(err, new(*store.StatementError)) != ofStatement || errors.Is(err, failure) == ofStatement {
			t.Errorf("type %d: %T %v", kind, err, err)
		}
	}
}

// A question may end when the engine has prepared it and has not begun to run it. That leaves nothing of the engine in
// this process: it could not be opened again.
func TestAQuestionThatEndsBeforeItRuns(t *testing.T) {
	pending := mapping.PendingPrepared
	t.Cleanup(func() { mapping.PendingPrepared = pending })
	limits := store.Limits{Time: time.Minute, Rows: 1, Bytes: 1 << 20}
	for name, ask := range map[string]func(context.Context, *duckdb.Store) error{
		"check": func(ctx context.Context, s *duckdb.Store) error { return s.Check(ctx, "select 1") },
		"query": func(ctx context.Context, s *duckdb.Store) error {
			_, err := s.Query(ctx, "select count(*) from events", limits)
			return err
		},
		"stats": func(ctx context.Context, s *duckdb.Store) error { _, err := s.Stats(ctx); return err },
	} {
		t.Run(name, func(t *testing.T) {
			stuck, opened := make(chan error, 1), make(chan struct{})
			path := filepath.Join(t.TempDir(), "echo.db")
			s := open(t, path, duckdb.Options{Stuck: func(err error) { stuck <- err }})
			for statement := 1; ; statement++ { // of which the question has several
				ctx, cancel := context.WithCancel(t.Context())
				n := 0
				mapping.PendingPrepared = func(p mapping.PreparedStatement, out *mapping.PendingResult) mapping.State {
					state := pending(p, out)
					if n++; n == statement {
						cancel()
					}
					return state
				}
				err := ask(ctx, s)
				mapping.PendingPrepared = pending
				cancel()
				if n < statement {
					if statement == 1 || err != nil {
						t.Fatalf("%d statements, %v", n, err)
					}
					break
				}
			}
			go func() {
				s.Reopen(t.Context(), func() error { return nil }, 10*time.Second)
				close(opened)
			}()
			select {
			case <-opened:
			case err := <-stuck:
				t.Fatal(err)
			}
			if err := s.Check(t.Context(), "select 1"); err != nil {
				t.Error(err)
			}
		})
	}
}

// While the engine is reopened for its memory, no question fails, and rows that come again are still known.
func TestTheEngineIsReopenedForItsMemory(t *testing.T) {
	var log servetest.Buffer
	s := open(t, filepath.Join(t.TempDir(), "echo.db"), duckdb.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	ctx, stop := context.WithCancel(t.Context())
	var asking sync.WaitGroup
	defer asking.Wait()
	defer stop()
	limits := store.Limits{Time: time.Minute, Rows: 1, Bytes: 1 << 20}
	const question = "select max(value_int), count(distinct timestamp_ns) from events"
	ask := func(f func(context.Context) error) {
		asking.Go(func() {
			for ctx.Err() == nil {
				if err := f(ctx); err != nil && ctx.Err() == nil {
					t.Error(err)
				}
			}
		})
	}
	ask(func(ctx context.Context) error { return s.Check(ctx, question) })
	ask(func(ctx context.Context) error { _, err := s.Query(ctx, question, limits); return err })
	ask(func(ctx context.Context) error { _, err := s.Stats(ctx); return err })
	const batch, batches, reopened = 10, 50, 5
	rows := func(n int64) []row.Row { return gaugesWith(batch, 1+n, func(int) string { return "{}" }) }
	for n := range int64(batches) {
		if n%(batches/reopened) == 0 {
			s.Hold(duckdb.DefaultMemory / 4)
		}
		if w, err := s.Write(t.Context(), rows(n)); err != nil || w.Rows != batch {
			t.Fatalf("batch %d: %+v, %v", n, w, err)
		}
	}
	stop()
	asking.Wait()
	if n := strings.Count(log.String(), "opened again to free memory"); n != reopened {
		t.Errorf("opened again %d times, want %d:\n%s", n, reopened, log.String())
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

// The engine holds memory for batches until it is reopened, about as much as HeldFor returns. If a version of it frees
// that by itself, the store need not reopen it.
func TestTheEngineHoldsMemoryForBatches(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plain.db")
	const size, batches = 2100, 300
	fill := func(db *sql.DB) {
		conn, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := conn.ExecContext(t.Context(), "create table x (i bigint)"); err != nil {
			t.Fatal(err)
		}
		err = conn.Raw(func(c any) error {
			for range batches {
				a, err := engine.NewAppenderFromConn(c.(driver.Conn), "", "x")
				if err != nil {
					return err
				}
				for i := range size {
					if err := a.AppendRow(int64(i)); err != nil {
						return err
					}
				}
				if err := a.Close(); err != nil {
					return err
				}
			}
			return nil
		})
		if err == nil {
			_, err = conn.ExecContext(t.Context(), "checkpoint")
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	// needs returns to how many bytes the engine can reduce its memory.
	needs := func(use func(*sql.DB)) int64 {
		connector, err := engine.NewConnector(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		db := sql.OpenDB(connector)
		defer db.Close()
		use(db)
		for most := int64(64 << 20); most >= 256<<10; most -= 256 << 10 {
			if _, err := db.ExecContext(t.Context(), fmt.Sprintf("set memory_limit = '%d KiB'", most>>10)); err != nil {
				return most
			}
		}
		return 0
	}
	held := needs(fill)
	after := needs(func(db *sql.DB) {
		var n int
		if err := db.QueryRowContext(t.Context(), "select count(i) from x").Scan(&n); err != nil || n != size*batches {
			t.Fatal(n, err)
		}
	})
	want := duckdb.HeldFor(size * batches)
	t.Logf("%d bytes, %d after reopening; %d expected", held, after, want)
	if held-after < want/2 || held-after > want*3/2 {
		t.Errorf("reopening the engine freed %d bytes, about %d were expected", held-after, want)
	}
}
