package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
	"github.com/ingero-io/ingero/store/sqlite/storetest"
)

// measureInsert writes generated calls at two rates: at one each is stored, at the other most are
// only counted.
func measureInsert(ctx context.Context, l *lab) ([]Row, error) {
	stored := storetest.Load{Calls: pick(l, 200_000, 600_000), Rate: 20_000}
	thinned := storetest.Load{Calls: pick(l, 500_000, 2_000_000), Rate: 500_000, Threads: 4}
	one, err := insertRounds(ctx, l, "stored", stored)
	if err != nil {
		return nil, err
	}
	many, err := insertRounds(ctx, l, "thinned", thinned)
	if err != nil {
		return nil, err
	}
	return []Row{{
		Name: "CPU per call, each stored", Unit: Nanoseconds, Measured: one.cpu.min(),
		Detail: map[string]float64{"median": one.cpu.median(), "percent_of_core_at_20k": one.cpu.min() * 20_000 / 1e7},
	}, {
		Name: "CPU per call, most only counted", Unit: Nanoseconds, Measured: many.cpu.min(),
		Detail: map[string]float64{"median": many.cpu.median(), "rows_per_call": many.rows},
	}, Row{
		Name: "bytes per stored call", Unit: Bytes, Measured: one.bytes, Target: atMost(60),
	}.judge()}, nil
}

// inserted is the cost of writing, over some rounds.
type inserted struct {
	cpu   series  // ns a call
	bytes float64 // a row
	rows  float64 // a call
}

func insertRounds(ctx context.Context, l *lab, name string, load storetest.Load) (r inserted, err error) {
	n := pick(l, 3, 5)
	for i := range n {
		l.say("insert: %s, round %d of %d", name, i+1, n)
		path := filepath.Join(l.dir, "insert.db")
		cpu, err := insertOnce(ctx, path, load)
		if err != nil {
			return r, err
		}
		r.cpu = append(r.cpu, cpu)
		info, err := os.Stat(path)
		if err != nil {
			return r, err
		}
		calls, rows, err := counts(ctx, path)
		if err != nil {
			return r, err
		}
		r.bytes, r.rows = float64(info.Size())/float64(rows), float64(rows)/float64(calls)
		if err := os.Remove(path); err != nil {
			return r, err
		}
	}
	return r, nil
}

func counts(ctx context.Context, path string) (calls, rows uint64, err error) {
	rd, err := sqlite.OpenReader(path)
	if err != nil {
		return 0, 0, err
	}
	defer rd.Close() // a reader has written nothing
	s, err := rd.Summary(ctx)
	return s.Calls, s.Stored, err
}

// insertOnce writes the load as the agent would, and returns the CPU time of a call, ns. Generating
// the calls is not counted.
func insertOnce(ctx context.Context, path string, load storetest.Load) (float64, error) {
	w, err := sqlite.OpenWriter(path, sqlite.Options{})
	if err != nil {
		return 0, err
	}
	defer func() { _ = w.Close() }() // again, if something failed
	var used time.Duration
	var second uint64
	calls := 0
	load.Batches(func(b *store.Batch) bool {
		before := ownCPU()
		if err = w.Write(b); err == nil && secondOf(b.Calls) != second {
			second = secondOf(b.Calls)
			err = w.Flush(ctx)
		}
		used += ownCPU() - before
		calls += len(b.Calls)
		return err == nil
	})
	if err != nil {
		return 0, err
	}
	before := ownCPU()
	if err := w.Close(); err != nil {
		return 0, err
	}
	used += ownCPU() - before
	return float64(used) / float64(calls), nil
}

func secondOf(calls []event.Call) uint64 {
	if len(calls) == 0 {
		return 0
	}
	return calls[0].Start / uint64(time.Second)
}

// ownCPU is the CPU time of this process.
func ownCPU() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &ts); err != nil {
		panic(fmt.Errorf("read own CPU clock: %w", err)) // it always exists
	}
	return time.Duration(ts.Nano())
}
