package sqlite_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
)

// legacyLike is a recording of an earlier version with some text in its script replaced.
func legacyLike(t *testing.T, version string, replace ...string) string {
	t.Helper()
	script, err := os.ReadFile(filepath.Join("testdata", "earlier_"+version+".sql"))
	must(t, err)
	for i := 0; i < len(replace); i += 2 {
		if !strings.Contains(string(script), replace[i]) {
			t.Fatalf("the script has no %q", replace[i])
		}
	}
	path := filepath.Join(t.TempDir(), "like.db")
	makeDB(t, path, strings.NewReplacer(replace...).Replace(string(script)))
	return path
}

// mergeLegacy merges recordings, each "PATH" or "NODE=PATH".
func mergeLegacy(t *testing.T, inputs ...string) (string, sqlite.MergeResult, error) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "merged.db")
	var list []sqlite.MergeInput
	for _, v := range inputs {
		node, path, ok := strings.Cut(v, "=")
		if !ok {
			node, path = "", v
		}
		unchanged(t, path)
		list = append(list, sqlite.MergeInput{Path: path, Node: node})
	}
	r, err := sqlite.Merge(t.Context(), out, list, sqlite.MergeOptions{})
	return out, r, err
}

func TestLegacyRecordingsAreMerged(t *testing.T) {
	t.Parallel()
	// The second machine has the same process ids and stack hash for other things.
	second := legacyLike(t, "0.8", "'server'", "'worker'", `"s":"cudaMalloc+0x1cb"`, `"s":"allocate"`, "12.5, 50",
		"99.5, 50")
	out, result, err := mergeLegacy(t, "one="+legacy(t, "0.8"), "two="+second, legacy(t, "0.9"))
	must(t, err)
	if d := cmp.Diff([]string{"one", "two", "a", "b"}, result.Nodes); d != "" || result.Calls != 14+14+2 ||
		result.Sessions != 2 {
		t.Errorf("%+v", result)
	}
	for q, want := range map[string]string{
		"select node, count(*), count(distinct id) from main.events group by node":                                       "[[a 2 2] [b 1 1] [one 11 11] [two 11 11]]",
		"select node, id from main.events where timestamp in (1001000000)":                                               "[[one one:3] [two two:3] [b b:1]]",
		"select node, count(*) from cuda_events group by node":                                                           "[[a 1] [b 1] [one 6] [two 6]]",
		"select node, pid, name from processes where pid = 200 order by node":                                            "[[one 200 server] [two 200 worker]]",
		"select id from causal_chains order by id":                                                                       "[[b:tail-high-cudaLaunchKernel] [one:chain-001] [one:chain-002] [two:chain-001] [two:chain-002]]",
		"select e.node, f.symbol from events e join stack_frames f using (stack_hash) where f.depth = 0 order by e.node": "[[one cudaMalloc] [two allocate]]",
		"select node, on_cpu_ns, other_ns from ledger order by node":                                                     "[[a 3000000 5000000] [one 2000000 1000000] [two 2000000 1000000]]",
		"select id, node, kernel from sessions order by id":                                                              "[[1 one 5.15.0] [2 two 5.15.0]]",
		"select count(*), count(distinct pid) from process_names":                                                        "[[2 2]]",
		"select name, count(*) from ops where name = 'cudaLaunchKernel' group by 1":                                      "[[cudaLaunchKernel 1]]",
		"select node, cpu_pct from main.system_snapshots order by node":                                                  "[[one 12.5] [two 99.5]]",
		"select value from main.schema_info where key = 'version'":                                                       "[[0.8 and 0.9]]",
	} {
		if got := fmt.Sprint(query(t, out, q)); got != want {
			t.Errorf("%s:\n%s, want\n%s", q, got, want)
		}
	}
	for name, q := range publishedQueries(t) {
		if rows := query(t, out, q); len(rows) == 0 {
			t.Errorf("%s: no rows", name)
		}
	}
}

// TestMergedLegacyRecordingsAreReadByNode reads what explain reads.
func TestMergedLegacyRecordingsAreReadByNode(t *testing.T) {
	t.Parallel()
	second := legacyLike(t, "0.8", "'server'", "'worker'", "(0, 1, 3, 200, 10, 2, 9060000",
		"(0, 1, 3, 200, 30, 2, 9160000")
	out, _, err := mergeLegacy(t, "one="+legacy(t, "0.8"), "two="+second)
	must(t, err)
	r := openLegacy(t, out)
	sum, err := r.Summary(t.Context())
	must(t, err)
	if sum.Node != "one, two" || sum.Stored != 12 || sum.Calls != 14+34 || len(sum.Sessions) != 2 ||
		sum.Sessions[1].Node != "two" {
		t.Errorf("summary %+v", sum)
	}
	procs, err := store.List[store.Process](t.Context(), r, store.Window{})
	must(t, err)
	names := map[uint32]store.Process{}
	var got []string
	for _, p := range procs {
		names[p.PID] = p
		got = append(got, p.Name+" on "+p.Node)
	}
	slices.Sort(got)
	want := []string{"python3 on one", "python3@two on two", "server on one", "worker@two on two"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("processes (-want +got):\n%s", d)
	}
	stats, err := store.List[store.OpStat](t.Context(), r, store.Window{})
	must(t, err)
	launches := map[string]uint64{}
	for _, o := range stats {
		if o.Op == opOf(t, "cudaLaunchKernel") {
			launches[names[o.PID].Node] += o.Calls
		}
	}
	if d := cmp.Diff(map[string]uint64{"one": 10, "two": 30}, launches); d != "" {
		t.Errorf("launches (-want +got):\n%s", d)
	}
	ids := map[string]bool{}
	e, err := r.(store.LegacyReader).Legacy(t.Context(), store.Window{})
	must(t, err)
	for _, id := range e.IDs {
		ids[id] = true
	}
	if len(e.Chains) != 4 || !ids["one:3"] || !ids["two:3"] {
		t.Errorf("%d chains, ids %v", len(e.Chains), ids)
	}
	must(t, r.OffCPU(t.Context(), store.Window{}, func(o *event.OffCPU) bool {
		if o.Comm != "python3" {
			t.Errorf("an interval of %q", o.Comm)
		}
		return true
	}))
	// It is merged with others as each of its parts would be.
	again, result, err := mergeLegacy(t, out, legacy(t, "0.9"))
	must(t, err)
	if fmt.Sprint(result.Nodes) != "[one two a b]" {
		t.Errorf("nodes %v", result.Nodes)
	}
	if got := fmt.Sprint(query(t, again,
		"select node, name from processes where pid = 200 order by 1")); got != "[[one server] [two worker]]" {
		t.Errorf("names after a second merge: %s", got)
	}
}

func TestControlGroupsOfLegacyRecordingsAreDistinguished(t *testing.T) {
	t.Parallel()
	const groups = ";\ncreate table cgroup_metadata (cgroup_id integer primary key, cgroup_path text); insert into " +
		"cgroup_metadata values (7, '/%s'); update events set cgroup_id = 7;"
	with := func(path string) string {
		return legacyLike(t, "0.8", "'free text', 'cudaStreamSync');",
			"'free text', 'cudaStreamSync')"+fmt.Sprintf(groups, path))
	}
	out, _, err := mergeLegacy(t, "one="+with("a"), "two="+with("b"), "three="+with("c"))
	must(t, err)
	got := query(t, out, "select distinct e.node, c.path from events e join cgroups c using (cgroup_id) order by 2")
	if fmt.Sprint(got) != "[[one /a] [two /b] [three /c]]" {
		t.Errorf("control groups %v", got)
	}
}

func TestLegacyRecordingsThatCannotBeMerged(t *testing.T) {
	t.Parallel()
	today := recordingOf(t, "today", store.Session{Boot: "x"}, batchFrom(t))
	for _, c := range []struct {
		name   string
		inputs []string
		says   []string
	}{
		{
			"with one of today",
			[]string{today, "one=" + legacy(t, "0.8")},
			[]string{"is of Ingero 0.x", "merge those of 0.x by themselves"},
		},
		{"nameless", []string{legacy(t, "0.9"), legacy(t, "0.8")}, []string{"which machine", "--force-node NAME="}},
		{
			"same name",
			[]string{"one=" + legacy(t, "0.8"), "one=" + legacy(t, "0.8")},
			[]string{"both of one", "--force-node NAME="},
		},
		{"name of another", []string{"a=" + legacy(t, "0.8"), legacy(t, "0.9")}, []string{"both of a"}},
		{
			"several renamed",
			[]string{"one=" + legacy(t, "0.9"), "two=" + legacy(t, "0.8")},
			[]string{"several machines", "leave out --force-node"},
		},
		{
			"other operations",
			[]string{
				"one=" + legacy(t, "0.8"),
				legacyLike(t, "0.9", "(1, 3, 'cudaLaunchKernel', '')", "(1, 3, 'cudaMemcpy', '')"),
			},
			[]string{"cudaLaunchKernel", "cudaMemcpy", "number operations differently"},
		},
	} {
		out, _, err := mergeLegacy(t, c.inputs...)
		checkError(t, err, sqlite.ErrMerge, c.says)
		if left := listing(t, filepath.Dir(out)); len(left) != 0 {
			t.Errorf("%s: left %v", c.name, left)
		}
	}
}

// TestPublishedNodesAreMergedAsTheyWerePublished compares with the merged recording that was
// published beside the nodes'.
func TestPublishedNodesAreMergedAsTheyWerePublished(t *testing.T) {
	t.Parallel()
	var nodes []string
	cluster := ""
	for _, path := range investigations(t) {
		switch name := filepath.Base(path); {
		case name == "sample-cluster.db":
			cluster = path
		case strings.HasPrefix(name, "sample-gpu-node-"):
			nodes = append(nodes, path)
		}
	}
	out, result, err := mergeLegacy(t, nodes...)
	must(t, err)
	if len(result.Nodes) != 3 {
		t.Errorf("nodes %v", result.Nodes)
	}
	for _, q := range []string{
		"select id, node, timestamp, duration, op, pid, tid, stack_hash from events order by id",
		"select node, id, summary from main.causal_chains order by id",
		"select node, started_at from main.sessions order by 1",
		"select * from cgroups order by 1", "select hash, depth from stack_traces order by 1",
	} {
		if d := cmp.Diff(query(t, cluster, q), query(t, out, q)); d != "" {
			t.Errorf("%s (-published +merged):\n%.2000s", q, d)
		}
	}
}
