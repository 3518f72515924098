package main

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
	recording "github.com/ingero-io/ingero/store/sqlite"
)

// cmdMkdb makes a database: mkdb KIND FILE. The kinds are incident (a hog takes
// the CPU of the launching thread; ended just now), saved (the same, in January
// 2026), ranks (two of a job; each wait of rank 1 is half as long again), empty (a
// recording without events), newer, foreign, and earlier (of Ingero 0.8).
func cmdMkdb(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: mkdb KIND FILE")
	}
	path := ts.MkAbs(args[1])
	switch args[0] {
	case "incident":
		ts.Check(writeIncident(path, time.Now().Add(-incidentLength)))
	case "saved":
		ts.Check(writeIncident(path, time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)))
	case "ranks":
		ts.Check(writeRanks(path, time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)))
	case "empty":
		ts.Check(writeBatch(path, time.Now(), &store.Batch{}))
	case "newer":
		ts.Check(writeBatch(path, time.Now(), &store.Batch{}))
		ts.Check(script(path, "pragma user_version = 9999"))
	case "earlier":
		sql, err := os.ReadFile("../../store/sqlite/testdata/earlier_0.8.sql")
		ts.Check(err)
		ts.Check(script(path, string(sql)))
	case "foreign":
		ts.Check(script(path, "create table t (a); insert into t values (1)"))
	default:
		ts.Fatalf("unknown kind %q", args[0])
	}
}

// cmdTear keeps the first bytes of a file: tear FILE BYTES.
func cmdTear(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	ts.Check(os.Truncate(ts.MkAbs(args[0]), n))
}

func script(path, sql string) error {
	c, err := sqlite.OpenConn(path, sqlite.OpenReadWrite, sqlite.OpenCreate)
	if err != nil {
		return err
	}
	defer c.Close()
	return sqlitex.ExecuteScript(c, sql, nil)
}

func writeBatch(path string, at time.Time, b *store.Batch) error {
	w, err := recording.OpenWriter(path, recording.Options{
		Session: store.Session{Started: uint64(at.UnixNano()), Node: "test", Version: "test", CPUs: 2, Backend: "multi"},
		Seed:    1,
		Now:     func() time.Time { return at },
	})
	if err != nil {
		return err
	}
	if err := w.Write(b); err != nil {
		return err
	}
	return w.Close()
}

// incidentLength is how long an incident takes.
const incidentLength = 10 * time.Second

// writeIncident records a launch each millisecond. Every 100 ms one takes 20 ms
// more, because another process has the CPU.
func writeIncident(path string, at time.Time) error {
	main := event.Thread{PID: 100, TID: 100}
	hog := event.Thread{PID: 200, TID: 200}
	launch, ok := event.ByName("cudaLaunchKernel")
	if !ok {
		return fmt.Errorf("no such operation")
	}
	const usual, wait = 5_000, 20_000_000
	b := &store.Batch{Tables: store.Tables{
		Processes: []store.Process{
			{PID: main.PID, Name: "trainer", Command: "trainer --fast", Rank: -1, LocalRank: -1, WorldSize: -1, Traced: true},
			{PID: hog.PID, Name: "backup-agent", Rank: -1, LocalRank: -1, WorldSize: -1},
		},
		Threads: []store.ThreadInfo{{Thread: main, Comm: "trainer", Dispatch: true}, {Thread: hog, Comm: "backup-agent"}},
	}}
	t, end := uint64(at.UnixNano()), uint64(at.Add(incidentLength).UnixNano())
	for i := 0; t < end; i++ {
		c := event.Call{Start: t, Duration: usual, Thread: main, Op: launch.Op, GPU: event.NoGPU}
		if i%100 == 99 {
			c.Duration += wait
			c.Ledger.NS[event.RunQueue], c.Ledger.Involuntary = wait, 1
			b.OffCPU = append(b.OffCPU, event.OffCPU{
				Start: t + 1000, Duration: wait, RunQueue: wait, Thread: main, Comm: "trainer", Op: launch.Op,
				Class: event.RunQueue, Syscall: -1, Dispatch: true, WakerSyscall: -1,
				Culprits: []event.Culprit{{Thread: hog, Comm: "backup-agent", NS: wait - 10_000}},
			})
		}
		b.Calls = append(b.Calls, c)
		t += max(1_000_000, c.Duration+1000)
	}
	return writeBatch(path, at, b)
}

// writeRanks records two ranks of a job, pids 100 and 101: steps of four launches and a wait of 2 ms,
// or of 3 ms on rank 1. The first half of it is epoch 1, the second one epoch 2, of which 40 ms are
// phase save.
func writeRanks(path string, at time.Time) error {
	launch, _ := event.ByName("cudaLaunchKernel")
	wait, ok := event.ByName("cudaStreamSynchronize")
	if !ok {
		return fmt.Errorf("no such operation")
	}
	b := &store.Batch{}
	for rank := range 2 {
		main := event.Thread{PID: uint32(100 + rank), TID: uint32(100 + rank)}
		b.Processes = append(b.Processes, store.Process{
			PID: main.PID, Name: "trainer", Command: fmt.Sprintf("trainer --rank %d", rank), Rank: rank, LocalRank: rank,
			WorldSize: 2, Traced: true,
		})
		b.Threads = append(b.Threads, store.ThreadInfo{Thread: main, Comm: "trainer", Dispatch: true})
		t, end := uint64(at.UnixNano()), uint64(at.Add(incidentLength).UnixNano())
		half := t + (end-t)/2
		b.Labels = append(b.Labels, event.Label{Arrived: t, Since: t, PID: main.PID, StartTime: 1, Key: "epoch", Value: "1"},
			event.Label{Arrived: half, Since: half, PID: main.PID, StartTime: 1, Key: "epoch", Value: "2"},
			event.Label{Arrived: half, Since: half, Until: half + 40e6, PID: main.PID, StartTime: 1, Key: "phase", Value: "save"})
		for t < end {
			for range 4 {
				b.Calls = append(b.Calls, event.Call{Start: t, Duration: 5_000, Thread: main, Op: launch.Op, GPU: event.NoGPU})
				t += 10_000
			}
			c := event.Call{Start: t, Duration: 2_000_000, Thread: main, Op: wait.Op, GPU: event.NoGPU}
			if rank == 1 {
				c.Duration += 1_000_000
			}
			c.Ledger.NS[event.Ioctl] = c.Duration - 10_000
			b.Calls = append(b.Calls, c)
			t = c.End() + 20_000
		}
	}
	return writeBatch(path, at, b)
}
