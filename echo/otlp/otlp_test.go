package otlp_test

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/ingero-io/ingero/echo/otlp"
	"github.com/ingero-io/ingero/echo/row"
)

const (
	came = 1_700_000_009_000_000_000
	when = 1_700_000_001_000_000_000
)

var options = otlp.Options{Received: came, Cluster: "of the request"}

func put(t *testing.T, m pcommon.Map, raw map[string]any) {
	t.Helper()
	if err := m.FromRaw(raw); err != nil {
		t.Fatal(err)
	}
}

// node returns a node's resource and the list of its metrics.
func node(t *testing.T) (pmetric.Metrics, pmetric.MetricSlice) {
	t.Helper()
	m := pmetric.NewMetrics()
	rm := m.ResourceMetrics().AppendEmpty()
	put(t, rm.Resource().Attributes(), map[string]any{"ingero.node.id": "gpu-05", "ingero.cluster.id": "east", "ingero.world_size": 8})
	sm := rm.ScopeMetrics().AppendEmpty()
	sm.Scope().SetName("ingero.health")
	return m, sm.Metrics()
}

// gauge adds a gauge with a point.
func gauge(t *testing.T, to pmetric.MetricSlice, attrs map[string]any) pmetric.NumberDataPoint {
	t.Helper()
	m := to.AppendEmpty()
	m.SetName("ingero.node.health_score")
	m.SetUnit("1")
	p := m.SetEmptyGauge().DataPoints().AppendEmpty()
	p.SetTimestamp(when)
	put(t, p.Attributes(), attrs)
	return p
}

func same(t *testing.T, got otlp.Result, want ...row.Row) {
	t.Helper()
	if got.Refused > 0 {
		t.Errorf("%d refused: %s", got.Refused, got.Why)
	}
	if diff := cmp.Diff(want, got.Rows, cmpopts.IgnoreFields(row.Row{}, "Key"), cmpopts.IgnoreUnexported(row.Series{}),
		cmpopts.EquateNaNs(), cmpopts.EquateApprox(0, 1e-9)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	keys := map[uint64]bool{}
	for _, r := range got.Rows {
		keys[r.Key] = true
	}
	if len(keys) != len(got.Rows) {
		t.Errorf("%d rows have %d keys", len(got.Rows), len(keys))
	}
}

// alike returns n copies of a row, each with its own series and record.
func alike(n int, base row.Row) []row.Row {
	rows := make([]row.Row, n)
	for i := range rows {
		r := &rows[i]
		*r = base
		series := *base.Series
		if r.Series = &series; base.Record != nil {
			record := *base.Record
			r.Record = &record
		}
	}
	return rows
}

const resource = `{"ingero.cluster.id":"east","ingero.node.id":"gpu-05","ingero.world_size":8}`

func TestNumbers(t *testing.T) {
	m, list := node(t)
	gauge(t, list, map[string]any{"ingero.node.rank": 5, "ingero.node.state": "active"}).SetDoubleValue(0.25)
	gauge(t, list, map[string]any{"rank": "6"}).SetIntValue(-3)
	gauge(t, list, nil).SetFlags(pmetric.DefaultDataPointFlags.WithNoRecordedValue(true))
	sum := list.AppendEmpty()
	sum.SetName("ingero.node.cuda_kernel_launch_total")
	sum.SetEmptySum().SetAggregationTemporality(pmetric.AggregationTemporalityCumulative)
	sum.Sum().SetIsMonotonic(true)
	p := sum.Sum().DataPoints().AppendEmpty()
	p.SetTimestamp(when)
	p.SetStartTimestamp(when - 5)
	p.SetIntValue(7)

	rows := alike(4, row.Row{
		Series: &row.Series{
			Kind: row.Gauge, Cluster: "east", Node: "gpu-05", Rank: row.None, NRanks: 8, Metric: "ingero.node.health_score", Unit: "1",
			Attrs: `{}`, Resource: resource, Scope: "ingero.health",
		},
		Timestamp: when, Received: came,
	})
	a, b, d := &rows[0], &rows[1], &rows[3]
	a.Rank, a.Double, a.HasDouble, a.Attrs = 5, 0.25, true, `{"ingero.node.rank":5,"ingero.node.state":"active"}`
	b.Rank, b.Int, b.HasInt, b.Attrs = 6, -3, true, `{"rank":"6"}`
	d.Kind, d.Metric, d.Unit, d.Temporality, d.Start = row.Sum, "ingero.node.cuda_kernel_launch_total", "", "cumulative", when-5
	d.Int, d.HasInt = 7, true
	same(t, otlp.Metrics(m, options), rows...)
}

func TestHistograms(t *testing.T) {
	m, list := node(t)
	h := list.AppendEmpty()
	h.SetName("explicit")
	h.SetEmptyHistogram().SetAggregationTemporality(pmetric.AggregationTemporalityDelta)
	p := h.Histogram().DataPoints().AppendEmpty()
	p.SetTimestamp(when)
	p.SetCount(4)
	p.SetSum(12)
	p.SetMax(9)
	p.BucketCounts().FromRaw([]uint64{0, 3, 1})
	p.ExplicitBounds().FromRaw([]float64{0, 4})

	e := list.AppendEmpty()
	e.SetName("exponential")
	x := e.SetEmptyExponentialHistogram().DataPoints().AppendEmpty()
	x.SetTimestamp(when)
	x.SetCount(8)
	x.SetScale(0)
	x.SetZeroCount(1)
	x.Positive().SetOffset(1)
	x.Positive().BucketCounts().FromRaw([]uint64{4, 0, 2})
	x.Negative().SetOffset(0)
	x.Negative().BucketCounts().FromRaw([]uint64{1})

	s := list.AppendEmpty()
	s.SetName("summary")
	q := s.SetEmptySummary().DataPoints().AppendEmpty()
	q.SetTimestamp(when)
	q.SetCount(2)
	q.SetSum(3)
	v := q.QuantileValues().AppendEmpty()
	v.SetQuantile(0.99)
	v.SetValue(2)

	nan := math.NaN()
	rows := alike(3, row.Row{
		Series: &row.Series{
			Cluster: "east", Node: "gpu-05", Rank: row.None, NRanks: 8, Attrs: `{}`, Resource: resource, Scope: "ingero.health",
		},
		Timestamp: when, Received: came,
	})
	a, b, c := &rows[0], &rows[1], &rows[2]
	a.Kind, a.Metric, a.Temporality = row.Histogram, "explicit", "delta"
	a.Distribution = &row.Distribution{
		Count: 4, Sum: 12, Min: nan, Max: 9, P50: 8. / 3,
		P90: 4 * math.Pow(9./4, 0.6), P99: 4 * math.Pow(9./4, 0.96),
		Buckets: []row.Bucket{{Lower: 0, Upper: 4, Count: 3}, {Lower: 4, Upper: math.Inf(1), Count: 1}},
	}
	b.Kind, b.Metric = row.ExponentialHistogram, "exponential"
	b.Distribution = &row.Distribution{
		Count: 8, Sum: nan, Min: nan, Max: nan, P50: 2 * math.Pow(2, 0.5),
		P90: 8 * math.Pow(2, 0.6), P99: 8 * math.Pow(2, 0.96),
		Buckets: []row.Bucket{
			{Lower: -2, Upper: -1, Count: 1},
			{Lower: 0, Upper: 0, Count: 1},
			{Lower: 2, Upper: 4, Count: 4},
			{Lower: 8, Upper: 16, Count: 2},
		},
	}
	c.Kind, c.Metric = row.Summary, "summary"
	c.Distribution = &row.Distribution{Count: 2, Sum: 3, Min: nan, Max: nan, P50: nan, P90: nan, P99: 2}
	same(t, otlp.Metrics(m, options), rows...)
}

func TestLogsAndSpans(t *testing.T) {
	l := plog.NewLogs()
	rl := l.ResourceLogs().AppendEmpty()
	put(t, rl.Resource().Attributes(), map[string]any{"host.name": "n1", "service.instance.id": "i"})
	list := rl.ScopeLogs().AppendEmpty().LogRecords()
	one := list.AppendEmpty()
	one.SetTimestamp(when)
	one.SetEventName("ingero.finding")
	one.SetSeverityText("HIGH")
	one.SetSeverityNumber(plog.SeverityNumberError)
	one.Body().SetStr("words")
	one.SetTraceID(pcommon.TraceID{1, 2})
	one.SetSpanID(pcommon.SpanID{3})
	put(t, one.Attributes(), map[string]any{"node_id": "n2", "rank": 3.0, "nranks": -1})
	two := list.AppendEmpty()
	two.SetObservedTimestamp(when + 1)
	two.SetSeverityNumber(plog.SeverityNumberWarn2)
	put(t, two.Body().SetEmptyMap(), map[string]any{"b": []any{1, "x", nil}, "a": 0.5})
	list.AppendEmpty() // without a time

	rows := alike(3, row.Row{
		Series: &row.Series{
			Kind: row.Log, Cluster: "of the request", ByRequest: true, Node: "n1", Rank: row.None, Attrs: `{}`,
			Resource: `{"host.name":"n1","service.instance.id":"i"}`,
		},
		Received: came, Record: &row.Record{},
	})
	a, b, c := &rows[0], &rows[1], &rows[2]
	a.Timestamp, a.Node, a.Rank, a.Attrs = when, "n2", 3, `{"node_id":"n2","nranks":-1,"rank":3.0}`
	*a.Record = row.Record{
		Event: "ingero.finding", Severity: "HIGH", SeverityNumber: 17, Body: "words", Trace: "01020000000000000000000000000000",
		Span: "0300000000000000",
	}
	b.Timestamp = when + 1
	*b.Record = row.Record{Severity: "WARN", SeverityNumber: 14, Body: `{"a":0.5,"b":[1,"x",null]}`}
	c.Timestamp = came
	same(t, otlp.Logs(l, options), rows...)

	tr := ptrace.NewTraces()
	s := tr.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
	s.SetName("infer.outlier.2x")
	s.SetStartTimestamp(when)
	s.SetEndTimestamp(when + 12)
	s.SetTraceID(pcommon.TraceID{1})
	s.SetSpanID(pcommon.SpanID{2})
	s.SetParentSpanID(pcommon.SpanID{3})
	s.Status().SetCode(ptrace.StatusCodeError)
	s.Status().SetMessage("slow")
	s.Links().AppendEmpty()
	put(t, s.Attributes(), map[string]any{"rank": 3})
	e := s.Events().AppendEmpty()
	e.SetName("cause")
	e.SetTimestamp(when + 2)
	put(t, e.Attributes(), map[string]any{"cause.kind": "cpu_contention"})
	s.Events().AppendEmpty().SetName(strings.Repeat("x", otlp.MaxName+1))
	got := otlp.Traces(tr, otlp.Options{Received: came})
	if got.LeftOut != 2 { // the link, and the event with a long name
		t.Errorf("%d left out", got.LeftOut)
	}
	same(t, got, row.Row{
		Series:    &row.Series{Kind: row.Span, Rank: 3, Attrs: `{"rank":3}`, Resource: `{}`},
		Timestamp: when, Received: came, Record: &row.Record{
			Event: "infer.outlier.2x", Severity: "ERROR", SeverityNumber: 17, Body: "slow", Trace: "01000000000000000000000000000000",
			Span: "0200000000000000", Parent: "0300000000000000", Duration: 12,
		},
	}, row.Row{
		Series:    &row.Series{Kind: row.Log, Rank: 3, Attrs: `{"cause.kind":"cpu_contention"}`, Resource: `{}`},
		Timestamp: when + 2, Received: came, Record: &row.Record{
			Event: "cause", Trace: "01000000000000000000000000000000", Span: "0200000000000000",
		},
	})
}

// The end of what is kept can be told in 64 bits, and that of its second.
func TestTimesThatAreTooLate(t *testing.T) {
	const lastSecond = math.MaxInt64 / 1_000_000_000 * 1_000_000_000
	traces := ptrace.NewTraces()
	spans := traces.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans()
	add := func(start, end pcommon.Timestamp) {
		s := spans.AppendEmpty()
		s.SetStartTimestamp(start)
		s.SetEndTimestamp(end)
	}
	for _, end := range []pcommon.Timestamp{0, when, when + 1, math.MaxInt64, math.MaxInt64 + 1, math.MaxUint64} {
		add(when, end)
	}
	add(lastSecond-1, math.MaxInt64)
	for _, start := range []pcommon.Timestamp{lastSecond, math.MaxInt64, math.MaxInt64 + 1} {
		add(start, start)
	}
	got := otlp.Traces(traces, options)
	var durations []int64
	for _, r := range got.Rows {
		durations = append(durations, r.Record.Duration)
		if row.SecondBegins(r.Second()+1) < 0 {
			t.Errorf("the end of the second of %d is not known", r.Timestamp)
		}
	}
	want := []int64{0, 0, 1, math.MaxInt64 - when, 0, 0, math.MaxInt64 - lastSecond + 1}
	if diff := cmp.Diff(want, durations); diff != "" {
		t.Errorf("durations: -want +got:\n%s", diff)
	}
	if got.Refused != 3 || !strings.Contains(got.Why, "the time 9223372036000000000 is not known or too far away") {
		t.Errorf("%d refused: %s", got.Refused, got.Why)
	}
}

// Nodes of two clusters may have one name; only the request says which cluster it is.
func TestTheRequestsClusterTellsRowsApart(t *testing.T) {
	bare := func() pmetric.Metrics {
		m := pmetric.NewMetrics()
		rm := m.ResourceMetrics().AppendEmpty()
		put(t, rm.Resource().Attributes(), map[string]any{"host.name": "node-1"})
		gauge(t, rm.ScopeMetrics().AppendEmpty().Metrics(), nil)
		return m
	}
	key := func(m pmetric.Metrics, cluster string) uint64 {
		t.Helper()
		got := otlp.Metrics(m, otlp.Options{Received: came, Cluster: cluster})
		if got.Refused > 0 {
			t.Fatal(got.Why)
		}
		return got.Rows[0].Key
	}
	if key(bare(), "east") == key(bare(), "west") {
		t.Error("rows of two clusters have one key")
	}
	named := func() pmetric.Metrics {
		m, list := node(t)
		gauge(t, list, nil)
		return m
	}
	if key(named(), "") != key(named(), "west") {
		t.Error("a row that names its cluster has another key by what the request says")
	}
	bad := otlp.Metrics(bare(), otlp.Options{Received: came, Cluster: "\xff"})
	if len(bad.Rows) != 1 || bad.Rows[0].Cluster != "\uFFFD" {
		t.Errorf("a cluster that is not UTF-8: %+v", bad)
	}
	if long := otlp.Metrics(bare(), otlp.Options{Cluster: strings.Repeat("x", otlp.MaxName+1)}); long.Refused != 1 {
		t.Errorf("a long name of a cluster: %+v", long)
	}
}

// What is sent again has the same keys, even if its attributes are in another order and it comes later.
func TestWhatIsSentAgainHasTheSameKeys(t *testing.T) {
	make := func(names ...string) pmetric.Metrics {
		m, list := node(t)
		p := gauge(t, list, nil)
		for _, n := range names {
			p.Attributes().PutStr(n, n)
		}
		return m
	}
	a := otlp.Metrics(make("a", "b", "c"), options)
	b := otlp.Metrics(make("c", "a", "b"), otlp.Options{Received: came + 1})
	if a.Rows[0].Key != b.Rows[0].Key {
		t.Error("another order has another key")
	}
	if other := otlp.Metrics(make("a", "b"), options); a.Rows[0].Key == other.Rows[0].Key {
		t.Error("other attributes have the same key")
	}
}

func TestWhatCannotBeKeptIsRefusedAlone(t *testing.T) {
	deep := map[string]any{}
	for range 20 {
		deep = map[string]any{"a": deep}
	}
	for name, c := range map[string]struct {
		spoil func(pmetric.Metric)
		why   string
	}{
		"no time":     {func(m pmetric.Metric) { m.Gauge().DataPoints().At(0).SetTimestamp(0) }, "time 0 is not known"},
		"a far time":  {func(m pmetric.Metric) { m.Gauge().DataPoints().At(0).SetTimestamp(math.MaxUint64) }, "too far away"},
		"no name":     {func(m pmetric.Metric) { m.SetName("") }, "has no name"},
		"a long name": {func(m pmetric.Metric) { m.SetName(strings.Repeat("x", 257)) }, "257 bytes"},
		"long": {func(m pmetric.Metric) {
			m.Gauge().DataPoints().At(0).Attributes().PutStr("a", strings.Repeat("x", 16<<10))
		}, "bytes; 16384 are kept"},
		"a long node": {func(m pmetric.Metric) {
			m.Gauge().DataPoints().At(0).Attributes().PutStr("node_id", strings.Repeat("x", 257))
		}, "the node_id has 257 bytes"},
		"nested": {func(m pmetric.Metric) { put(t, m.Gauge().DataPoints().At(0).Attributes(), deep) }, "nested too deeply"},
		"bounds missing": {func(m pmetric.Metric) {
			p := m.SetEmptyHistogram().DataPoints().AppendEmpty()
			p.SetTimestamp(when)
			p.BucketCounts().FromRaw([]uint64{1, 2})
		}, "2 buckets and 0 bounds"},
		"bounds fall": {func(m pmetric.Metric) {
			p := m.SetEmptyHistogram().DataPoints().AppendEmpty()
			p.SetTimestamp(when)
			p.BucketCounts().FromRaw([]uint64{1, 2, 3})
			p.ExplicitBounds().FromRaw([]float64{2, 1})
		}, "do not rise"},
		"many buckets": {func(m pmetric.Metric) {
			p := m.SetEmptyExponentialHistogram().DataPoints().AppendEmpty()
			p.SetTimestamp(when)
			p.Positive().BucketCounts().FromRaw(make([]uint64, 1025))
		}, "1025 buckets"},
	} {
		m, list := node(t)
		gauge(t, list, map[string]any{"rank": 1})
		gauge(t, list, map[string]any{"rank": 2})
		c.spoil(list.At(1))
		got := otlp.Metrics(m, options)
		if got.Refused != 1 || len(got.Rows) != 1 || !strings.Contains(got.Why, c.why) {
			t.Errorf("%s: %d kept, %d refused: %s", name, len(got.Rows), got.Refused, got.Why)
		}
	}
}

func TestAResourceThatCannotBeKeptIsRefusedWithItsPoints(t *testing.T) {
	m, list := node(t)
	gauge(t, list, map[string]any{"rank": 1})
	gauge(t, list, map[string]any{"rank": 2})
	m.ResourceMetrics().At(0).Resource().Attributes().PutStr("x", strings.Repeat("x", 17<<10))
	other, list := node(t)
	gauge(t, list, nil)
	other.ResourceMetrics().MoveAndAppendTo(m.ResourceMetrics())
	got := otlp.Metrics(m, options)
	if got.Refused != 2 || len(got.Rows) != 1 || !strings.Contains(got.Why, "attributes of the resource") {
		t.Errorf("%d kept, %d refused: %s", len(got.Rows), got.Refused, got.Why)
	}
}

func TestAttributesAsJSON(t *testing.T) {
	m, list := node(t)
	a := gauge(t, list, nil).Attributes()
	a.PutStr("text", "a\"b\\c\n<ü>\xff")
	a.PutDouble("nan", math.NaN())
	a.PutDouble("infinite", math.Inf(-1))
	a.PutDouble("whole", 3)
	a.PutDouble("large", 1e300)
	a.PutInt("int", math.MinInt64)
	a.PutBool("bool", true)
	a.PutEmpty("nothing")
	a.PutEmptyBytes("bytes").FromRaw([]byte{0, 255})
	a.PutEmptySlice("list")
	a.PutEmptyMap("map")
	const want = `{"bool":true,"bytes":"AP8=","infinite":"-Infinity","int":-9223372036854775808,"large":1e+300,"list":[],"map":{},` +
		`"nan":"NaN","nothing":null,"text":"a\"b\\c\n\u003cü\u003e\ufffd","whole":3.0}`
	if got := otlp.Metrics(m, options).Rows[0].Attrs; got != want {
		t.Errorf("%s; want %s", got, want)
	}
}

// Whatever a request contains, each of its points is kept or counted.
func FuzzMetrics(f *testing.F) {
	m, list := pmetric.NewMetrics(), pmetric.NewMetricSlice()
	list.MoveAndAppendTo(m.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics())
	b, err := (&pmetric.ProtoMarshaler{}).MarshalMetrics(m)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := (&pmetric.ProtoUnmarshaler{}).UnmarshalMetrics(b)
		if err != nil {
			return
		}
		got := otlp.Metrics(m, options)
		if n := int64(len(got.Rows)) + got.Refused; n != int64(m.DataPointCount()) {
			t.Errorf("%d of %d points", n, m.DataPointCount())
		}
		if (got.Refused > 0) != (got.Why != "") {
			t.Errorf("%d are refused: %q", got.Refused, got.Why)
		}
	})
}
