package metrics

import (
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/store"
)

// scraped is a set of metrics that Prometheus can read.
func scraped(t *testing.T) (*Metrics, *Scraped) {
	t.Helper()
	s, err := Scrape("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m, err := New(Sender{Node: "node-1", Version: "test"}, s.Reader)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return m, s
}

// get reads what Prometheus does, as protobuf: only that has native histograms.
func get(t *testing.T, s *Scraped) map[string]*dto.MetricFamily {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.Addr().String()+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", string(expfmt.NewFormat(expfmt.TypeProtoDelim)))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	d := expfmt.NewDecoder(resp.Body, expfmt.ResponseFormat(resp.Header))
	all := map[string]*dto.MetricFamily{}
	for {
		f := &dto.MetricFamily{}
		if err := d.Decode(f); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all[f.GetName()] = f
	}
}

// only is the one series of a family whose labels hold what is given, as a=b.
func only(t *testing.T, all map[string]*dto.MetricFamily, name string, labels ...string) *dto.Metric {
	t.Helper()
	var found []*dto.Metric
	for _, m := range all[name].GetMetric() {
		has := map[string]bool{}
		for _, l := range m.GetLabel() {
			has[l.GetName()+"="+l.GetValue()] = true
		}
		ok := true
		for _, l := range labels {
			ok = ok && has[l]
		}
		if ok {
			found = append(found, m)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d series of %s with %v: %v", len(found), name, labels, found)
	}
	return found[0]
}

const ms = uint64(1e6)

func opNamed(t *testing.T, name string) event.Op {
	t.Helper()
	for i := range event.Catalog {
		if event.Catalog[i].Name == name {
			return event.Catalog[i].Op
		}
	}
	t.Fatalf("there is no %s", name)
	return 0
}

// batch has two processes of one name and rank 3 of another.
func batch(t *testing.T) *store.Batch {
	t.Helper()
	launch, malloc, reduce := opNamed(t, "cudaLaunchKernel"), opNamed(t, "cudaMalloc"), opNamed(t, "ncclAllReduce")
	thread := func(pid uint32) event.Thread { return event.Thread{PID: pid, TID: pid} }
	waited := event.Ledger{}
	waited.NS[event.Futex] = 3 * ms
	b := &store.Batch{Tables: store.Tables{
		Processes: []store.Process{
			{PID: 10, Name: "engine", Rank: -1},
			{PID: 11, Name: "engine", Rank: -1},
			{PID: 12, Name: "rank\x1b[31m", Rank: 3},
		},
		Records: event.Records{
			Calls: []event.Call{
				{Thread: thread(10), Op: launch, Duration: 10 * ms, Ledger: waited},
				{Thread: thread(11), Op: launch, Duration: 30 * ms, Depth: 1},
				{Thread: thread(12), Op: malloc, Duration: 2 * ms, Args: [event.NumArgs]uint64{4096}},
				{Thread: thread(12), Op: malloc, Duration: 2 * ms, Ret: 2, Args: [event.NumArgs]uint64{1 << 40}},
			},
			Gaps: []event.Gap{{Thread: thread(10), Duration: 5 * ms, Ledger: waited}},
		},
		Collectives: []event.Collective{{Thread: thread(12), Op: reduce, At: 100, SyncOp: launch, SyncEnd: 100 + 7*ms}},
		Memory: []event.Memory{
			{PID: 10, LiveBytes: 100},
			{PID: 11, LiveBytes: 20},
			{PID: 12, Space: event.PinnedMemory, LiveBytes: 3},
		},
		Snapshots: []store.Snapshot{{CPUPct: 50, MemPct: 25}},
		GPUs:      []store.GPUSnapshot{{GPU: 1, UtilPct: 90, TempC: 60, ClockMHz: 1500, MemMB: 2, TotalMB: 8}},
		Losses:    []event.Loss{{Kind: event.LostCall, Count: 5}},
	}}
	return b
}

func TestPrometheusReadsWhatWasRecorded(t *testing.T) {
	m, s := scraped(t)
	m.Batch(batch(t))
	m.Second(&Tracer{InFlight: 2, CPU: 0.04, RSS: 1000, Ring: 0.5, DBBytes: 77})
	chain := report.Chain{Severity: "HIGH", LostPct: 12}
	chain.Cause.Kind, chain.Effect.Process = "cpu_contention", "engine"
	m.Findings(&report.Report{Chains: []report.Chain{chain}})
	all := get(t, s)

	h := only(t, all, "ingero_call_duration_seconds", "ingero_op=cudaLaunchKernel",
		"process_executable_name=engine").GetHistogram()
	if h.GetSampleCount() != 2 || math.Abs(h.GetSampleSum()-0.040) > 1e-9 {
		t.Errorf("%d launches of %v s, want 2 of 0.04", h.GetSampleCount(), h.GetSampleSum())
	}
	if h.Schema == nil || len(h.GetPositiveSpan()) == 0 {
		t.Error("the histogram is not a native one")
	}
	for _, c := range []struct {
		name   string
		labels []string
		want   float64
	}{
		{"ingero_call_errors_total", []string{"error_type=2", "ingero_rank=3", "process_executable_name=rank?[31m"}, 1},
		{"ingero_call_io_bytes_total", []string{"ingero_op=cudaMalloc"}, 4096},
		{"ingero_thread_time_seconds_total", []string{"ingero_state=futex"}, 0.006},
		{"ingero_thread_time_seconds_total", []string{"ingero_state=on_cpu", "process_executable_name=engine"}, 0.009},
		{"ingero_call_in_flight", nil, 2},
		{"ingero_gpu_memory_allocated_bytes", []string{"ingero_memory_space=device", "process_executable_name=engine"}, 120},
		{"ingero_gpu_memory_allocated_bytes", []string{"ingero_memory_space=pinned"}, 3},
		{"ingero_findings", []string{"ingero_cause_kind=cpu_contention", "ingero_severity=HIGH"}, 1},
		{"ingero_finding_lost_ratio", []string{"process_executable_name=engine"}, 0.12},
		{"ingero_losses_total", []string{"ingero_loss_kind=" + event.LostCall.String()}, 5},
		{"ingero_tracer_cpu_utilization_ratio", nil, 0.04},
		{"ingero_tracer_memory_usage_bytes", nil, 1000},
		{"ingero_tracer_ring_utilization_ratio", nil, 0.5},
		{"ingero_recording_size_bytes", nil, 77},
		{"hw_gpu_utilization_ratio", []string{"hw_id=1"}, 0.9},
		{"hw_gpu_memory_usage_bytes", nil, 2 << 20},
		{"hw_gpu_memory_limit_bytes", nil, 8 << 20},
		{"hw_temperature_celsius", nil, 60},
		{"ingero_gpu_clock_frequency_hertz", nil, 1.5e9},
		{"system_cpu_utilization_ratio", nil, 0.5},
		{"system_memory_utilization_ratio", nil, 0.25},
	} {
		x := only(t, all, c.name, c.labels...)
		if got := x.GetGauge().GetValue() + x.GetCounter().GetValue(); math.Abs(got-c.want) > 1e-9*math.Abs(c.want) {
			t.Errorf("%s %v is %v, want %v", c.name, c.labels, got, c.want)
		}
	}
	if w := only(t, all,
		"ingero_collective_wait_duration_seconds").GetHistogram(); math.Abs(w.GetSampleSum()-0.007) > 1e-12 {
		t.Errorf("waited %v s for the collective, want 0.007", w.GetSampleSum())
	}
	info := only(t, all, "target_info", "service_name=ingero", "host_name=node-1")
	if info.GetGauge().GetValue() != 1 {
		t.Error("target_info is not 1")
	}

	// A finding that is over, and a process that ended, are reported so.
	m.Findings(&report.Report{})
	m.Batch(&store.Batch{Ended: []uint32{10}, Tables: store.Tables{Memory: []event.Memory{{PID: 10, LiveBytes: 7}}}})
	all = get(t, s)
	if v := only(t, all, "ingero_findings").GetGauge().GetValue(); v != 0 {
		t.Errorf("%v findings, want none", v)
	}
	if v := only(t, all, "ingero_gpu_memory_allocated_bytes",
		"ingero_memory_space=device").GetGauge().GetValue(); v != 20 {
		t.Errorf("%v bytes are allocated, want 20", v)
	}
}

// What promtool check metrics looks at.
func TestNamesAreAsPrometheusWantsThem(t *testing.T) {
	m, s := scraped(t)
	m.Batch(batch(t))
	m.Second(&Tracer{})
	var families []*dto.MetricFamily
	for _, f := range get(t, s) {
		families = append(families, f)
	}
	if len(families) < 15 {
		t.Errorf("only %d metrics", len(families))
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// However many processes there are, and whatever they are called, the number of
// series is bounded, and nothing is left out of the sum.
func TestSeriesAreBounded(t *testing.T) {
	m, s := scraped(t)
	const n = 3 * maxSeries
	launch := opNamed(t, "cudaLaunchKernel")
	for i := range uint32(n) {
		m.Batch(&store.Batch{Tables: store.Tables{
			Processes: []store.Process{{PID: i, Name: fmt.Sprintf("job-%d", i), Rank: -1}},
			Records: event.Records{
				Calls: []event.Call{{Thread: event.Thread{PID: i, TID: i}, Op: launch, Duration: ms}},
			},
		}})
		m.Batch(&store.Batch{Ended: []uint32{i}})
	}
	f := get(t, s)["ingero_call_duration_seconds"]
	var calls uint64
	overflow := false
	for _, x := range f.GetMetric() {
		calls += x.GetHistogram().GetSampleCount()
		for _, l := range x.GetLabel() {
			overflow = overflow || l.GetName() == "otel_metric_overflow" && l.GetValue() == "true"
		}
	}
	if len(f.GetMetric()) > maxSeries || calls != n || !overflow {
		t.Errorf("%d series with %d calls (overflow: %v), want at most %d with %d", len(f.GetMetric()), calls, overflow,
			maxSeries, n)
	}
	for i := range uint32(10 * maxOthers) { // that are not traced, and whose ends nobody reports
		m.Batch(&store.Batch{Tables: store.Tables{Processes: []store.Process{{PID: n + i, Name: "other", Rank: -1}}}})
	}
	if got := m.others.Len(); got > 2*maxOthers || len(m.of(n+10*maxOthers-1)) == 0 {
		t.Errorf("%d processes that are not traced have names", got)
	}
	if len(m.processes)+len(m.calls)+len(m.states) != 0 {
		t.Errorf("%d processes, %d and %d sets are kept of processes that ended", len(m.processes), len(m.calls),
			len(m.states))
	}
}

// The end of a process may be reported before its last calls.
func TestCallsAfterTheEndOfAProcessAreItsOwn(t *testing.T) {
	m, s := scraped(t)
	thread := event.Thread{PID: 10, TID: 10}
	call := store.Batch{Tables: store.Tables{Records: event.Records{Calls: []event.Call{{
		Thread: thread, Op: opNamed(t, "cudaLaunchKernel"),
		Duration: ms,
	}}}}}
	m.Batch(&store.Batch{Tables: store.Tables{
		Processes: []store.Process{{PID: 10, Name: "trainer", Rank: -1}},
		Records:   event.Records{Calls: call.Calls},
	}})
	ends := []event.Life{{Kind: event.LifeExit, Thread: thread}}
	m.Batch(&store.Batch{Tables: store.Tables{Records: event.Records{Lives: ends}}})
	m.Second(&Tracer{})
	m.Batch(&call)
	h := only(t, get(t, s), "ingero_call_duration_seconds").GetHistogram()
	if h.GetSampleCount() != 2 {
		t.Errorf("the process made %d calls, want 2", h.GetSampleCount())
	}
	// Its last calls may come in one batch with its end.
	m.Batch(&store.Batch{Tables: store.Tables{Records: event.Records{Calls: call.Calls}}, Ended: []uint32{10}})
	h = only(t, get(t, s), "ingero_call_duration_seconds", "process_executable_name=trainer").GetHistogram()
	if h.GetSampleCount() != 3 {
		t.Errorf("the process made %d calls, want 3", h.GetSampleCount())
	}
	if len(m.processes)+len(m.calls) != 0 {
		t.Error("the process is known after its last calls")
	}
}

func TestEndpoints(t *testing.T) {
	for in, want := range map[string]string{
		"collector:4318":       "https://collector:4318",
		"collector:4317":       "grpcs://collector:4317",
		"collector":            "https://collector:4318",
		"127.0.0.1:4318":       "http://127.0.0.1:4318",
		"localhost:4317":       "grpc://localhost:4317",
		"[::1]:4318":           "http://[::1]:4318",
		"http://collector":     "http://collector:4318",
		"grpc://collector":     "grpc://collector:4317",
		"grpcs://c:1":          "grpcs://c:1",
		"https://c:1/":         "https://c:1",
		"ftp://c":              "",
		"":                     "",
		":4318":                "",
		"http://user:pass@c:1": "",
		"http://c/v1/metrics":  "",
		"c:notaport":           "",
	} {
		e, err := ParseEndpoint(in)
		switch {
		case want == "" && err == nil:
			t.Errorf("%q is taken for %s", in, e)
		case want == "" && !strings.Contains(err.Error(), "write HOST:4318"):
			t.Errorf("%q: %v does not say what to write", in, err)
		case want != "" && (err != nil || e.String() != want):
			t.Errorf("%q is %s (%v), want %s", in, e, err, want)
		}
	}
}

// Every attribute that a metric names is described, and none besides.
func TestCatalogueIsWhole(t *testing.T) {
	used := map[string]bool{}
	for _, i := range Catalogue {
		for _, a := range i.Attrs {
			used[a] = true
		}
	}
	for _, a := range Attributes {
		if !used[a.Name] || a.Doc == "" {
			t.Errorf("%s is not used, or not described", a.Name)
		}
		delete(used, a.Name)
	}
	for a := range used {
		t.Errorf("%s is not described", a)
	}
	page, err := os.ReadFile("../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range Catalogue {
		if !strings.Contains(string(page), "`"+i.Name+"`") {
			t.Errorf("docs/metrics.md lacks %s: make generate", i.Name)
		}
	}
}
