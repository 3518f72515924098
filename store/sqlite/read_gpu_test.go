package sqlite_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	zsqlite "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/recording"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
)

// twoProcesses records four seconds of calls of two processes, the second one only
// in every other second.
func twoProcesses(t *testing.T) (path string, calls []event.Call) {
	t.Helper()
	launch, sync := opOf(t, "cudaLaunchKernel"), opOf(t, "cudaStreamSynchronize")
	const ms = 1_000_000
	for s := range uint64(4) {
		held := event.Ledger{NS: [event.NumClasses]uint64{event.RunQueue: 1000 * s, event.BlockIO: 50, event.Sleep: ms}}
		for i := range uint64(10) {
			at := t0 + s*1e9 + i*20*ms
			calls = append(calls, event.Call{Start: at, Duration: 5000, Thread: engine, Op: launch, GPU: 1},
				event.Call{Start: at + 10_000, Duration: 2*ms + s, Thread: engine, Op: sync, GPU: 1, Ledger: held})
			if s%2 == 1 {
				calls = append(calls, event.Call{
					Start: at + 7, Duration: 18 * ms, Thread: event.Thread{PID: 200, TID: 200},
					Op: sync, GPU: event.NoGPU,
				})
			}
		}
	}
	w, path := create(t, sqlite.Options{RawRate: 1 << 30})
	must(t, w.Write(&store.Batch{Tables: store.Tables{Records: event.Records{Calls: slices.Clone(calls)}}}))
	must(t, w.Close())
	return path, calls
}

func TestOpSeriesAddsUpToOpStats(t *testing.T) {
	t.Parallel()
	path, _ := twoProcesses(t)
	r := reader(t, path)
	total, err := store.List[store.OpStat](t.Context(), r, store.Window{})
	must(t, err)
	for _, step := range []uint64{0, 1, 3} {
		series, err := r.OpSeries(t.Context(), store.Window{}, step)
		must(t, err)
		type key struct {
			event.Thread
			op event.Op
		}
		sums := map[key]store.OpSecond{}
		for i, o := range series {
			if i > 0 && o.Second < series[i-1].Second || o.Second%max(step, 1) != 0 {
				t.Errorf("step %d: second %d after %d", step, o.Second, series[max(i, 1)-1].Second)
			}
			k := key{o.Thread, o.Op}
			s := sums[k]
			sums[k] = store.OpSecond{
				Calls: s.Calls + o.Calls, SumNS: s.SumNS + o.SumNS, HeldNS: s.HeldNS + o.HeldNS, MaxNS: max(s.MaxNS, o.MaxNS),
			}
		}
		for _, o := range total {
			held := o.Ledger.NS[event.RunQueue] + o.Ledger.NS[event.BlockIO]
			want := store.OpSecond{Calls: o.Calls, SumNS: o.SumNS, HeldNS: held, MaxNS: o.MaxNS}
			if got := sums[key{o.Thread, o.Op}]; got != want {
				t.Errorf("step %d: %s of %d: %+v, want %+v", step, o.Op, o.TID, got, want)
			}
		}
	}
	seconds, err := r.OpSeries(t.Context(), store.Window{From: t0 + 1e9, To: t0 + 2e9}, 1)
	must(t, err)
	if len(seconds) != 3 || seconds[0].Second != t0/1e9+1 {
		t.Errorf("one second: %+v", seconds)
	}
}

func TestWaitSeriesAddsUpToTheLedgers(t *testing.T) {
	t.Parallel()
	thread := event.Thread{PID: 7, TID: 8}
	const gap = 100_000_000
	var calls []event.Call
	var gaps []event.Gap
	for i := range uint64(100) {
		at := t0 + i*gap
		held := event.Ledger{}
		held.NS[event.BlockIO] = i % 3 * 1_000_000
		calls = append(calls, event.Call{
			Start: at, Duration: 5_000_000, Thread: thread, Op: event.Op(1 + i%2), Ledger: held,
		})
		between := event.Ledger{}
		between.NS[event.Futex] = 2_000_000
		gaps = append(gaps, event.Gap{Start: at + 5_000_000, Duration: 3_000_000, Thread: thread, Ledger: between})
	}
	w, path := create(t, sqlite.Options{RawRate: 1 << 30})
	must(t, w.Write(&store.Batch{Tables: store.Tables{Records: event.Records{Calls: calls, Gaps: gaps}}}))
	must(t, w.Close())
	for _, step := range []uint64{0, 1, 4} {
		series, err := reader(t, path).WaitSeries(t.Context(), store.Window{}, step)
		must(t, err)
		sum := map[event.Op]event.Ledger{}
		for i, o := range series {
			early := i > 0 && o.Second < series[i-1].Second
			if early || o.Second%max(step, 1) != 0 || o.Thread != thread || o.Ledger.Total() == 0 && o.Op == 0 {
				t.Errorf("step %d: %+v", step, o)
			}
			l := sum[o.Op]
			l.Add(&o.Ledger)
			sum[o.Op] = l
		}
		want := map[event.Op]event.Ledger{}
		for i := range calls {
			l := want[calls[i].Op]
			l.Add(&calls[i].Ledger)
			want[calls[i].Op] = l
			l = want[0]
			l.Add(&gaps[i].Ledger)
			want[0] = l
		}
		for op, l := range want {
			if got := sum[op]; got.NS != l.NS {
				t.Errorf("step %d, op %d: %v, want %v", step, op, got.NS, l.NS)
			}
		}
	}
}

func TestBusySpansAreThoseOfTheCalls(t *testing.T) {
	t.Parallel()
	path, calls := twoProcesses(t)
	r := reader(t, path)
	var want store.BusySpans
	for _, c := range calls {
		want.Add(c.PID, c.GPU, c.Op, c.Start, c.End())
	}
	got, until, err := r.Busy(t.Context(), store.Window{}, 1<<20)
	must(t, err)
	if d := cmp.Diff(want.Spans(), got); d != "" || until != 0 {
		t.Errorf("until %d, spans (-want +got):\n%s", until, d)
	}
	got, until, err = r.Busy(t.Context(), store.Window{}, 20)
	must(t, err)
	if until <= t0 || until >= t0+2e9 || len(got) == 0 || got[len(got)-1].End > until+1e9 {
		t.Errorf("of 20 calls: until %d, %d spans", until, len(got))
	}
}

// A recording from before GPUs were read has no table of readings.
func TestARecordingWithoutGPUReadingsHasNone(t *testing.T) {
	t.Parallel()
	path, _ := twoProcesses(t)
	c, err := zsqlite.OpenConn(path, zsqlite.OpenReadWrite)
	must(t, err)
	must(t, sqlitex.ExecuteScript(c, "drop view system_snapshots; drop view gpu_snapshots; drop table gpu_snapshot; "+
		"drop view gpus; drop table gpu_device; pragma user_version = 1;", nil))
	must(t, c.Close())
	gpus, err := store.List[store.GPUSnapshot](t.Context(), reader(t, path), store.Window{})
	if err != nil || len(gpus) != 0 {
		t.Errorf("%v, %v", gpus, err)
	}
}

// system_snapshots has the last reading of each GPU; what is unknown is null.
func TestSystemSnapshotsHaveTheirGPUs(t *testing.T) {
	t.Parallel()
	w, path := create(t, sqlite.Options{})
	const second = 1_000_000_000
	unknown := func(columns ...store.GPUColumn) (bits uint32) {
		for _, c := range columns {
			bits |= 1 << c
		}
		return bits
	}
	must(t, w.Write(&store.Batch{Tables: store.Tables{
		Snapshots: []store.Snapshot{{At: t0}, {At: t0 + 2*second, CPUPct: 12.5}, {At: t0 + 9*second}},
		GPUs: []store.GPUSnapshot{
			{At: t0 + second/2, UtilPct: 10, TempC: 95, Reasons: store.ThrottleHWThermal, MemMB: 1, PowerMW: 1000},
			{
				At: t0 + second, UtilPct: 90, TempC: 60, MemMB: 100, TotalMB: 1000, ClockMHz: 1980, PowerMW: 650_500,
				ECC: store.ECCErrors{Corrected: 2}, Unknown: unknown(store.GPUUncorrected),
			},
			{
				At: t0 + second + 1, GPU: 1, TempC: 50, MemMB: 20,
				Unknown: unknown(store.GPUUtil, store.GPUPower, store.GPUCorrected, store.GPUUncorrected),
			},
		},
	}}))
	must(t, w.Close())
	var got []string
	rows, err := sqlite.Query(t.Context(), path,
		`select gpus, gpu_util_pct, gpu_mem_used_mb, gpu_max_temp_c, gpu_thermal, gpu_power_w, gpu_ecc_corrected,
		gpu_ecc_uncorrected, json_extract(gpus_json, '$[0].clock_mhz'), json_array_length(gpus_json), cpu_pct from system_snapshots order by timestamp`, store.Limits{})
	must(t, err)
	for rows.Next() {
		got = append(got, strings.TrimSpace(fmt.Sprintln(rows.Values()...)))
	}
	must(t, rows.Err())
	must(t, rows.Close())
	want := []string{
		"0 <nil> <nil> <nil> <nil> <nil> <nil> <nil> <nil> <nil> 0",
		"2 90 120 60 0 650.5 2 <nil> 1980 2 12.5", "0 <nil> <nil> <nil> <nil> <nil> <nil> <nil> <nil> <nil> 0",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// An error of a GPU before the first call, or after the last, is part of the recording:
// windows that are counted from its ends hold it.
func TestTheSpanOfARecordingIncludesGPUErrors(t *testing.T) {
	t.Parallel()
	for _, at := range []uint64{t0 - 5e9, t0 + 60e9} {
		w, path := create(t, sqlite.Options{})
		b := fullBatch(t)
		b.Xids = []store.Xid{{At: at, GPU: 1, Code: 79}}
		must(t, w.Write(b))
		must(t, w.Close())
		r := reader(t, path)
		sum, err := r.Summary(t.Context())
		must(t, err)
		win, _, err := recording.Span{Since: recording.DefaultSince}.Window(sum, time.Unix(0, int64(at)))
		must(t, err)
		xids, err := store.List[store.Xid](t.Context(), r, win)
		must(t, err)
		if len(xids) != 1 || xids[0].At != at {
			t.Errorf("at %d: %+v in %+v", at, xids, win)
		}
	}
}

// Two changes in the same nanosecond stay two, in a recording and in a merged one.
func TestChangesOfClocksAreReadBack(t *testing.T) {
	t.Parallel()
	changes := func(path string) []string {
		var list []string
		for _, row := range query(t, path, fmt.Sprintf("select timestamp - %d, gpu_id, from_mhz, to_mhz, from_reasons, "+
			"to_reasons, node from gpu_clock_changes order by node, gpu_id, timestamp", int64(t0))) {
			list = append(list, strings.TrimSpace(fmt.Sprintln(row...)))
		}
		return list
	}
	a := recordingOf(t, "gpu-01", store.Session{Boot: "x", PID: 50}, &store.Batch{Tables: store.Tables{GPUClocks: []store.GPUClockChange{
		{At: t0 + 5, GPU: 1, FromMHz: 1980, ToMHz: 1200, ToReasons: store.ThrottleHWThermal},
		{At: t0 + 5, FromMHz: 345, ToMHz: 1980, ReasonsUnknown: true}, // moves up
		{At: t0 + 7, GPU: 2, FromReasons: store.ThrottlePowerCap},
	}}})
	b := recordingOf(t, "gpu-02", store.Session{Boot: "y", PID: 60}, &store.Batch{Tables: store.Tables{GPUClocks: []store.GPUClockChange{
		{At: t0 + 5, FromMHz: 1980, ToMHz: 210, FromReasons: 0, ToReasons: 1},
	}}})
	ofA := []string{
		"6 0 345 1980 <nil> <nil> gpu-01", "5 1 1980 1200 0 64 gpu-01", "7 2 <nil> <nil> 4 0 gpu-01",
	}
	if d := cmp.Diff(ofA, changes(a)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	merged, r := merge(t, a, b)
	// the other machine's change moves up: three of the next nanoseconds are taken
	if d := cmp.Diff(append(ofA, "8 0 1980 210 0 1 gpu-02"), changes(merged)); d != "" || r.Moved != 1 {
		t.Errorf("merged, %d moved (-want +got):\n%s", r.Moved, d)
	}
}
