package diagnose_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/diagnose"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
	"github.com/ingero-io/ingero/store/sqlite/storetest"
)

const (
	reusedBase = uint64(1_700_000_000_000_000_000)
	apart      = uint64(1500e9) // the restart comes 25 minutes later
)

// record writes a run of the tracer to a recording.
func record(t *testing.T, path string, from uint64, b *store.Batch) {
	t.Helper()
	now := from
	w, err := storetest.OpenWriter(path, sqlite.Options{
		Session: store.Session{Node: "node", Boot: "boot", Started: from, Arch: "amd64"},
		Now:     func() time.Time { return time.Unix(0, int64(now)) },
	})
	if err != nil {
		t.Fatal(err)
	}
	err = w.Write(b)
	now += 30e9
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

func explained(t *testing.T, path string) *report.Report {
	t.Helper()
	r, err := sqlite.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	rep, err := diagnose.Explain(t.Context(), r, store.Window{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

// job is a run in which a thread of a process waits in each step for a lock that another process's thread holds and
// releases. All ids come from few numbers. Its names have the prefix.
func job(rng *rand.Rand, prefix string, born, from uint64) *store.Batch {
	ids := rng.Perm(6)
	id := func(n int) uint32 { return uint32(1360 + ids[n]) }
	names := []string{prefix + "-engine", prefix + "-saver", prefix + "-other"}
	main := event.Thread{PID: id(0), TID: id(0)}
	holder := event.Thread{PID: id(0), TID: id(1)} // a thread of it, or a process
	if rng.IntN(2) == 0 {
		holder.PID = id(1)
	}
	other := event.Thread{PID: id(2), TID: id(2)}
	b := &store.Batch{}
	for n, th := range []event.Thread{main, holder, other} {
		if th.PID == th.TID {
			b.Processes = append(b.Processes, store.Process{
				PID: th.PID, Name: names[n], Command: names[n], Born: born + uint64(n), Traced: n < 2,
				Rank: -1, LocalRank: -1, WorldSize: -1,
			})
		}
		b.Threads = append(b.Threads, store.ThreadInfo{Thread: th, Comm: names[n], Dispatch: n == 0})
	}
	info, _ := event.ByName("cudaLaunchKernel")
	launch := info.Op
	named, cause := id(1), holder
	if rng.IntN(3) == 0 {
		named, cause = id(3+rng.IntN(3)), other // the word names nobody of this run
	}
	at := from + 1e9
	for range 200 {
		b.Calls = append(b.Calls, event.Call{Start: at, Duration: 5000, Thread: main, Op: launch, GPU: event.NoGPU})
		at += 5000
		wait := event.OffCPU{
			Start: at, Duration: 3e6, Thread: main, Comm: names[0], Class: event.Futex, Futex: 0x7f00, Holder: named,
			Syscall: 202, WakerSyscall: 202, Waker: cause, WakerFutex: 0x7f00, Dispatch: true,
		}
		if cause == other {
			wait.WakerComm = names[2]
		} else {
			wait.WakerComm = names[1]
		}
		b.OffCPU = append(b.OffCPU, wait, event.OffCPU{
			Start: at, Duration: 1e6, Thread: holder, Comm: names[1], Class: event.BlockIO, Syscall: 0, WakerSyscall: -1,
		})
		g := event.Gap{Start: at, Duration: 3.1e6, Thread: main, Next: launch}
		g.Ledger.NS[event.Futex], g.Ledger.Voluntary = 3e6, 1
		b.Gaps = append(b.Gaps, g)
		at += 3.1e6
	}
	for n, th := range []event.Thread{main, holder} {
		b.ThreadTimes = append(b.ThreadTimes,
			event.ThreadTime{At: from + 1e9, Thread: th, Comm: names[n], OnCPU: 1},
			event.ThreadTime{At: at, Thread: th, Comm: names[n], OnCPU: 100e6})
	}
	return b
}

// essence is what a report says of its findings, with times relative to the run's.
func essence(r *report.Report) (list []string) {
	for i := range r.Chains {
		c := &r.Chains[i]
		s := fmt.Sprintf("%s %s/%d/%d <- %s/%d/%d", c.Cause.Kind, c.Effect.Process, c.Effect.PID, c.Effect.TID,
			c.Cause.Process, c.Cause.PID, c.Cause.TID)
		for _, p := range c.Path {
			s += fmt.Sprintf(" | %s/%s/%d/%d %s", p.Process, p.Thread, p.PID, p.TID, p.State)
		}
		list = append(list, s)
	}
	slices.Sort(list)
	return list
}

// Ids of processes and threads are used again by the next run: what is said of a run never has a name of the other,
// and the findings of a recording of both are those of each alone.
func TestReusedIDsAreNeverMixed(t *testing.T) {
	t.Parallel()
	found := 0
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 41))
		first, second := job(rng, "old", 100, reusedBase), job(rng, "new", 90_000, reusedBase+apart)
		dir := t.TempDir()
		var alone []string
		for i, b := range []*store.Batch{first, second} {
			path := filepath.Join(dir, fmt.Sprint(i, ".db"))
			record(t, path, reusedBase+uint64(i)*apart, b)
			alone = append(alone, essence(explained(t, path))...)
		}
		both := filepath.Join(dir, "both.db")
		record(t, both, reusedBase, first)
		record(t, both, reusedBase+apart, second)
		r := explained(t, both)
		for i := range r.Chains {
			text, err := json.Marshal(r.Chains[i])
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(text), "old-") && strings.Contains(string(text), "new-") {
				t.Errorf("seed %d: a finding names processes of two runs: %s", seed, text)
			}
		}
		slices.Sort(alone)
		found += len(alone)
		if got := essence(r); !slices.Equal(got, alone) {
			t.Errorf("seed %d: findings of both:\n%s\nof each alone:\n%s", seed, strings.Join(got, "\n"),
				strings.Join(alone, "\n"))
		}
	}
	if found < 40 {
		t.Errorf("only %d findings were compared", found)
	}
}
