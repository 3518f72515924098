package sqlite_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	zombie "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
	"github.com/ingero-io/ingero/store/sqlite/storetest"
)

// recordingOf writes a batch as a session of its own.
func recordingOf(t testing.TB, name string, s store.Session, b *store.Batch) string {
	t.Helper()
	if s.Started == 0 {
		s.Started = t0
	}
	if s.Node == "" {
		s.Node = name
	}
	if s.Host == "" {
		s.Host = name
	}
	path := filepath.Join(t.TempDir(), name+".db")
	w, err := storetest.OpenWriter(path, sqlite.Options{Session: s, Now: clock, Seed: 1})
	must(t, err)
	must(t, w.Write(b))
	must(t, w.Close())
	return path
}

func merge(t testing.TB, paths ...string) (string, sqlite.MergeResult) {
	t.Helper()
	var in []sqlite.MergeInput
	for _, p := range paths {
		in = append(in, sqlite.MergeInput{Path: p})
	}
	out := filepath.Join(t.TempDir(), "merged.db")
	r, err := sqlite.Merge(t.Context(), out, in, sqlite.MergeOptions{})
	must(t, err)
	if left := listing(t, filepath.Dir(out)); !slices.Equal(left, []string{"merged.db"}) {
		t.Errorf("left beside the merged recording: %v", left)
	}
	check(t, out)
	return out, r
}

// check has SQLite look at the whole file.
func check(t testing.TB, path string) {
	t.Helper()
	c, err := zombie.OpenConn(path, zombie.OpenReadOnly)
	must(t, err)
	defer c.Close()
	stmt, _, err := c.PrepareTransient("pragma integrity_check")
	must(t, err)
	defer stmt.Finalize()
	if said, err := sqlitex.ResultText(stmt); err != nil || said != "ok" {
		t.Errorf("%s: %s, %v", path, said, err)
	}
}

// counting counts the rows of tables and views of a file, many times.
func counting(t testing.TB, path string) func(from string) int64 {
	t.Helper()
	c, err := zombie.OpenConn(path, zombie.OpenReadOnly)
	must(t, err)
	t.Cleanup(func() { c.Close() })
	return func(from string) int64 {
		t.Helper()
		stmt, _, err := c.PrepareTransient("select count(*) from " + from)
		must(t, err)
		defer stmt.Finalize()
		n, err := sqlitex.ResultInt64(stmt)
		must(t, err)
		return n
	}
}

// everything is all that a reader tells, as text.
func everything(t testing.TB, r store.Reader) string {
	t.Helper()
	var b strings.Builder
	say := func(v any, err error) {
		t.Helper()
		must(t, err)
		fmt.Fprintf(&b, "%T %+v\n", v, v)
	}
	ctx, w := t.Context(), store.Window{}
	sum, err := r.Summary(ctx)
	for i := range sum.Sessions {
		sum.Sessions[i].ID = 0 // their own in each file
	}
	say(sum, err)
	processes, err := store.List[store.Process](ctx, r, store.Window{})
	say(processes, err)
	threads, err := store.List[store.ThreadInfo](ctx, r, store.Window{})
	say(threads, err)
	libraries, err := store.List[store.Library](ctx, r, store.Window{})
	say(libraries, err)
	stats, err := store.List[store.OpStat](ctx, r, w)
	must(t, err)
	for _, s := range stats {
		h, err := s.Hist.AppendBinary(nil)
		s.Hist = nil
		say(s, err)
		say(h, nil)
	}
	gaps, err := store.List[store.GapStat](ctx, r, w)
	say(gaps, err)
	say("calls", r.NotableCalls(ctx, w, func(c *event.Call) bool { say(*c, nil); return true }))
	say("times", r.CallTimes(ctx, w, func(c *event.CallTime) bool { say(*c, nil); return true }))
	say("gaps", r.NotableGaps(ctx, w, func(g *event.Gap) bool { say(*g, nil); return true }))
	say("intervals", r.OffCPU(ctx, w, func(o *event.OffCPU) bool { say(*o, nil); return true }))
	say("totals", r.ThreadTimes(ctx, w, func(o *event.ThreadTime) bool { say(*o, nil); return true }))
	throttles, err := store.List[store.Throttle](ctx, r, w)
	say(throttles, err)
	limits, err := store.List[store.MemoryLimit](ctx, r, store.Window{})
	say(limits, err)
	scheduling, err := store.List[store.Scheduling](ctx, r, store.Window{})
	say(scheduling, err)
	lives, err := store.List[event.Life](ctx, r, w)
	say(lives, err)
	stalls, err := store.List[event.Stall](ctx, r, w)
	say(stalls, err)
	reclaims, err := store.List[event.Reclaim](ctx, r, w)
	say(reclaims, err)
	snapshots, err := store.List[store.Snapshot](ctx, r, w)
	say(snapshots, err)
	gpus, err := store.List[store.GPUSnapshot](ctx, r, w)
	say(gpus, err)
	devices, err := store.List[store.GPUDevice](ctx, r, store.Window{})
	say(devices, err)
	series, err := r.OpSeries(ctx, w, 1)
	say(series, err)
	memory, err := store.List[event.Memory](ctx, r, w)
	say(memory, err)
	sites, err := store.List[event.MemorySite](ctx, r, w)
	say(sites, err)
	collectives, err := store.List[event.Collective](ctx, r, w)
	say(collectives, err)
	flights, err := store.List[event.InFlight](ctx, r, w)
	say(flights, err)
	kernels, err := store.List[store.Kernel](ctx, r, store.Window{})
	say(kernels, err)
	var io store.Tables
	say(r.Tables(ctx, w, &io.RequestSums, &io.Devices, &io.Files, &io.Connections, &io.HostMemory, &io.Pages), nil)
	say(io, nil)
	footprint, err := r.Footprint(ctx, w)
	say(footprint, err)
	stack, err := r.Stack(ctx, 77)
	say(stack, err)
	return b.String()
}

// batchFrom is a batch with everything in it, of whatever reads as 0 if it is absent.
func batchFrom(t testing.TB) *store.Batch {
	b := fullBatch(t)
	b.Collectives = collectiveBatch(t).Collectives
	return b
}

// Two machines with the same process ids, at the same nanoseconds: what is read of each
// is what was recorded of it, and nothing is missing in the views.
func TestMergedMachinesStaySeparate(t *testing.T) {
	t.Parallel()
	a := recordingOf(t, "gpu-01", store.Session{Boot: "x", PID: 50}, batchFrom(t))
	other := batchFrom(t)
	other.Processes[0].Name, other.Processes[0].Command = "another", "another program"
	b := recordingOf(t, "gpu-02", store.Session{Boot: "y", PID: 60}, other)
	unchanged(t, a)
	unchanged(t, b)
	out, r := merge(t, a, b)
	if r.Sessions != 2 || !slices.Equal(r.Nodes, []string{"gpu-01", "gpu-02"}) || r.Moved == 0 || r.Skipped != 0 {
		t.Errorf("merged %+v", r)
	}
	whole := reader(t, out)
	machines, err := whole.Machines(t.Context())
	must(t, err)
	if len(machines) != 2 {
		t.Fatalf("%d machines", len(machines))
	}
	for i, path := range []string{a, b} {
		want, got := everything(t, reader(t, path)), everything(t, machines[i])
		must(t, machines[i].Close())
		if i == 0 && want != got { // the second one's times moved
			t.Errorf("machine %d (-recorded +merged):\n%s", i, cmp.Diff(want, got))
		}
		if i == 1 && strings.Count(want, "\n") != strings.Count(got, "\n") {
			t.Errorf("machine %d (-recorded +merged):\n%s", i, cmp.Diff(want, got))
		}
	}
	once := []string{
		"sources", "ops", "cgroups", "stack_frames", "stack_traces", "process_names", "collective_arrivals",
		"filtered_views",
	}
	inA, inB, inOut := counting(t, a), counting(t, b), counting(t, out)
	for _, v := range query(t, out, "select name from sqlite_schema where type = 'view'") {
		from := fmt.Sprintf("%q", v[0])
		x, y, z := inA(from), inB(from), inOut(from)
		if want := x + y; z != want && !slices.Contains(once, v[0].(string)) || slices.Contains(once, v[0].(string)) &&
			z != x {
			t.Errorf("view %s: %d and %d rows became %d", v[0], x, y, z)
		}
	}
	for _, v := range query(t, out, "select distinct s.name from sqlite_schema s join pragma_table_info(s.name) c on "+
		"c.name = 'node' where s.type = 'view'") {
		if bad := inOut(fmt.Sprintf("%q where node is null", v[0])); bad != 0 && v[0] != "causal_chains" {
			t.Errorf("view %s: %v rows of no machine", v[0], bad)
		}
	}
	if dup := query(t, out, "select id, count(*) from events group by id having count(*) > 1"); len(dup) != 0 {
		t.Errorf("ids that are there twice: %v", dup)
	}
}

// The same at other times: then not even an id changes.
func TestMergingChangesNoID(t *testing.T) {
	t.Parallel()
	early, late := &store.Batch{}, &store.Batch{}
	for i := range uint64(100) {
		c := event.Call{
			Start: t0 + i*1000, Duration: 10, Thread: event.Thread{PID: 7, TID: 7},
			Op: opOf(t, "cudaLaunchKernel"), GPU: event.NoGPU,
		}
		c.Args[0] = i % 5
		early.Calls = append(early.Calls, c)
		c.Start += 500
		late.Calls = append(late.Calls, c)
	}
	a, b := recordingOf(t, "one", store.Session{Boot: "x"}, early), recordingOf(t, "two", store.Session{Boot: "y"}, late)
	out, r := merge(t, a, b)
	if r.Moved != 0 || r.Calls != 200 {
		t.Errorf("merged %+v", r)
	}
	ids := func(p string) [][]any { return query(t, p, "select id, arg0, node from cuda_events order by node, id") }
	if d := cmp.Diff(append(ids(a), ids(b)...), ids(out)); d != "" {
		t.Error(d)
	}
	if n := query(t, out, "select count(*) from args")[0][0]; n != int64(4) {
		t.Errorf("%v rows of arguments, where 4 differ from zero", n)
	}
}

// Each of two tracers of one machine follows the other one's process.
func TestTwoTracersOfOneMachine(t *testing.T) {
	t.Parallel()
	rank := func(own, other uint32, every uint64) *store.Batch {
		b := &store.Batch{Tables: store.Tables{
			Processes: []store.Process{
				{
					PID: own, Name: fmt.Sprintf("rank-%d", own), Command: "train", Rank: int(own), LocalRank: -1, WorldSize: -1,
					Traced: true,
				},
				{PID: other, Name: "seen from outside", Rank: -1, LocalRank: -1, WorldSize: -1},
			},
			Snapshots: []store.Snapshot{{At: t0 + uint64(own)*1000, CPUPct: 50}},
		}}
		for i := range uint64(10) {
			b.Calls = append(b.Calls, event.Call{
				Start: t0 + i*1_000_000 + uint64(own), Duration: 100,
				Thread: event.Thread{PID: own, TID: own}, Op: opOf(t, "cudaLaunchKernel"), GPU: event.NoGPU,
			})
			for _, pid := range []uint32{own, other} {
				if pid == other && i%every != 0 {
					continue
				}
				b.OffCPU = append(b.OffCPU, event.OffCPU{
					Start: t0 + i*1_000_000 + 500 + uint64(own) + uint64(pid), Duration: 1000,
					Thread: event.Thread{PID: pid, TID: pid}, Comm: "x",
					Class: event.Futex, Syscall: -1, WakerSyscall: -1, Dispatch: pid == own, Followed: pid == other,
					Culprits: []event.Culprit{{Thread: event.Thread{PID: 1, TID: 1}, NS: 5}},
				})
			}
		}
		return b
	}
	host := store.Session{Node: "gpu", Host: "gpu", Boot: "x"}
	first, second := host, host
	first.PID, second.PID = 51, 52
	a, b := recordingOf(t, "a", first, rank(100, 200, 1)), recordingOf(t, "b", second, rank(200, 100, 2))
	out, r := merge(t, a, b)
	if len(r.Nodes) != 1 || r.Calls != 20 || r.Skipped != 10+5+1 {
		t.Errorf("merged %+v", r)
	}
	re := reader(t, out)
	if m, err := re.Machines(t.Context()); err != nil || len(m) != 1 || m[0] != store.Reader(re) {
		t.Errorf("machines %v, %v", m, err)
	}
	if got := query(t, out,
		"select pid, count(*), count(distinct culprit_pid) from off_cpu group by pid"); fmt.Sprint(got) != "[[100 10 1] [200 10 1]]" {
		t.Errorf("intervals by process: %v", got)
	}
	if got := query(t, out, "select count(*) from culprits"); got[0][0] != int64(20) {
		t.Errorf("%v culprits", got)
	}
	ps, err := store.List[store.Process](t.Context(), re, store.Window{})
	must(t, err)
	for _, p := range ps {
		if p.PID > 1 && (p.Command != "train" || p.Rank != int(p.PID)) {
			t.Errorf("process %+v", p)
		}
	}
}

// Names given on the command line stand for the recorded ones, in ids as well.
func TestForcedNodes(t *testing.T) {
	t.Parallel()
	a := recordingOf(t, "localhost", store.Session{Host: "p"}, batchFrom(t))
	b := recordingOf(t, "localhost", store.Session{Host: "q"}, batchFrom(t))
	out := filepath.Join(t.TempDir(), "merged.db")
	_, err := sqlite.Merge(t.Context(), out, []sqlite.MergeInput{{Path: a}, {Path: b, Node: "it's gpu-02"}},
		sqlite.MergeOptions{})
	must(t, err)
	if got := query(t, out,
		"select node, min(substr(id, 1, 9)) from cuda_events group by 1 order by 1"); fmt.Sprint(got) != "[[it's gpu-02 "+
		"it's gpu-] [localhost localhost]]" {
		t.Errorf("nodes: %v", got)
	}
	// Of a recording of several machines it is not known which one it would be.
	_, err = sqlite.Merge(t.Context(), filepath.Join(t.TempDir(), "again.db"),
		[]sqlite.MergeInput{{Path: out, Node: "x"}, {Path: recordingOf(t, "more", store.Session{}, batchFrom(t))}},
		sqlite.MergeOptions{})
	checkError(t, err, sqlite.ErrMerge, []string{"several machines"})
	// Without a name it may be merged again, but not with what is in it.
	_, err = sqlite.Merge(t.Context(), filepath.Join(t.TempDir(), "again.db"), []sqlite.MergeInput{{Path: out}, {Path: a}},
		sqlite.MergeOptions{})
	checkError(t, err, sqlite.ErrMerge, []string{"hold the same recording"})
	again, _ := merge(t, out, recordingOf(t, "more", store.Session{}, batchFrom(t)))
	if got := query(t, again, "select count(distinct node) from events"); got[0][0] != int64(3) {
		t.Errorf("nodes: %v", got)
	}
}
