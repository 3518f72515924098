package export_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/ingero-io/ingero/explain/diagnose"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
)

// mergedAhead is by how much the clock of one machine is ahead, as both know of common
// collective operations.
const mergedAhead = uint64(time.Hour)

// merged is a recording of two machines, on which processes and threads have the same
// ids. What they did takes twice as long on one, which has a finding, too, and a clock
// that is ahead.
func merged(t *testing.T) *recording {
	t.Helper()
	dir := t.TempDir()
	var inputs []sqlite.MergeInput
	for _, m := range []made{
		{node: "node-a", steps: 400, scale: 1},
		{node: "node-b", steps: 1200, scale: 2, hog: true, ahead: mergedAhead, rank: 1},
	} {
		inputs = append(inputs, sqlite.MergeInput{Path: m.write(t, dir)})
	}
	path := filepath.Join(dir, "cluster.db")
	if _, err := sqlite.Merge(t.Context(), path, inputs, sqlite.MergeOptions{}); err != nil {
		t.Fatal(err)
	}
	r, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	rep, err := diagnose.Explain(t.Context(), r, store.Window{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(rep.Chains) != 1 || rep.Chains[0].Effect.Node != "node-b" {
		t.Fatalf("found %+v, want one cause on node-b", rep.Chains)
	}
	return &recording{t, path, r, rep}
}

// nodeSums is callSums of each node.
const nodeSums = "select node || ' ' || op, count(*), sum(duration_ns) from cuda_events where stored group by 1"

// waitNodeSums is waitSums of each node.
var waitNodeSums = strings.NewReplacer("select class, duration_ns", "select node || ' ' || class as class, duration_ns",
	"select '", "select node || ' ' || '").Replace(waitSums)

func TestExportsDistinguishMachines(t *testing.T) {
	r := merged(t)
	for name, test := range map[string]func(*testing.T, *recording){
		"perfetto": perfettoIsWhole, "chrome": chromeTellsMachinesApart, "pprof": pprofTellsMachinesApart,
	} {
		t.Run(name, func(t *testing.T) { test(t, r) })
	}
}

// Which machine is which in a Perfetto trace, its own trace processor tells.
func perfettoIsWhole(t *testing.T, r *recording) {
	sums := sliceSums(t, r.write(format(t, "perfetto"), store.Window{}))
	compare(t, "calls", sums["CUDA"], r.sums(callSums))
	compare(t, "waits", sums["off_cpu"], r.sums(waitSums))
}

func chromeTellsMachinesApart(t *testing.T, r *recording) {
	var file struct {
		Events []struct {
			Name, Ph, Cat, S string
			TS, Dur          json.Number
			PID              uint32
			Args             map[string]any
		} `json:"traceEvents"`
	}
	d := json.NewDecoder(bytes.NewReader(r.write(format(t, "chrome"), store.Window{})))
	d.UseNumber()
	if err := d.Decode(&file); err != nil {
		t.Fatal(err)
	}
	names, calls, waits := map[uint32]string{}, map[string][2]int64{}, map[string][2]int64{}
	for _, e := range file.Events {
		if e.Ph == "M" && e.Name == "process_name" {
			names[e.PID] = e.Args["name"].(string)
		}
	}
	node := func(pid uint32) string {
		for _, n := range []string{"node-a", "node-b"} {
			if strings.Contains(names[pid], n) {
				return n
			}
		}
		t.Fatalf("process %d is called %q, which names no node", pid, names[pid])
		return ""
	}
	for _, e := range file.Events {
		switch {
		case e.Ph == "X" && e.Cat == "CUDA":
			if nanos(t, e.TS) > int64(time.Minute) {
				t.Fatalf("a call on %s is at %s: by its own clock", node(e.PID), e.TS)
			}
			add(calls, node(e.PID)+" "+e.Name, nanos(t, e.Dur))
		case e.Ph == "X" && nanos(t, e.Dur) > 0:
			add(waits, node(e.PID)+" "+e.Name, nanos(t, e.Dur))
		case e.Ph == "i" && e.S == "p" && names[e.PID] != "node node-b":
			t.Errorf("the finding is at %q, want node-b", names[e.PID])
		}
	}
	compare(t, "calls", calls, r.sums(nodeSums))
	compare(t, "waits", waits, r.sums(waitNodeSums))
}

func pprofTellsMachinesApart(t *testing.T, r *recording) {
	p, err := profile.ParseData(r.write(format(t, "pprof"), store.Window{}))
	if err != nil {
		t.Fatal(err)
	}
	calls := map[string][2]int64{}
	for _, s := range p.Sample {
		if s.Value[0] > 0 {
			key := s.Label["node"][0] + " " + s.Location[0].Line[0].Function.Name
			calls[key] = [2]int64{calls[key][0] + s.Value[0], calls[key][1] + s.Value[1]}
		}
	}
	compare(t, "calls", calls, r.sums(nodeSums))
}

func TestTraceProcessorDistinguishesMachines(t *testing.T) {
	if os.Getenv(traceProcessorEnv) == "" {
		t.Skip(traceProcessorEnv + " is not set: make test-perfetto installs Perfetto's trace processor and asks it")
	}
	const (
		of = "from slice s join thread_track t on t.id = s.track_id join thread using (utid) join process p using " +
			"(upid) "
		name    = "select substr(p.name, 12, 6) || ' ' || s.name as name, count(*) as n, sum(s.dur) as ns "
		errors  = "select name, value from stats where severity in ('error', 'data_loss') and value > 0"
		calls   = name + of + "where s.category = 'CUDA' group by 1"
		waits   = name + of + "where s.category = 'off_cpu' and s.dur > 0 group by 1"
		between = "select count(*) as n from flow f join slice o on f.slice_out = o.id join slice i on f.slice_in = i.id " +
			"join thread_track a on a.id = o.track_id join thread_track b on b.id = i.track_id join thread x on x.utid = " +
			"a.utid join thread y on y.utid = b.utid where x.upid <> y.upid"
		ids = "select count(*) as n " + of +
			"join args a using (arg_set_id) where s.category = 'CUDA' and a.key = 'debug.id' and a.string_value <> " +
			"substr(p.name, 12, 6) || ':' || (s.ts + iif(p.name glob '*node-b', 3600000000000, 0))"
		findings = "select p.name as name, count(*) as n, 0 as ns from slice s join track t on t.id = s.track_id join " +
			"track p on p.id = t.parent_id where t.name = 'Findings' group by 1"
		counters = "select p.name as name, count(*) as n, cast(round(sum(c.value)) as int) as ns from counter c join " +
			"track t on t.id = c.track_id join track p on p.id = t.parent_id where t.name = 'CPU' group by 1"
		machines = "select 'machines' as name, count(distinct machine_id) as n, count(distinct pid) as ns from process " +
			"where name glob 'trainer*'"
	)
	r := merged(t)
	for _, f := range []string{"perfetto", "chrome"} {
		path := filepath.Join(t.TempDir(), f)
		if err := os.WriteFile(path, r.write(format(t, f), store.Window{}), 0o600); err != nil {
			t.Fatal(err)
		}
		a := ask(t, path, errors, calls, waits, between, ids, findings, counters, machines)
		for _, e := range a[0] {
			t.Errorf("%s: the trace processor counts %v %v", f, e["value"], e["name"])
		}
		compare(t, f+" calls", table(t, a[1]), r.sums(nodeSums))
		compare(t, f+" waits", table(t, a[2]), r.sums(waitNodeSums))
		if n := integer(t, a[3][0]["n"]); n != 0 {
			t.Errorf("%s: %d arrows go from one machine to another", f, n)
		}
		if f == "chrome" {
			continue
		}
		if n := integer(t, a[4][0]["n"]); n != 0 {
			t.Errorf("the ids of %d calls are not those of the recording", n)
		}
		compare(t, "findings", table(t, a[5]), map[string][2]int64{"node node-b": {1, 0}})
		compare(t, "counters", table(t, a[6]),
			r.sums("select 'node ' || node, count(*), cast(round(sum(cpu_pct)) as int) from system_snapshots group by 1"))
		compare(t, "machines", table(t, a[7]), map[string][2]int64{"machines": {2, 1}})
	}
}
