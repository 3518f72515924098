package sqlite

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// reuseSession is a run of the tracer on a recording.
func reuseSession(t *testing.T, path string, from uint64, batches ...*store.Batch) {
	t.Helper()
	now := from
	w, err := OpenWriter(path, Options{
		Session: store.Session{Node: "n", Boot: "b", Started: from}, Now: func() time.Time { return time.Unix(0, int64(now)) },
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range batches {
		if err := w.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	now += 10e9
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// distinctReader reads a recording with an id for each user of a pid or tid.
func distinctReader(t *testing.T, path string) store.Reader {
	t.Helper()
	r, err := OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	d, err := r.Distinct(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func waitOf(th event.Thread, comm string, at uint64, holder uint32) event.OffCPU {
	return event.OffCPU{
		Start: at, Duration: 5e6, Thread: th, Comm: comm, Class: event.Futex, Futex: 0x1000, Holder: holder,
		Syscall: -1, WakerSyscall: -1,
	}
}

func waitsIn(t *testing.T, r store.Reader) (list []event.OffCPU) {
	t.Helper()
	err := r.OffCPU(context.Background(), store.Window{}, func(o *event.OffCPU) bool {
		list = append(list, *o)
		list[len(list)-1].Culprits = slices.Clone(o.Culprits)
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

const reuseBase = 1_700_000_000_000_000_000

// The example of the row in the issue: the lock word names a thread whose id a process of an earlier session had.
func TestHolderIsNotOfAnEarlierSession(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.db")
	churn, engine := event.Thread{PID: 1364, TID: 1364}, event.Thread{PID: 2000, TID: 2000}
	reuseSession(t, path, reuseBase, &store.Batch{Tables: store.Tables{
		Processes: []store.Process{{PID: 1364, Name: "churn", Born: 7}},
		Records:   event.Records{OffCPU: []event.OffCPU{waitOf(churn, "churn", reuseBase+1e9, 0)}},
	}})
	reuseSession(t, path, reuseBase+1500e9, &store.Batch{Tables: store.Tables{
		Processes: []store.Process{{PID: 2000, Name: "engine", Born: 99}},
		Records: event.Records{OffCPU: []event.OffCPU{
			waitOf(engine, "engine", reuseBase+1501e9, 1364),
			waitOf(event.Thread{PID: 2000, TID: 2001}, "loader", reuseBase+1502e9, 0),
			waitOf(event.Thread{PID: 2000, TID: 1364}, "saver", reuseBase+1503e9, 0),
		}},
	}})
	d := distinctReader(t, path)
	waits := waitsIn(t, d)
	old, now := waits[0].Thread, waits[3].Thread
	if event.KernelID(old.PID) != 1364 || old.TID == now.TID || now != (event.Thread{PID: 2000, TID: 1364}) {
		t.Errorf("the old process is %v, the new thread %v", old, now)
	}
	if waits[1].Holder != now.TID {
		t.Errorf("the holder is %d; want the thread of its own session, %d", waits[1].Holder, now.TID)
	}
}

// The kernel reports no end of an untraced process. The agent says when it notices that another process has the id.
func TestAReusedIDOfAnUntracedProcessIsOfTwo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.db")
	waiter, culprit := event.Thread{PID: 10, TID: 10}, event.Thread{PID: 20, TID: 20}
	batch := func(at uint64, name string) *store.Batch {
		wait := waitOf(waiter, "waits", at, 0)
		wait.Culprits = []event.Culprit{{Thread: culprit, Comm: name, NS: 5}}
		return &store.Batch{Tables: store.Tables{
			Processes: []store.Process{{PID: 20, Name: name}},
			Records:   event.Records{OffCPU: []event.OffCPU{wait}},
		}}
	}
	later := batch(reuseBase+3e9, "after")
	later.Reused = []store.Reuse{{PID: 20, At: reuseBase + 2e9}}
	reuseSession(t, path, reuseBase, batch(reuseBase+1e9, "before"), later, batch(reuseBase+4e9, "after"))
	d := distinctReader(t, path)
	var who []event.Culprit
	for _, o := range waitsIn(t, d) {
		who = append(who, o.Culprits...)
	}
	if len(who) != 3 || who[0].PID == who[1].PID || who[1].PID != who[2].PID || who[1].PID != 20 {
		t.Errorf("culprits are %+v", who)
	}
	list, err := store.List[store.Process](t.Context(), d, store.Window{})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range list {
		if p.PID == who[0].PID && p.Name == "after" {
			t.Errorf("the first one has the name of the second: %+v", p)
		}
	}
}

// Who had an id is found out once. A process that gets it later, while a reader reads, is none of those.
func TestProcessesThatComeWhileOneReadsAreNobodyKnown(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.db")
	const tick = 10_000_000 // ns
	waiter := event.Thread{PID: 10, TID: 10}
	batch := func(at uint64, pid uint32, name string, born uint64) *store.Batch {
		wait := waitOf(waiter, "waits", at, 0)
		wait.Culprits = []event.Culprit{{Thread: event.Thread{PID: pid, TID: pid}, Comm: name, NS: 5, Born: born * tick}}
		return &store.Batch{Tables: store.Tables{
			Processes: []store.Process{{PID: pid, Name: name, Born: born}},
			Records:   event.Records{OffCPU: []event.OffCPU{wait}},
		}}
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	w, err := OpenWriter(path, Options{
		Session: store.Session{Node: "n", Boot: "b", Started: reuseBase, Booted: reuseBase - 100e9},
	})
	must(err)
	defer w.Close()
	write := func(b *store.Batch, reused ...uint32) {
		t.Helper()
		for _, pid := range reused {
			b.Reused = append(b.Reused, store.Reuse{PID: pid, At: b.OffCPU[0].Start - 5e8})
		}
		must(w.Write(b))
		must(w.Flush(t.Context()))
	}
	write(batch(reuseBase+1e9, 20, "first", 100))
	write(batch(reuseBase+2e9, 20, "second", 200), 20)
	write(batch(reuseBase+3e9, 30, "other", 150))
	d := distinctReader(t, path)
	write(batch(reuseBase+4e9, 20, "late", 400), 20)
	write(batch(reuseBase+5e9, 30, "later", 500), 30)
	write(batch(reuseBase+6e9, 40, "new", 600))

	list, err := store.List[store.Process](t.Context(), d, store.Window{})
	must(err)
	for _, p := range list {
		if want := map[uint32]string{20: "second", 30: "other"}[p.PID]; want != "" && p.Name != want && p.Name != "" {
			t.Errorf("process %d is %q, and was %q", p.PID, p.Name, want)
		}
	}
	who := map[uint32]string{}
	for _, o := range waitsIn(t, d) {
		c := o.Culprits[0]
		if name, ok := who[c.PID]; ok && name != c.Comm {
			t.Errorf("%s and %s are one process, %d", name, c.Comm, c.PID)
		}
		who[c.PID] = c.Comm
	}
	if who[20] != "second" || who[30] == "" {
		t.Errorf("culprits %v", who)
	}
}

// A process that gets an id while one reads is nobody known, and has no name of an earlier session's.
func TestProcessesThatComeWhileOneReadsHaveNoNameOfAnEarlierSession(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.db")
	const tick = 10_000_000 // ns
	batch := func(at uint64, name string, born uint64) *store.Batch {
		wait := waitOf(event.Thread{PID: 10, TID: 10}, "waits", at, 0)
		wait.Culprits = []event.Culprit{{Thread: event.Thread{PID: 20, TID: 20}, Comm: name, NS: 5, Born: born * tick}}
		return &store.Batch{Tables: store.Tables{
			Processes: []store.Process{{PID: 20, Name: name, Born: born}},
			Records:   event.Records{OffCPU: []event.OffCPU{wait}},
		}}
	}
	over := &store.Batch{Reused: []store.Reuse{{PID: 20, At: reuseBase + 2e9}}} // nobody had the id after it
	reuseSession(t, path, reuseBase, batch(reuseBase+1e9, "before", 100), over)
	w, err := OpenWriter(path, Options{
		Session: store.Session{Node: "n", Boot: "b", Started: reuseBase + 100e9, Booted: reuseBase - 100e9},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	write := func(b *store.Batch, at uint64) {
		t.Helper()
		if at != 0 {
			b.Reused = append(b.Reused, store.Reuse{PID: 20, At: at})
		}
		if err := errors.Join(w.Write(b), w.Flush(t.Context())); err != nil {
			t.Fatal(err)
		}
	}
	write(batch(reuseBase+101e9, "known", 20_100), 0)
	d := distinctReader(t, path)
	write(batch(reuseBase+103e9, "late", 20_300), reuseBase+102e9)

	names := map[string]uint32{}
	for _, o := range waitsIn(t, d) {
		names[o.Culprits[0].Comm] = o.Culprits[0].PID
	}
	if len(names) != 3 || names["late"] == names["known"] || names["late"] == names["before"] {
		t.Fatalf("culprits %v", names)
	}
	list, err := store.List[store.Process](t.Context(), d, store.Window{})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range list {
		for name, pid := range names {
			if p.PID == pid && p.Name != "" && p.Name != name {
				t.Errorf("%q (%#x) has the name of another one: %+v", name, pid, p)
			}
		}
	}
}

// A worker that was forked after the thread that waits for it fell silent is one process, not two.
func TestWhoKeepsASilentThreadMayBeYoungerThanTheSilence(t *testing.T) {
	const t0 = 1_700_000_000_000_000_000
	path := filepath.Join(t.TempDir(), "r.db")
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	w, err := OpenWriter(path, Options{Session: store.Session{Node: "n", Boot: "b", Started: t0, Booted: t0 - 100e9}})
	check(err)
	engine, worker := event.Thread{PID: 10, TID: 10}, event.Thread{PID: 20, TID: 20}
	check(w.Write(&store.Batch{Tables: store.Tables{
		Processes: []store.Process{{PID: 20, Name: "worker", Born: 10_300}},
		Records: event.Records{Lives: []event.Life{
			{At: t0 + 3e9, Kind: event.LifeFork, Thread: worker, Parent: engine, Comm: "engine"},
		}},
	}}))
	check(w.Write(&store.Batch{Tables: store.Tables{InFlight: []event.InFlight{
		{
			At: t0 + 9e9, Start: t0 + 2e9, Thread: engine, Comm: "engine", Silent: true, Doing: event.Blocked,
			Class: event.Pipe, Peer: worker, PeerComm: "worker", GPU: event.NoGPU, Syscall: -1,
		},
		{
			At: t0 + 9e9, Start: t0 + 2e9, Thread: worker, Comm: "worker", Stuck: true, Doing: event.Blocked,
			Class: event.Futex, GPU: event.NoGPU, Syscall: -1,
		},
	}}}))
	check(w.Close())
	list, err := store.List[event.InFlight](t.Context(), distinctReader(t, path), store.Window{})
	check(err)
	for i := range list {
		if f := &list[i]; f.Silent && f.Peer != worker || !f.Silent && f.Thread != worker {
			t.Errorf("%+v is of another process than %v", f, worker)
		}
	}
	if len(list) != 2 {
		t.Errorf("%d threads, want two", len(list))
	}
}
