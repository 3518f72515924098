package export_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/ingero-io/ingero/export"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
)

// heapWatch watches how much memory is in use while an export writes.
type heapWatch struct {
	writes int
	most   uint64
}

func (l *heapWatch) Write(b []byte) (int, error) {
	if l.writes++; l.writes%4 == 1 {
		l.measure()
	}
	return len(b), nil
}

// measure counts what is in use now. What a sync.Pool keeps lives through one collection.
func (l *heapWatch) measure() {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	l.most = max(l.most, m.HeapAlloc)
}

// inUse is the most memory that is in use while a recording is exported.
func inUse(t *testing.T, f *export.Format, path string) uint64 {
	t.Helper()
	var before, during heapWatch
	before.measure()
	if err := write(t, f, path, &during); err != nil {
		t.Fatal(err)
	}
	during.measure()
	return during.most - min(before.most, during.most)
}

// watchedRows are rows, of which each so many are looked at.
type watchedRows struct {
	export.Rows
	by *heapWatch
	n  int
}

func (w *watchedRows) Next() bool {
	if w.n++; w.n%(1<<11) == 0 {
		w.by.measure()
	}
	return w.Rows.Next()
}

func write(t *testing.T, f *export.Format, path string, to *heapWatch) error {
	if f.Table != nil {
		rows, err := sqlite.Query(t.Context(), path, "select * from events", store.Limits{Rows: 1 << 50, Bytes: 1 << 50, Time: time.Hour})
		if err != nil {
			return err
		}
		defer rows.Close() // a reader has nothing to lose
		return f.Table(to, &watchedRows{Rows: rows, by: to})
	}
	r, err := sqlite.Open(path)
	if err != nil {
		return err
	}
	defer r.Close() // a reader has nothing to lose
	return f.Write(t.Context(), to, r, export.Options{Progress: func(uint64) { to.measure() }})
}

// What an export needs does not grow with the recording, else ten million events would
// not fit: twice the events need less than half a megabyte more, of the 2 MB or more
// that they would take if each was kept in any form.
func TestMemoryOfAnExportDoesNotGrowWithTheRecording(t *testing.T) {
	const steps, bound = 11_000, 512 << 10
	small := (&made{node: "small", steps: steps, scale: 1}).write(t, t.TempDir())
	large := (&made{node: "large", steps: 2 * steps, scale: 1}).write(t, t.TempDir())
	for i := range export.Formats {
		f := &export.Formats[i]
		a, b := inUse(t, f, small), inUse(t, f, large)
		t.Logf("%s: %d and %d KiB", f.Name, a>>10, b>>10)
		if b > a+bound {
			t.Errorf("%s: %d KiB are in use, and of a recording twice as long %d KiB", f.Name, a>>10, b>>10)
		}
	}
}
