package mcptool_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/serve/mcptool"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
)

// siteRow is a row by call site.
type siteRow struct {
	opRow
	Site  string   `json:"call_site"`
	Place string   `json:"place"`
	From  []string `json:"callers"`
	P99NS int      `json:"p99_ns"`
	Pct   float64  `json:"op_time_pct"`
}

// TestWaitsAreListedByCallSite compares each call site of two threads with SQL. It has a name if a stack was recorded.
func TestWaitsAreListedByCallSite(t *testing.T) {
	began := time.Now().Add(-time.Minute)
	who, b := trainer()
	b.Stacks = []event.Stack{{ID: 77, PID: who.PID, Frames: []event.Frame{
		{Kind: event.FrameNative, Addr: 0x7f10, Symbol: "synchronize", Module: "libtorch.so"},
		{Kind: event.FramePython, Symbol: "step", File: "train.py", Line: 9},
	}}}
	const steps = 3000
	at := uint64(began.UnixNano())
	for i := range uint64(steps) {
		long := event.Call{
			Start: at, Duration: 2_000_000 + i, Thread: event.Thread{PID: who.PID, TID: who.PID + uint32(i%2)},
			Op: opOf(t, "cudaStreamSynchronize"), GPU: event.NoGPU,
		}
		brief := long
		long.Args[event.SiteArg], brief.Args[event.SiteArg] = 0x7f10, 0x7f20
		if i%100 == 0 {
			long.Duration, long.Stack = 9_000_000, 77
		}
		brief.Start, brief.Duration = at+10_000_000, 5000
		launch := brief
		launch.Start, launch.Op, launch.Args = at+10_100_000, opOf(t, "cudaLaunchKernel"), [event.NumArgs]uint64{}
		b.Calls = append(b.Calls, long, brief, launch)
		at += 11_000_000
	}
	path := written(t, began, b)
	cs := connect(t, path, mcptool.Options{})
	var got struct {
		Note string
		Ops  []siteRow
	}
	res := call(t, cs, "get_trace_stats", map[string]any{"by": "call_site"}, &got)
	rows, err := sqlite.Query(t.Context(), path, "select call_site, sum(calls), sum(sum_ns), max(max_ns), "+
		"100.0 * sum(sum_ns) / (select sum(sum_ns) from wait_sites) from wait_sites group by 1 order by 3 desc",
		store.Limits{})
	must(t, err)
	defer rows.Close()
	n := 0
	for ; rows.Next() && n < len(got.Ops); n++ {
		v, o := rows.Values(), got.Ops[n]
		want := opRow{
			"trainer", int(who.PID), "cudaStreamSynchronize", int(v[1].(int64)), int(v[2].(int64)), int(v[3].(int64)), 0,
		}
		if o.opRow != want || o.Site != v[0] || math.Abs(o.Pct-v[4].(float64)) > 0.06 || want.Calls != steps {
			t.Errorf("row %d: %+v, want %+v of %v", n, o, want, v)
		}
	}
	if n != 2 || len(got.Ops) != 2 {
		t.Fatalf("%d rows, want 2 as in SQL: %+v", len(got.Ops), got.Ops)
	}
	first, second := got.Ops[0], got.Ops[1]
	if first.Place != "synchronize [libtorch.so]" || !slices.Equal(first.From, []string{"train.py:9 in step"}) ||
		second.Place != "" || len(second.From) != 0 {
		t.Errorf("the places are %+v", got.Ops)
	}
	if n := tokens(t, res); n > answerBudget || !strings.Contains(got.Note, "figures are of all calls") {
		t.Errorf("%d tokens, note %q", n, got.Note)
	}
	for _, c := range []struct {
		db   string
		args map[string]any
		note string
	}{
		{path, map[string]any{"by": "call_site", "op": "cudaLaunchKernel"}, "none of these calls waits"},
		{path, map[string]any{"by": "call_site", "layer": "NCCL"}, "none of these calls waits"},
		{
			"../../investigations/healthy.db",
			map[string]any{"by": "call_site"},
			"an earlier Ingero did not record the place: ",
		},
	} {
		call(t, connect(t, c.db, mcptool.Options{}), "get_trace_stats", c.args, &got)
		if len(got.Ops) != 0 || !strings.Contains(got.Note, c.note) {
			t.Errorf("%v of %s: %d rows, note %q", c.args, c.db, len(got.Ops), got.Note)
		}
	}
}
