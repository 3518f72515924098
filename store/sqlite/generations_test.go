package sqlite

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

const generationOp = event.Op(1)

// tool is the name of programs that are not traced.
const tool = "tool"

// Several processes have one id, one after the other, within what is read at once: each record is of the one that had
// the id at that time, by whatever the kernel reported of their ends and starts, and however batches divide them.
func TestRecordsAreOfTheThreadThatHadTheIDThen(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 41))
		var batches []*store.Batch
		batch := func() *store.Batch {
			if len(batches) == 0 || rng.IntN(4) == 0 {
				batches = append(batches, &store.Batch{})
			}
			return batches[len(batches)-1]
		}
		want := map[string]int{}  // calls by name
		tools := map[uint64]int{} // after which worker, by time
		worker := event.Thread{PID: 3000, TID: 3000}
		engine := event.Thread{PID: 2000, TID: 2000}
		at := uint64(reuseBase)
		for n := range 4 {
			name := fmt.Sprintf("worker-%d", n)
			b := batch()
			fork, told := at+10e6, rng.IntN(3)
			switch {
			case n == 0:
			case told == 0: // its start was lost, and so was the end of the one before
				b.Reused = append(b.Reused, store.Reuse{PID: worker.PID, At: fork})
			default:
				b.Lives = append(b.Lives, event.Life{At: fork, Kind: event.LifeFork, Thread: worker, Parent: engine, Comm: name})
			}
			b.Threads = append(b.Threads, store.ThreadInfo{Thread: worker, Comm: name, At: fork})
			b.Processes = append(b.Processes, store.Process{PID: worker.PID, Name: name})
			at = fork
			for range 1 + rng.IntN(5) {
				at += uint64(1e6 + rng.IntN(400e6))
				b := batch()
				b.Calls = append(b.Calls, event.Call{Start: at, Duration: 1000, Thread: worker, Op: generationOp, GPU: event.NoGPU})
				b.Calls = append(b.Calls, event.Call{Start: at, Duration: 1000, Thread: engine, Op: generationOp, GPU: event.NoGPU})
				b.OffCPU = append(b.OffCPU, waitOf(worker, name, at+1000, 0))
				by := waitOf(engine, "engine", at+1000, 0)
				by.Waker, by.WakerComm = worker, name
				by.Culprits = []event.Culprit{{Thread: worker, Comm: name, NS: 1000}}
				b.OffCPU = append(b.OffCPU, by)
				b.Gaps = append(b.Gaps, event.Gap{Start: at + 1000, Duration: 5e6, Thread: worker, Next: generationOp})
				want[name]++
				if rng.IntN(2) == 0 { // a thread of it, of which no end is reported
					of := event.Thread{PID: worker.PID, TID: worker.TID + 1 + uint32(rng.IntN(2))}
					b.OffCPU = append(b.OffCPU, waitOf(of, "thread of "+name, at+2000, 0))
				}
			}
			at += 10e6
			if rng.IntN(3) == 0 { // what is read at once reaches far back, as after a full disk
				at += uint64(rng.IntN(90e9))
			}
			if rng.IntN(3) > 0 && told != 0 {
				b := batch()
				b.Lives = append(b.Lives, event.Life{At: at, Kind: event.LifeExit, Thread: worker, Comm: name})
				// Programs that are not traced have the id then: all that is known of them is what others say.
				for range rng.IntN(3) {
					at += 2*endSlack + uint64(rng.IntN(1e9))
					by := waitOf(engine, "engine", at, 0)
					by.Waker, by.WakerComm = worker, tool
					by.Culprits = []event.Culprit{{Thread: worker, Comm: tool, NS: 1000}}
					b := batch()
					b.OffCPU = append(b.OffCPU, by)
					tools[at] = n
				}
				at += endSlack
			}
		}
		path := filepath.Join(t.TempDir(), "r.db")
		w, err := OpenWriter(path, Options{Session: store.Session{Node: "n", Boot: "b", Started: reuseBase}})
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range batches {
			if err := w.Write(b); err != nil {
				t.Fatal(err)
			}
			if rng.IntN(3) == 0 {
				if err := w.Flush(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		r := distinctReader(t, path)
		checkGenerations(t, seed, r, want)
		checkTools(t, seed, r, tools)
	}
}

// checkGenerations compares what each process of a name has with what it made.
func checkGenerations(t *testing.T, seed uint64, r store.Reader, want map[string]int) {
	t.Helper()
	names, calls, own, gaps := map[event.Thread]string{}, map[string]int{}, map[string]int{}, map[string]int{}
	threads, err := store.List[store.ThreadInfo](t.Context(), r, store.Window{})
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range threads {
		if i.Comm != "" && i.Comm != "engine" && i.Comm != tool {
			if was := names[i.Thread]; was != "" {
				t.Errorf("seed %d: %v is %s and %s", seed, i.Thread, was, i.Comm)
			}
			names[i.Thread] = i.Comm
		}
	}
	series, err := r.OpSeries(t.Context(), store.Window{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i := range series {
		calls[names[series[i].Thread]] += int(series[i].Calls)
	}
	for _, o := range waitsIn(t, r) {
		if of, ok := strings.CutPrefix(names[o.Thread], "thread of "); ok {
			if n := names[event.Thread{PID: o.PID, TID: o.PID}]; n != of {
				t.Errorf("seed %d: %v, a thread of %s, is one of %q", seed, o.Thread, of, n)
			}
			continue
		}
		own[names[o.Thread]]++
		if o.WakerComm == "" || o.WakerComm == tool {
			continue
		}
		if n := names[o.Waker]; n != o.WakerComm || len(o.Culprits) != 1 || o.Culprits[0].Thread != o.Waker {
			t.Errorf("seed %d: %v, which is %q, woke as %q; culprits are %v", seed, o.Waker, n, o.WakerComm, o.Culprits)
		}
	}
	stats, err := store.List[store.GapStat](t.Context(), r, store.Window{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range stats {
		gaps[names[stats[i].Thread]] += int(stats[i].Gaps)
	}
	for name, n := range want {
		if calls[name] != n || own[name] != n || gaps[name] != n {
			t.Errorf("seed %d: %s has %d calls, %d waits, %d gaps; want %d", seed, name, calls[name], own[name], gaps[name], n)
		}
	}
	for id, name := range names {
		if id.PID != id.TID && !strings.HasPrefix(name, "thread of ") {
			t.Errorf("seed %d: %v is %q", seed, id, name)
		}
	}
	if !slices.Equal(slices.Sorted(maps.Keys(want)), mains(names)) {
		t.Errorf("seed %d: threads are %v; want those of %v", seed, names, want)
	}
}

// checkTools compares the ids of programs that are not traced: they differ if a worker had the kernel's id meanwhile.
func checkTools(t *testing.T, seed uint64, r store.Reader, want map[uint64]int) {
	t.Helper()
	found := 0
	ids := map[event.Thread]int{}
	for _, o := range waitsIn(t, r) {
		if o.WakerComm != tool {
			continue
		}
		found++
		if len(o.Culprits) != 1 || o.Culprits[0].Thread != o.Waker || o.Culprits[0].Comm != tool {
			t.Errorf("seed %d: %v woke; culprits are %v", seed, o.Waker, o.Culprits)
		}
		after := want[o.Start]
		if n, ok := ids[o.Waker]; ok && n != after {
			t.Errorf("seed %d: %v is the tool after worker %d and after %d", seed, o.Waker, n, after)
		}
		ids[o.Waker] = after
	}
	if found != len(want) {
		t.Errorf("seed %d: tools are in %d waits; want %d", seed, found, len(want))
	}
}

// mains are the names of processes.
func mains(names map[event.Thread]string) (list []string) {
	for id, name := range names {
		if id.PID == id.TID {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

// Of processes whose ends nobody reports, too, only those are kept of which records may still come.
func TestThreadsWhoseIDsOthersHaveAreForgotten(t *testing.T) {
	d, id := newThreads(0), event.Thread{PID: 7, TID: 7}
	for n := range uint64(1000) {
		d.begin(id, reuseBase+n*1e9, reuseBase+n*1e9)
		d.get(id, "short", reuseBase+n*1e9+1)
		d.committed()
	}
	const most = lateTime/1e9 + 2
	if len(d.before[id]) > most || len(d.over) > most {
		t.Errorf("%d threads that had the id, and %d that ended, are kept", len(d.before[id]), len(d.over))
	}
}

// Of programs that are not traced, the kernel's records say when each began. They differ by that: also if several have
// the id within one wait, if nobody knows their ends, and if only a thread of one is ever seen.
func TestProcessesWithOneIDDifferByTheirStart(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 43))
		main, engine := event.Thread{PID: 3000, TID: 3000}, event.Thread{PID: 2000, TID: 2000}
		const booted = reuseBase - 100e9
		var waits []event.OffCPU
		at := uint64(reuseBase)
		for n := range 6 {
			born := at
			for range 1 + rng.IntN(4) {
				at += uint64(1e6 + rng.IntN(300e6))
				who, comm := main, fmt.Sprintf("program-%d", n)
				if rng.IntN(3) == 0 {
					who.TID, comm = who.TID+1, fmt.Sprintf("thread-%d", n)
				}
				o := waitOf(engine, "engine", at, 0)
				o.Duration = uint64(1 + rng.IntN(2e9)) // it may end long after the program
				o.Waker, o.WakerComm, o.WakerBorn = who, comm, born-booted
				o.Culprits = []event.Culprit{{Thread: who, Comm: comm, NS: 1000, Born: born - booted}}
				waits = append(waits, o)
			}
			at += uint64(30e6 + rng.IntN(2e9))
		}
		slices.SortFunc(waits, func(a, b event.OffCPU) int { return cmp.Compare(a.Start+a.Duration, b.Start+b.Duration) })
		path := filepath.Join(t.TempDir(), "r.db")
		session := store.Session{Node: "n", Boot: "b", Started: reuseBase, Booted: booted}
		w, err := OpenWriter(path, Options{Session: session})
		if err != nil {
			t.Fatal(err)
		}
		for len(waits) > 0 {
			if rng.IntN(3) == 0 { // another tracer goes on
				session.Started = waits[0].Start
				if err := w.Close(); err != nil {
					t.Fatal(err)
				}
				if w, err = OpenWriter(path, Options{Session: session}); err != nil {
					t.Fatal(err)
				}
			}
			n := 1 + rng.IntN(len(waits))
			b := &store.Batch{}
			b.OffCPU = waits[:n]
			if err := w.Write(b); err != nil {
				t.Fatal(err)
			}
			waits = waits[n:]
			if err := w.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		numbers, ids := map[uint32]string{}, map[string]uint32{}
		for _, o := range waitsIn(t, distinctReader(t, path)) {
			_, n, _ := strings.Cut(o.WakerComm, "-")
			if was, ok := numbers[o.Waker.PID]; ok && was != n {
				t.Errorf("seed %d: program %s and program %s have the id %d", seed, was, n, o.Waker.PID)
			}
			if was, ok := ids[n]; ok && was != o.Waker.PID {
				t.Errorf("seed %d: program %s has the ids %d and %d", seed, n, was, o.Waker.PID)
			}
			if len(o.Culprits) != 1 || o.Culprits[0].Thread != o.Waker || o.Culprits[0].Comm != o.WakerComm {
				t.Errorf("seed %d: %v, %q, woke; culprits are %v", seed, o.Waker, o.WakerComm, o.Culprits)
			}
			numbers[o.Waker.PID], ids[n] = n, o.Waker.PID
		}
		if len(ids) != 6 {
			t.Errorf("seed %d: %d programs, want 6", seed, len(ids))
		}
	}
}
