package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/source"
	"github.com/ingero-io/ingero/export"
	"github.com/ingero-io/ingero/metrics"
	"github.com/ingero-io/ingero/serve/mcptool"
	"github.com/ingero-io/ingero/serve/nodeapi"
	"github.com/ingero-io/ingero/serve/nodeapi/wire"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
	"github.com/ingero-io/ingero/tui/live"
)

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestTimeOfASecondIsAtMostASecond: everything that shows where threads' time went shows no more
// time than there was. The threads are random; the recordings are thinned or not.
func TestTimeOfASecondIsAtMostASecond(t *testing.T) {
	for seed := range uint64(4) {
		for _, rate := range []int{20, 1 << 20} {
			t.Run(fmt.Sprintf("seed %d, %d rows a second", seed, rate), func(t *testing.T) {
				live := live.New()
				reader := sdk.NewManualReader()
				m, err := metrics.New(metrics.Sender{Node: "host", Version: "test"}, reader)
				check(t, err)
				walls := map[event.Thread]uint64{}
				path, list := randomThreads(t, seed, rate, func(b *store.Batch, at uint64) {
					live.Batch(b)
					m.Batch(b)
					checkTally(t, live.Picture(at))
				})
				for _, a := range list {
					walls[a.Thread] = a.at - a.began
				}
				checkMetrics(t, reader, list)
				checkViews(t, path, walls)
				checkTools(t, path, list)
				checkAPI(t, path, list, walls)
				checkProfile(t, path, list)
			})
		}
	}
}

func checkTally(t *testing.T, p *live.Picture) {
	t.Helper()
	for i := range p.Threads {
		for _, s := range p.Threads[i].Spans {
			sum := s.OnCPU + s.Unaccounted
			for _, ns := range s.Class {
				sum += ns
			}
			if sum > s.NS {
				t.Errorf("live: classes of thread %d are %d ns of %d", p.Threads[i].TID, sum, s.NS)
			}
		}
	}
	for k, o := range p.Ops {
		if l := (event.Ledger{NS: o.Class}); l.Total() > o.NS {
			t.Errorf("live: calls of %s took %d ns and waited %d", k.Op, o.NS, l.Total())
		}
	}
}

func checkMetrics(t *testing.T, r sdk.Reader, list []*randomThread) {
	t.Helper()
	var all metricdata.ResourceMetrics
	check(t, r.Collect(t.Context(), &all))
	sum, off := 0.0, 0.0
	for _, scope := range all.ScopeMetrics {
		for _, x := range scope.Metrics {
			if x.Name != "ingero.thread.time" {
				continue
			}
			for _, p := range x.Data.(metricdata.Sum[float64]).DataPoints {
				sum += p.Value
				if state, _ := p.Attributes.Value("ingero.state"); state.AsString() != "on_cpu" {
					off += p.Value
				}
			}
		}
	}
	wall, waits := 0.0, 0.0
	for _, a := range list {
		wall, waits = wall+float64(a.at-a.began)/1e9, waits+float64(a.waits)/1e9
	}
	if sum > wall+1e-6 || sum < waits || off > sum {
		t.Errorf("metrics: states add up to %v s of %v, with %v of waits", sum, wall, waits)
	}
}

// none asserts that a query has no rows.
func none(t *testing.T, path, sql string) {
	t.Helper()
	rows, err := sqlite.Query(t.Context(), path, sql, store.Limits{})
	check(t, err)
	defer rows.Close()
	for n := 0; rows.Next(); n++ {
		if n < 3 {
			t.Errorf("%s: %v", sql, rows.Values())
		}
	}
	check(t, rows.Err())
}

func checkViews(t *testing.T, path string, walls map[event.Thread]uint64) {
	t.Helper()
	var classes []string
	for c := range event.NumClasses {
		classes = append(classes, c.String()+"_ns")
	}
	sum := strings.Join(append(classes, "on_cpu_ns"), " + ")
	none(t, path, "select * from ledger where duration_ns < "+sum)
	none(t, path, "select * from thread_times where duration_ns <> "+sum)
	none(t, path,
		`select * from off_cpu_times o join thread_times t using (tid, timestamp) group by tid, timestamp having sum(o.duration_ns) > t.duration_ns`)
	const whole = "max(timestamp + duration_ns) - min(timestamp)"
	for _, sql := range []string{
		"select tid, timestamp / 1000000000 as second, sum(" + sum +
			") as ns from ledger where depth = 0 group by 1, 2 having ns > " + whole,
		"select tid, timestamp / 1000000000 as second, sum(" + sum + ") as ns from thread_times group by 1, 2 having ns > " +
			whole,
		"select tid, timestamp / 1000000000 as second, sum(duration_ns) as ns from events where depth = 0 and source <> 3 " +
			"group by 1, 2 having ns > " + whole + " + 1000000",
	} {
		none(t, path, sql)
	}
	for thread, wall := range walls {
		for _, sum := range []string{
			"sum(sum_ns) as ns from op_seconds where nested = 0", "sum(duration_ns) as ns from off_cpu_times where 1",
			"sum(duration_ns) as ns from off_cpu where 1",
			"sum(duration_ns) as ns from thread_times where 1", "sum(duration_ns) as ns from cuda_events where depth = 0",
			"sum(duration_ns) as ns from ledger where depth = 0",
		} {
			none(t, path, fmt.Sprintf("select %s and tid = %d having ns > %d", sum, thread.TID, wall))
		}
	}
}

func checkTools(t *testing.T, path string, list []*randomThread) {
	t.Helper()
	src := source.New(path)
	t.Cleanup(func() { src.Close() })
	ours, theirs := mcp.NewInMemoryTransports()
	ss, err := mcptool.NewServer(src, mcptool.Options{}).Connect(t.Context(), ours, nil)
	check(t, err)
	t.Cleanup(func() { ss.Close() })
	cs, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), theirs, nil)
	check(t, err)
	t.Cleanup(func() { cs.Close() })
	ask := func(tool string, args map[string]any, out any) {
		t.Helper()
		res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
		check(t, err)
		if res.IsError {
			t.Fatalf("%s %v: %v", tool, args, res.Content[0].(*mcp.TextContent).Text)
		}
		b, err := json.Marshal(res.StructuredContent)
		check(t, err)
		check(t, json.Unmarshal(b, out))
	}
	var stats struct {
		OffCPU []struct {
			Class string
			NS    uint64
		} `json:"off_cpu"`
	}
	ask("get_trace_stats", map[string]any{"since": "all"}, &stats)
	sum, waits := uint64(0), uint64(0)
	for _, w := range stats.OffCPU {
		sum += w.NS
	}
	for _, a := range list {
		waits += a.waits
	}
	if sum != waits {
		t.Errorf("get_trace_stats: %d ns off the CPU, want %d", sum, waits)
	}
	for _, a := range list {
		for _, n := range []int{5, 60} {
			var line struct {
				Columns []string
				Buckets [][]any
			}
			ask("get_timeline", map[string]any{"since": "all", "tid": a.TID, "buckets": n}, &line)
			inCalls := slices.Index(line.Columns, "in_calls")
			for _, b := range line.Buckets {
				sum := 0.0
				for _, pct := range b[inCalls+1:] {
					sum += pct.(float64)
				}
				if sum > 100.5 || b[inCalls].(float64) > 100 {
					t.Errorf("get_timeline of %d: %v of %v", a.TID, b, line.Columns)
				}
			}
		}
	}
	checkWindows(t, ask, list)
}

// checkWindows asks for what threads waited for in single seconds, which add up to all of it.
func checkWindows(t *testing.T, ask func(string, map[string]any, any), list []*randomThread) {
	t.Helper()
	by := func(of func(*randomThread) uint64) func(a, b *randomThread) int {
		return func(a, b *randomThread) int { return int(int64(of(a)) - int64(of(b))) }
	}
	began := func(a *randomThread) uint64 { return a.began }
	ended := func(a *randomThread) uint64 { return a.at }
	first, last := slices.MinFunc(list, by(began)).began/1e9, slices.MaxFunc(list, by(ended)).at/1e9
	all, want := int64(0), int64(0)
	for s := first; s <= last; s++ {
		var stats struct {
			OffCPU []struct{ NS uint64 } `json:"off_cpu"`
		}
		at := func(s uint64) string { return time.Unix(int64(s), 0).UTC().Format(time.RFC3339) }
		ask("get_trace_stats", map[string]any{"since": at(s) + "/" + at(s+1)}, &stats)
		sum := uint64(0)
		for _, w := range stats.OffCPU {
			sum += w.NS
		}
		if all += int64(sum); sum > uint64(len(list))*1e9 {
			t.Errorf("get_trace_stats of one second: %d ns off the CPU of %d threads", sum, len(list))
		}
	}
	for _, a := range list {
		want += int64(a.waits)
	}
	if rounded := int64(last-first+1) * 100; all > want+rounded || all < want-rounded {
		t.Errorf("get_trace_stats: seconds have %d ns off the CPU, all of them %d", all, want)
	}
}

func checkAPI(t *testing.T, path string, list []*randomThread, walls map[event.Thread]uint64) {
	t.Helper()
	src := source.New(path)
	t.Cleanup(func() { src.Close() })
	h := nodeapi.New(src, nodeapi.Options{})
	ask := func(query string, out any) {
		t.Helper()
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, nodeapi.Prefix+query, nil))
		if w.Code != http.StatusOK {
			t.Fatalf("%s: %d %s", query, w.Code, w.Body)
		}
		check(t, json.Unmarshal(w.Body.Bytes(), out))
	}
	for _, query := range append(secondsOf(list), "since=all") {
		var ledgers wire.Ledgers
		ask("ledger?"+query, &ledgers)
		for i := range ledgers.Threads {
			checkLedger(t, query, &ledgers.Threads[i], walls)
		}
	}
	var waits wire.Waits
	ask("waits?since=all&limit=1000", &waits)
	perProcess := map[uint32]uint64{}
	for _, w := range waits.Waits {
		perProcess[w.PID] += w.TotalNS
	}
	for thread, wall := range walls {
		perProcess[thread.PID] -= min(wall, perProcess[thread.PID])
	}
	for pid, ns := range perProcess {
		if ns > 0 {
			t.Errorf("waits of %d are %d ns more than there was", pid, ns)
		}
	}
	for _, buckets := range []int{1, 16, 300} {
		var l wire.Lanes
		ask(fmt.Sprintf("lanes?since=all&rows=0&buckets=%d", buckets), &l)
		checkLanes(t, &l, walls)
	}
}

// secondsOf are windows of a second, of an API's question.
func secondsOf(list []*randomThread) (windows []string) {
	last := slices.MaxFunc(list, func(a, b *randomThread) int { return int(int64(a.at) - int64(b.at)) }).at / 1e9
	for s := list[0].began/1e9 + 1; s < last; s += 3 {
		windows = append(windows, fmt.Sprintf("from=%d&to=%d", s*1e9, (s+1)*1e9))
	}
	return windows
}

func checkLedger(t *testing.T, query string, l *wire.ThreadLedger, walls map[event.Thread]uint64) {
	t.Helper()
	in, between := uint64(0), uint64(0)
	for _, ns := range l.InCalls {
		in += ns
	}
	for _, ns := range l.BetweenNS {
		between += ns
	}
	if in > l.CallsNS || in+between > l.WallNS || l.WallNS > walls[event.Thread{PID: l.PID, TID: l.TID}] {
		t.Errorf("ledger of %d, %s: %d ns of %d in calls, and %d of %d in all", l.TID, query, in, l.CallsNS, in+between,
			l.WallNS)
	}
}

// checkLanes allows for calls that are shown where another one was: they may be some more in a
// bucket than fit into it, but not in all, and the answer says so.
func checkLanes(t *testing.T, l *wire.Lanes, walls map[event.Thread]uint64) {
	t.Helper()
	for _, lane := range l.Lanes {
		wall := int64(walls[event.Thread{PID: lane.PID, TID: lane.TID}])
		for kind, list := range map[string][]int64{"calls": lane.Calls, "waits": lane.Waits} {
			all, of := int64(0), map[int64]int64{}
			for i := 0; i < len(list); i += 4 {
				all, of[list[i]] = all+list[i+2], of[list[i]]+list[i+2]
			}
			if all > wall {
				t.Errorf("lanes: %s of %d are %d ns of %d", kind, lane.TID, all, wall)
			}
			for bucket, ns := range of {
				if ns > int64(l.BucketNS) && (kind == "waits" || l.Estimate == "") {
					t.Errorf("lanes: %d ns of %s in bucket %d of %d ns", ns, kind, bucket, l.BucketNS)
				}
			}
		}
	}
}

func checkProfile(t *testing.T, path string, list []*randomThread) {
	t.Helper()
	r, err := sqlite.OpenReader(path)
	check(t, err)
	defer r.Close()
	var b bytes.Buffer
	check(t, export.Pprof(t.Context(), &b, r, export.Options{}))
	p, err := profile.Parse(&b)
	check(t, err)
	at := slices.IndexFunc(p.SampleType, func(v *profile.ValueType) bool { return v.Unit == "nanoseconds" })
	off, wall := uint64(0), uint64(0)
	for _, s := range p.Sample {
		if len(s.Label["class"]) > 0 {
			off += uint64(s.Value[at])
		}
	}
	for _, a := range list {
		wall += a.at - a.began
	}
	if off > wall {
		t.Errorf("profile: %d ns off the CPU of %d", off, wall)
	}
}
