package sqlite_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
	"github.com/ingero-io/ingero/store/sqlite/storetest"
)

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkStored measures calls that are stored one by one.
func BenchmarkStored(b *testing.B) { benchmark(b, storetest.Load{Calls: 400_000, Rate: 20_000}, 0) }

// BenchmarkThinned measures a rate at which nearly all calls are thinned.
func BenchmarkThinned(b *testing.B) {
	benchmark(b, storetest.Load{Calls: 2_000_000, Rate: 500_000, Threads: 4}, 1000)
}

// BenchmarkThinnedLaunches measures only calls that are thinned, 1 million a
// second, of a runtime call that nests a driver call.
func BenchmarkThinnedLaunches(b *testing.B) {
	ops := [2]event.Op{opOf(b, "cudaLaunchKernel"), opOf(b, "cuLaunchKernel")}
	w, _ := create(b, sqlite.Options{RawRate: 1000})
	var batch store.Batch
	for i := range 20_000 {
		batch.Calls = append(batch.Calls,
			event.Call{Duration: 4000 + uint64(i%977), Thread: engine, Op: ops[i%2], Depth: uint8(i % 2)})
	}
	at, calls, start := t0, 0, cpuTime()
	for b.Loop() {
		for i := range batch.Calls {
			at += 1000
			batch.Calls[i].Start = at
		}
		if err := w.Write(&batch); err != nil {
			b.Fatal(err)
		}
		if calls += len(batch.Calls); calls%1_000_000 == 0 {
			if err := w.Flush(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(cpuTime()-start)/float64(calls), "cpu-ns/call")
}

func benchmark(b *testing.B, l storetest.Load, rate int) {
	var batches []*store.Batch
	calls := 0
	l.Batches(func(x *store.Batch) bool {
		c := *x
		calls += len(x.Calls)
		batches = append(batches, &c)
		*x = store.Batch{}
		return true
	})
	for b.Loop() {
		path := filepath.Join(b.TempDir(), "bench.db")
		w, err := sqlite.OpenWriter(path, sqlite.Options{RawRate: rate, Seed: 1})
		if err != nil {
			b.Fatal(err)
		}
		start, sec := cpuTime(), uint64(0)
		for _, x := range batches {
			if err := w.Write(x); err != nil {
				b.Fatal(err)
			}
			if s := x.Calls[0].Start / 1e9; s != sec {
				sec = s
				if err := w.Flush(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		}
		if err := w.Flush(b.Context()); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(cpuTime()-start)/float64(calls), "cpu-ns/call")
		if err := w.Close(); err != nil {
			b.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(info.Size())/float64(calls), "B/call")
	}
}

// readAll reads what an explanation needs.
func readAll(tb testing.TB, path string) {
	r := reader(tb, path)
	ctx, all := tb.Context(), store.Window{}
	_, err := r.Summary(ctx)
	must(tb, err)
	_, err = store.List[store.OpStat](ctx, r, all)
	must(tb, err)
	_, err = store.List[store.GapStat](ctx, r, all)
	must(tb, err)
	must(tb, r.NotableCalls(ctx, all, func(*event.Call) bool { return true }))
	must(tb, r.NotableGaps(ctx, all, func(*event.Gap) bool { return true }))
	must(tb, r.OffCPU(ctx, all, func(*event.OffCPU) bool { return true }))
	must(tb, r.ThreadTimes(ctx, all, func(*event.ThreadTime) bool { return true }))
	_, err = store.List[store.Process](ctx, r, store.Window{})
	must(tb, err)
	_, err = store.List[store.ThreadInfo](ctx, r, store.Window{})
	must(tb, err)
}

func BenchmarkOpStats60s(b *testing.B) {
	path := filepath.Join(b.TempDir(), "minute.db")
	if err := storetest.Build(path, storetest.Load{Calls: 1_200_000}, sqlite.Options{RawRate: 1000}); err != nil {
		b.Fatal(err)
	}
	r := reader(b, path)
	for b.Loop() {
		if _, err := store.List[store.OpStat](b.Context(), r, store.Window{}); err != nil {
			b.Fatal(err)
		}
	}
}
