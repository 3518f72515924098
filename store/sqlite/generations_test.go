package sqlite

import (
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
		want := map[string]int{} // calls by name
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
			if rng.IntN(3) > 0 && told != 0 {
				b := batch()
				b.Lives = append(b.Lives, event.Life{At: at, Kind: event.LifeExit, Thread: worker, Comm: name})
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
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		checkGenerations(t, seed, distinctReader(t, path), want)
	}
}

// checkGenerations compares what each process of a name has with what it made.
func checkGenerations(t *testing.T, seed uint64, r store.Reader, want map[string]int) {
	t.Helper()
	names, calls, own, gaps := map[event.Thread]string{}, map[string]int{}, map[string]int{}, map[string]int{}
	threads, err := r.Threads(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range threads {
		if i.Comm != "" && i.Comm != "engine" {
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
		if o.WakerComm == "" {
			continue
		}
		if n := names[o.Waker]; n != o.WakerComm || len(o.Culprits) != 1 || o.Culprits[0].Thread != o.Waker {
			t.Errorf("seed %d: %v, which is %q, woke as %q; culprits are %v", seed, o.Waker, n, o.WakerComm, o.Culprits)
		}
	}
	stats, err := r.GapStats(t.Context(), store.Window{})
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
	}
	const most = lateTime/1e9 + 2
	if len(d.before[id]) > most || len(d.over) > most {
		t.Errorf("%d threads that had the id, and %d that ended, are kept", len(d.before[id]), len(d.over))
	}
}
