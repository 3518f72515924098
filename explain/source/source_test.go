package source_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/event/eventtest"
	"github.com/ingero-io/ingero/explain/source"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
	"github.com/ingero-io/ingero/store/sqlite/storetest"
)

// writer records calls, one a millisecond.
type writer struct {
	*sqlite.Writer
	t  *testing.T
	at uint64
}

func open(t *testing.T, path string) *writer {
	t.Helper()
	w, err := storetest.OpenWriter(path, sqlite.Options{RawRate: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	return &writer{w, t, uint64(time.Now().UnixNano())}
}

func (w *writer) write(n int) {
	w.t.Helper()
	b := store.Batch{}
	for range n {
		w.at += 1e6
		b.Calls = append(b.Calls, event.Call{
			Start: w.at, Duration: 1000, Thread: event.Thread{PID: 1, TID: 1}, Op: eventtest.Op(w.t, "cudaLaunchKernel"),
		})
	}
	if err := errors.Join(w.Write(&b), w.Flush(context.Background())); err != nil {
		w.t.Fatal(err)
	}
}

func (w *writer) close() {
	w.t.Helper()
	if err := w.Close(); err != nil {
		w.t.Fatal(err)
	}
}

func count(t *testing.T, f *source.File) int64 {
	t.Helper()
	rows, err := f.Query(t.Context(), "select count(*) from cudaLaunchKernel", store.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	if !rows.Next() {
		t.Fatal(rows.Err())
	}
	return rows.Values()[0].(int64)
}

func want(t *testing.T, f *source.File, n int64, when string) {
	t.Helper()
	for range 2 { // by a new connection, and by a kept one
		if got := count(t, f); got != n {
			t.Errorf("%s: %d calls, want %d", when, got, n)
		}
	}
}

// A kept connection never answers from before the file changed.
func TestQueriesSeeWhatChanged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.db")
	f := source.New(path)
	defer f.Close()
	if _, err := f.Query(t.Context(), "select 1", store.Limits{}); err == nil {
		t.Fatal("a missing file answers")
	}
	w := open(t, path)
	for i := range int64(4) {
		w.write(5)
		want(t, f, 5*(i+1), "while it is recorded")
	}
	w.close()
	for _, beside := range []string{"-wal", "-shm"} {
		if _, err := os.Stat(path + beside); err == nil {
			t.Errorf("the finished recording has a file %s beside it", beside)
		}
	}
	want(t, f, 20, "after the recording")
	w = open(t, path)
	w.write(3)
	want(t, f, 23, "while more is recorded")
	w.close()
	want(t, f, 23, "after that")

	other := filepath.Join(t.TempDir(), "other.db")
	w = open(t, other)
	w.write(7)
	w.close()
	old, err := f.Query(t.Context(), "select id from cudaLaunchKernel", store.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	if err := os.Rename(other, path); err != nil {
		t.Fatal(err)
	}
	want(t, f, 7, "after it was replaced")
	n := 0
	for old.Next() {
		n++
	}
	if n != 23 || old.Err() != nil {
		t.Errorf("rows that were being read: %d, %v", n, old.Err())
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Query(t.Context(), "select 1", store.Limits{}); err == nil {
		t.Error("a removed file answers")
	}
}
