package sqlite

import (
	"errors"
	"path/filepath"
	"runtime/debug"
	"testing"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// A tracer diagnoses what it records while it records. Calls that fail in a loop must not fill its memory.
func TestAReaderWithinABoundKeepsNoMore(t *testing.T) {
	const calls = 200_000
	path := filepath.Join(t.TempDir(), "r.db")
	w, err := OpenWriter(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	b := &store.Batch{}
	for n := range uint64(calls) {
		b.Calls = append(b.Calls, event.Call{
			Start: reuseBase + n*1000, Duration: 500, Thread: event.Thread{PID: 7, TID: 7}, Op: 1, Ret: 1, GPU: event.NoGPU,
		})
	}
	if err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	b = nil
	read := func(r *Reader) (list []event.Call, err error) {
		err = r.NotableCalls(t.Context(), store.Window{}, func(c *event.Call) bool {
			list = append(list, *c)
			return true
		})
		return list, err
	}
	debug.FreeOSMemory()
	const most = 8 << 20
	bounded, err := OpenReaderWithin(path, most)
	if err != nil {
		t.Fatal(err)
	}
	defer bounded.Close()
	if list, err := read(bounded); !errors.Is(err, store.ErrTooMuch) || len(list) == 0 || len(list) == calls {
		t.Errorf("%d calls were kept within %d bytes: %v", len(list), most, err)
	}
	r, err := OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if list, err := read(r); err != nil || len(list) != calls {
		t.Errorf("%d calls of %d: %v", len(list), calls, err)
	}
}
