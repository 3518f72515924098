package sqlite

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// A tracer of a machine records for months. What it keeps in memory of what it wrote does not grow with that.
func TestLittleIsKeptInMemoryOfWhatWasWritten(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "r.db")
	w, err := OpenWriter(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	write := func(b *store.Batch) {
		t.Helper()
		if err := w.Write(b); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	stack := func(n int) event.Stack {
		return event.Stack{
			ID: uint64(n + 1), PID: 7, Frames: []event.Frame{{Kind: event.FrameNative, Addr: uint64(n), Symbol: "f"}},
		}
	}
	const more, each = 4 * knownStacks, 1 << 12
	for n := 0; n < more; n += each {
		b := &store.Batch{}
		for i := range each {
			id := event.Thread{PID: uint32(n+i) + 1, TID: uint32(n+i) + 1}
			b.Stacks = append(b.Stacks, stack(n+i))
			b.Threads = append(b.Threads, store.ThreadInfo{Thread: id, Comm: "waker"})
			b.Processes = append(b.Processes, store.Process{PID: id.PID, Name: "waker", Cgroup: fmt.Sprintf("/pod%d", id.PID)})
		}
		write(b)
	}
	s, f := len(w.stacks.ids), len(w.frames.ids)+len(w.frames.older)
	if s > knownStacks+each || f > 2*(knownFrames+each) || len(w.framed) > s {
		t.Errorf("%d stacks, %d frames and %d with frames are known", s, f, len(w.framed))
	}
	if n := len(w.cgroups.ids) + len(w.cgroups.older); n > 2*(knownCgroups+each) {
		t.Errorf("%d control groups are known", n)
	}
	for range unusedCommits + trimEvery + 1 { // seconds later
		write(&store.Batch{Tables: store.Tables{Threads: []store.ThreadInfo{{Thread: event.Thread{PID: 1, TID: 1}, Comm: "waker"}}}})
	}
	if n := len(w.threads.now); n != 1 || len(w.procs) > keptProcesses+each {
		t.Errorf("%d threads and %d processes are known", n, len(w.procs))
	}

	// What is not known any more is one with what is in the file.
	b := &store.Batch{Stacks: []event.Stack{stack(5)}}
	b.Processes = []store.Process{{PID: 6, Name: "another name"}}
	b.Calls = []event.Call{{
		Start: 1e18, Duration: 5e6, Thread: event.Thread{PID: 6, TID: 6}, Op: 1, Stack: stack(5).ID, Ret: 1,
	}}
	write(b)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	got, err := r.Stack(t.Context(), stack(5).ID)
	if err != nil || len(got.Frames) != 1 || got.Frames[0].Addr != 5 {
		t.Errorf("the stack is %+v, %v", got, err)
	}
	list, err := store.List[store.Process](t.Context(), r, store.Window{})
	if err != nil {
		t.Fatal(err)
	}
	names := map[uint32]string{}
	for _, p := range list {
		names[p.PID] = p.Name
	}
	if len(list) != more || names[6] != "another name" || names[7] != "waker" {
		t.Errorf("%d processes, %q and %q", len(list), names[6], names[7])
	}
}

// What is used again and again keeps its id, whatever else comes.
func TestValuesThatAreUsedKeepTheirIDs(t *testing.T) {
	t.Parallel()
	d := newDictionary[int](0)
	used := d.id(-1)
	for n := range 10_000 {
		first := d.id(n)
		if got := d.id(-1); got != used || d.id(n) != first {
			t.Fatalf("after %d others the value has the id %d, had %d", n, got, used)
		}
		d.fresh = d.fresh[:0]
		d.shed(100)
		if len(d.ids)+len(d.older) > 202 {
			t.Fatalf("%d and %d values are known", len(d.ids), len(d.older))
		}
	}
}
