package sqlite

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// A tracer that explains the last seconds does not read who came and went in the hours before.
func TestAReaderForShortWindowsReadsFewRows(t *testing.T) {
	const (
		gone  = 3 * newestThreads
		old   = 7     // it was there before them, and makes calls
		waker = 8     // so was it, and it makes none, but wakes the other one
		last  = 5_000 // an id that was used before, too
	)
	path := filepath.Join(t.TempDir(), "r.db")
	w, err := OpenWriter(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	thread := func(pid uint32) event.Thread { return event.Thread{PID: pid, TID: pid} }
	at := uint64(reuseBase)
	write := func(b *store.Batch) {
		t.Helper()
		if err := w.Write(b); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	describe := func(b *store.Batch, pid uint32, name string) {
		b.Threads = append(b.Threads, store.ThreadInfo{Thread: thread(pid), Comm: name})
		b.Processes = append(b.Processes, store.Process{PID: pid, Name: name, Rank: -1, LocalRank: -1, WorldSize: -1})
		b.Libraries = append(b.Libraries, store.Library{PID: pid, Path: "/lib/libcudart.so.12", Name: "libcudart.so.12"})
		b.Settings = append(b.Settings, store.Setting{At: at, PID: pid, Name: "OMP_NUM_THREADS", Value: name})
	}
	b := &store.Batch{}
	describe(b, old, "trainer")
	describe(b, waker, "waker")
	b.Settings = append(b.Settings, store.Setting{At: at, Name: "clock_source", Value: "tsc"})
	write(b)
	b = &store.Batch{}
	for n := range uint32(gone) {
		describe(b, 10_000+n, fmt.Sprint("gone-", n))
		if n%512 == 0 || n == gone-1 {
			write(b)
			b = &store.Batch{}
		}
	}
	at += 3600 * 1e9
	b = &store.Batch{}
	describe(b, last, "late")
	b.Calls = append(b.Calls, event.Call{
		Start: at, Duration: 5e6, Thread: thread(old), Op: 1, GPU: event.NoGPU, Ret: 1, Weight: 1,
	})
	b.OffCPU = append(b.OffCPU, event.OffCPU{
		Start: at + 1e6, Duration: 3e6, Thread: thread(old), Class: event.Futex, Syscall: 202,
		Waker: thread(waker), WakerComm: "waker", WakerSyscall: -1,
	})
	write(b)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := OpenReaderWithin(path, 48<<20)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	window := store.Window{From: at - 5e9}
	if err := r.OffCPU(t.Context(), window, func(o *event.OffCPU) bool {
		if o.PID != old || o.Waker != thread(waker) {
			t.Errorf("wait %+v", o)
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	var all store.Tables
	if err := r.Tables(t.Context(), window, &all); err != nil {
		t.Fatal(err)
	}
	names := map[uint32]string{}
	for _, p := range all.Processes {
		names[p.PID] = p.Name
	}
	if names[old] != "trainer" || names[waker] != "waker" || names[last] != "late" {
		t.Errorf("processes are called %q, %q and %q", names[old], names[waker], names[last])
	}
	has := func(pid uint32) bool {
		return slices.ContainsFunc(all.Threads, func(i store.ThreadInfo) bool { return i.PID == pid })
	}
	if !has(old) || !has(waker) || !has(last) || has(10_000) {
		t.Errorf("threads %v, %v, %v and %v", has(old), has(waker), has(last), has(10_000))
	}
	for what, n := range map[string]int{
		"threads": len(all.Threads), "processes": len(all.Processes), "libraries": len(all.Libraries),
		"settings": len(all.Settings),
	} {
		if n < 3 || n > newestThreads+8 {
			t.Errorf("%d %s are read of %d", n, what, gone+3)
		}
	}
	d, err := r.Distinct(t.Context())
	if err != nil || d != store.Reader(r) {
		t.Errorf("its ids are looked up in all of the recording: %v", err)
	}
}
