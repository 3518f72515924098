package sqlite_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
)

// legacy makes a recording of an earlier version from its script.
func legacy(t *testing.T, version string) string {
	t.Helper()
	script, err := os.ReadFile(filepath.Join("testdata", "earlier_"+version+".sql"))
	must(t, err)
	path := filepath.Join(t.TempDir(), "earlier.db")
	makeDB(t, path, string(script))
	must(t, os.Chmod(path, 0o444))
	unchanged(t, path)
	return path
}

func openLegacy(t *testing.T, path string) store.Recording {
	t.Helper()
	r, err := sqlite.Open(path)
	must(t, err)
	t.Cleanup(func() { r.Close() })
	return r
}

func TestOpenReadsARecordingOfThisVersion(t *testing.T) {
	t.Parallel()
	r, err := sqlite.Open(fullRecording(t))
	must(t, err)
	defer r.Close()
	if _, old := r.(store.LegacyReader); old {
		t.Error("taken for an earlier version's")
	}
	sum, err := r.Summary(t.Context())
	must(t, err)
	if sum.Calls != 2 {
		t.Errorf("%d calls", sum.Calls)
	}
}

func TestLegacyCallsGetDepthAndLedgerFromTheirRows(t *testing.T) {
	t.Parallel()
	r := openLegacy(t, legacy(t, "0.8"))
	var got []string
	must(t, r.Calls(t.Context(), store.Window{}, func(c *event.Call) bool {
		got = append(got, fmt.Sprintf("%d/%d %s at %d for %d depth %d off %d other %d", c.PID, c.TID, c.Op, c.Start,
			c.Duration, c.Depth, c.Ledger.Total(), c.Ledger.NS[event.Other]))
		return true
	}))
	want := []string{
		"100/100 cudaMalloc at 1000000000 for 100000 depth 0 off 0 other 0",
		"100/100 cuMemAlloc at 1000000100 for 50000 depth 1 off 0 other 0",
		"100/100 cudaStreamSynchronize at 1001000000 for 3000000 depth 0 off 1000000 other 1000000",
		"200/200 cudaLaunchKernel at 1030000000 for 6000 depth 0 off 0 other 0",
		"200/200 cudaLaunchKernel at 1031000000 for 9006000 depth 0 off 0 other 0",
		"200/200 cuMemcpy at 1045000000 for 6000 depth 0 off 0 other 0",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("calls (-want +got):\n%s", d)
	}
	var notable []string
	must(t, r.NotableCalls(t.Context(), store.Window{From: 1_030_000_001, To: 1_045_000_000}, func(c *event.Call) bool {
		notable = append(notable, fmt.Sprint(c.Op, c.Start))
		return true
	}))
	if d := cmp.Diff([]string{"cudaLaunchKernel 1031000000"}, notable); d != "" {
		t.Errorf("notable calls of a window: %s", d)
	}
}

func TestLegacyIntervalsBeginBeforeTheirRecord(t *testing.T) {
	t.Parallel()
	r := openLegacy(t, legacy(t, "0.8"))
	var got []string
	must(t, r.OffCPU(t.Context(), store.Window{}, func(o *event.OffCPU) bool {
		got = append(got,
			fmt.Sprintf("%d for %d: %s in %d of %s, dispatches %t", o.Start, o.Duration, o.Class, o.Op, o.Comm, o.Dispatch))
		return true
	}))
	sync := opOf(t, "cudaStreamSynchronize")
	want := []string{
		fmt.Sprintf("1003000000 for 2000000: other in %d of python3, dispatches true", sync),
		"1009010000 for 1000000: block_io in 0 of python3, dispatches true",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("intervals (-want +got):\n%s", d)
	}
	lives, err := store.List[event.Life](t.Context(), r, store.Window{})
	must(t, err)
	if len(lives) != 1 || lives[0].Kind != event.LifeFork || lives[0].TID != 101 || lives[0].Parent.TID != 100 {
		t.Errorf("life cycle %+v", lives)
	}
}

func TestLegacyStatisticsCountUnlistedCalls(t *testing.T) {
	t.Parallel()
	r := openLegacy(t, legacy(t, "0.8"))
	stats, err := store.List[store.OpStat](t.Context(), r, store.Window{})
	must(t, err)
	i := slices.IndexFunc(stats, func(o store.OpStat) bool { return o.Op == opOf(t, "cudaLaunchKernel") })
	o := stats[i]
	if o.Calls != 10 || o.SumNS != 9_060_000 || o.MaxNS != 9_006_000 || o.Hist.Count() != 10 {
		t.Errorf("launches: %d calls, %d ns, longest %d, %d in the histogram", o.Calls, o.SumNS, o.MaxNS, o.Hist.Count())
	}
	if p50 := o.Hist.Quantile(0.5); p50 < 5900 || p50 > 6100 {
		t.Errorf("median %d", p50)
	}
	// A window that cuts the minute has what is listed only.
	stats, err = store.List[store.OpStat](t.Context(), r, store.Window{From: 1_030_500_000})
	must(t, err)
	if stats[0].Calls != 1 || stats[0].MaxNS != 9_006_000 {
		t.Errorf("half a minute: %+v", stats[0])
	}
	sum, err := r.Summary(t.Context())
	must(t, err)
	if sum.Calls != 14 || sum.Stored != 6 || sum.First != 1_000_000_000 || sum.Last != 1_046_000_000 ||
		sum.Sessions[0].Memory != 16<<20 {
		t.Errorf("summary %+v", sum)
	}
}

func TestEarlierReturnsChainsAndWhatWasRecorded(t *testing.T) {
	t.Parallel()
	r := openLegacy(t, legacy(t, "0.8")).(store.LegacyReader)
	e, err := r.Legacy(t.Context(), store.Window{From: 1_000_000_000, To: 1_046_000_001})
	must(t, err)
	if e.Version != "0.8" || len(e.Chains) != 2 {
		t.Fatalf("version %s, %d chains", e.Version, len(e.Chains))
	}
	want := store.StoredChain{
		ID: "chain-002", At: 1_050_000_000, Severity: "MEDIUM",
		Summary:   "cudaStreamSync p99=3ms (1.0x p50) — 34 sched_switch events",
		RootCause: "34 sched_switch events", Explanation: "It is slow.", Op: "cudaStreamSync",
		Call:            opOf(t, "cudaStreamSynchronize"),
		Recommendations: []string{"free text"},
	}
	if d := cmp.Diff(want, e.Chains[1]); d != "" {
		t.Errorf("chain (-want +got):\n%s", d)
	}
	main := event.Thread{PID: 100, TID: 100}
	switches := map[event.Thread]store.Switches{main: {
		From: 1_003_000_000, To: 1_010_010_000, Counted: true,
		Unlisted: 50_000,
	}}
	if d := cmp.Diff(switches, e.Switches); d != "" {
		t.Errorf("switches (-want +got):\n%s", d)
	}
	if id := e.IDs[store.CallKey{Thread: main, Start: 1_001_000_000}]; id != "3" {
		t.Errorf("id %q", id)
	}
	if e, err = r.Legacy(t.Context(), store.Window{From: 1_010_000_000, To: 1_020_000_000}); err != nil ||
		len(e.Chains) != 0 {
		t.Errorf("%d chains in a window before them, %v", len(e.Chains), err)
	}
	stack, err := r.Stack(t.Context(), 7)
	must(t, err)
	frames := []event.Frame{
		{Kind: event.FrameNative, Symbol: "cudaMalloc", Module: "libcudart.so.12"},
		{Kind: event.FrameNative, Addr: 0x7a, Module: "libffi.so.8"},
		{Kind: event.FramePython, Symbol: "step", File: "train.py"},
	}
	if d := cmp.Diff(frames, stack.Frames); d != "" {
		t.Errorf("stack (-want +got):\n%s", d)
	}
}

func TestLegacyNodesDoNotMix(t *testing.T) {
	t.Parallel()
	path := legacy(t, "0.9")
	r := openLegacy(t, path)
	off := map[string]uint64{}
	procs, err := store.List[store.Process](t.Context(), r, store.Window{})
	must(t, err)
	names := map[uint32]store.Process{}
	for _, p := range procs {
		names[p.PID] = p
	}
	must(t, r.Calls(t.Context(), store.Window{}, func(c *event.Call) bool {
		p := names[c.PID]
		off[fmt.Sprintf("%s on %s, rank %d", p.Name, p.Node, p.Rank)] = c.Ledger.Total()
		return true
	}))
	if d := cmp.Diff(map[string]uint64{"python3 on a, rank 0": 5_000_000, "python3@b on b, rank 1": 0}, off); d != "" {
		t.Errorf("off CPU in calls (-want +got):\n%s", d)
	}
	got := query(t, path, "select node, pid, id, other_ns from ledger")
	if d := cmp.Diff([][]any{{"a", int64(100), "a:1", int64(5_000_000)}}, got); d != "" {
		t.Errorf("ledger view (-want +got):\n%s", d)
	}
}

// TestLegacyRecordingsHaveEveryView compares the columns of the views with those of a
// recording of this version.
func TestLegacyRecordingsHaveEveryView(t *testing.T) {
	t.Parallel()
	views := func(path, schema string) map[string][]string {
		all := map[string][]string{}
		for _, row := range query(t, path,
			`select m.name, group_concat(c.name) from `+schema+` m join pragma_table_info(m.name) c
			where m.type = 'view' or m.name = 'causal_chains' group by 1`) {
			all[row[0].(string)] = strings.Split(row[1].(string), ",")
		}
		return all
	}
	today := views(fullRecording(t), "sqlite_schema")
	for _, version := range []string{"0.8", "0.9"} {
		path := legacy(t, version)
		var selects []string
		then := views(path, "(select * from sqlite_schema union all select * from sqlite_temp_schema)")
		for name, want := range today {
			if got := then[name]; len(got) < len(want) || !slices.Equal(got[:len(want)], want) {
				t.Errorf("%s of %s has %v, today %v", name, version, got, want)
				continue
			}
			counts := make([]string, len(want))
			for i, column := range want { // each is computed
				counts[i] = fmt.Sprintf("count(%q)", column)
			}
			selects = append(selects, fmt.Sprintf("(select %s from %q)", strings.Join(counts, " + "), name))
		}
		for part := range slices.Chunk(selects, 40) { // opening the recording takes longer than asking it
			query(t, path, "select "+strings.Join(part, ", "))
		}
	}
}

func TestLegacyViews(t *testing.T) {
	t.Parallel()
	path := legacy(t, "0.8")
	for _, tc := range []struct {
		q    string
		want [][]any
	}{
		{"select timestamp, duration_ns, op, arg0 from events where source = 3 order by timestamp", [][]any{
			{int64(1_003_000_000), int64(2_000_000), "sched_switch", int64(0)},
			{int64(1_009_010_000), int64(1_000_000), "sched_switch", int64(0)},
			{int64(1_020_000_000), int64(0), "process_fork", int64(101)},
		}},
		{
			"select op, timestamp, comm from main.events join process_names using (pid) join (select '' as comm) where id = 3",
			[][]any{{int64(5), int64(1_001_000_000), ""}},
		},
		{"select bytes, ptr from cudaMalloc", [][]any{{int64(4096), int64(0)}}},
		{"select timestamp, bytes from io_events", [][]any{{int64(1_009_020_000), int64(24 * 512)}}},
		{"select on_cpu_ns, other_ns from ledger", [][]any{{int64(2_000_000), int64(1_000_000)}}},
		{
			"select symbol, kind from stack_frames where stack_hash = 7 order by depth",
			[][]any{{"cudaMalloc", "native"}, {"", "native"}, {"step", "python"}},
		},
		{"select gpu_model, mem_total from sessions", [][]any{{"a GPU", int64(16 << 20)}}},
		{"select count(*) from losses", [][]any{{int64(0)}}},
		{"select id from causal_chains where cuda_op = 'cudaStreamSync'", [][]any{{"chain-002"}}},
	} {
		if d := cmp.Diff(tc.want, query(t, path, tc.q)); d != "" {
			t.Errorf("%s (-want +got):\n%s", tc.q, d)
		}
	}
}

func TestLegacyRecordingsAreReadOnly(t *testing.T) {
	t.Parallel()
	path := legacy(t, "0.8")
	for _, q := range []string{
		"drop view events", "drop view temp.events", "create temp table x (a)", "create temp view x as select 1",
		"delete from main.events",
		"insert into events (id) values (1)", "update main.events set duration = 0", "pragma query_only = off",
		"pragma temp_store = file",
	} {
		rows, err := sqlite.Query(t.Context(), path, q, store.Limits{})
		if err == nil {
			for rows.Next() {
			}
			err = rows.Err()
			rows.Close()
		}
		if err == nil {
			t.Errorf("allowed: %s", q)
		}
	}
	_, err := sqlite.Query(t.Context(), path, "select * from cuda_event", store.Limits{})
	if err == nil || !strings.Contains(err.Error(), "did you mean cuda_events?") {
		t.Errorf("a mistake: %v", err)
	}
}

func TestPartialLegacyRecordingIsRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "half.db")
	makeDB(t, path, "create table events (id integer primary key, timestamp integer, pid integer); create table "+
		"schema_info (key text, value text)")
	unchanged(t, path)
	_, err := sqlite.Open(path)
	checkError(t, err, store.ErrForeign, []string{"Ingero 0.x", "no column duration in its table events", "ingero query"})
	query(t, path, "select timestamp from events")
	other := filepath.Join(t.TempDir(), "other.db")
	makeDB(t, other, "create table t (a)")
	_, err = sqlite.Open(other)
	checkError(t, err, store.ErrForeign, []string{"another SQLite file"})
}

// publishedQueries are queries that have been published, by where.
func publishedQueries(t *testing.T) map[string]string {
	t.Helper()
	a, err := txtar.ParseFile(filepath.Join("testdata", "published.txtar"))
	must(t, err)
	queries := map[string]string{}
	for _, f := range a.Files {
		queries[f.Name] = string(f.Data)
	}
	return queries
}

func TestPublishedQueriesRunVerbatim(t *testing.T) {
	t.Parallel()
	w, path := create(t, sqlite.Options{})
	b := fullBatch(t)
	b.Calls = append(b.Calls, event.Call{
		Start: t0 + 40_000_000, Duration: 9000, Thread: engine, Op: opOf(t, "cudaMalloc"),
		Args: [4]uint64{1 << 20},
	})
	b.OffCPU = append(b.OffCPU,
		event.OffCPU{
			Start: t0 + 50_000_000, Duration: 200_000, Thread: engine, Comm: "engine", Class: event.Network,
			Syscall: 45, State: 1, WakerSyscall: -1,
		},
		event.OffCPU{
			Start: t0 + 60_000_000, Duration: 200_000, Thread: engine, Comm: "engine", Class: event.BlockIO,
			Syscall: 0, State: 2, WakerSyscall: -1,
		})
	must(t, w.Write(b))
	must(t, w.Close())
	for name, q := range publishedQueries(t) {
		if len(query(t, path, q)) == 0 {
			t.Errorf("%s: no rows", name)
		}
	}
	for _, version := range []string{"0.8", "0.9"} {
		path := legacy(t, version)
		for name, q := range publishedQueries(t) {
			// The disk and the network are in one of the two.
			if rows := query(t, path, q); len(rows) == 0 && version == "0.8" {
				t.Errorf("%s on %s: no rows", name, version)
			}
		}
	}
}

// investigations are the published databases of Ingero 0.8 and 0.9.
func investigations(t *testing.T) []string {
	t.Helper()
	dir := os.Getenv("INGERO_INVESTIGATIONS")
	if dir == "" {
		t.Skip("set INGERO_INVESTIGATIONS to the folder of the published databases")
	}
	paths, err := filepath.Glob(filepath.Join(dir, "*.db"))
	must(t, err)
	if len(paths) == 0 {
		t.Fatalf("no databases in %s", dir)
	}
	return paths
}

func TestPublishedDatabases(t *testing.T) {
	t.Parallel()
	for _, path := range investigations(t) {
		unchanged(t, path)
		for name, q := range publishedQueries(t) {
			rows := query(t, path, q)
			if strings.Contains(q, "FROM events") && !strings.Contains(q, "cudaMalloc") && len(rows) == 0 {
				t.Errorf("%s: %s: no rows", path, name)
			}
		}
		r := openLegacy(t, path)
		sum, err := r.Summary(t.Context())
		must(t, err)
		calls := uint64(0)
		must(t, r.Calls(t.Context(), store.Window{}, func(*event.Call) bool { calls++; return true }))
		if n := query(t, path, "select count(*) from cuda_events")[0][0]; sum.Stored != calls || n != int64(calls) ||
			sum.Calls < calls || sum.First == 0 {
			t.Errorf("%s: %d calls read, %v by SQL, %+v", path, calls, n, sum)
		}
		e, err := r.(store.LegacyReader).Legacy(t.Context(), store.Window{})
		must(t, err)
		if len(e.Chains) == 0 {
			t.Errorf("%s: no chains", path)
		}
	}
}
