package mcptool_test

import (
	"cmp"
	"maps"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"

	"github.com/ingero-io/ingero/echo/demo"
)

const (
	second = 1_000_000_000
	milli  = 1_000_000
)

func place(m pcommon.Map, cluster, node string) {
	m.PutStr("ingero.cluster.id", cluster)
	m.PutStr("ingero.node.id", node)
}

func attributes(m pcommon.Map, attrs map[string]any) {
	if err := m.FromRaw(attrs); err != nil {
		panic(err)
	}
}

func request(t testing.TB, path string, body []byte, err error) demo.Request {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return demo.Request{Path: path, Body: body}
}

// entry is a log record, some seconds before the end.
type entry struct {
	before     float64
	event      string
	text       string
	severity   plog.SeverityNumber
	attributes map[string]any
}

func logs(t testing.TB, cluster, node string, entries ...entry) demo.Request {
	t.Helper()
	l := plog.NewLogs()
	rl := l.ResourceLogs().AppendEmpty()
	place(rl.Resource().Attributes(), cluster, node)
	list := rl.ScopeLogs().AppendEmpty().LogRecords()
	for _, e := range entries {
		r := list.AppendEmpty()
		r.SetTimestamp(pcommon.Timestamp(end - int64(e.before*second)))
		r.SetEventName(e.event)
		r.SetSeverityNumber(e.severity)
		r.SetSeverityText(map[plog.SeverityNumber]string{17: "HIGH", 13: "MEDIUM", 9: "LOW"}[e.severity])
		r.Body().SetStr(e.text)
		attributes(r.Attributes(), e.attributes)
	}
	b, err := plogotlp.NewExportRequestFromLogs(l).MarshalProto()
	return request(t, "/v1/logs", b, err)
}

// found returns a finding.
func found(before float64, cause, process string, more map[string]any) entry {
	attrs := map[string]any{
		"ingero.finding.id": cause + "-1", "ingero.cause.kind": cause, "ingero.cause.process": process,
		"process.executable.name": "train", "ingero.finding.lost_pct": 20.0, "ingero.finding.explained_pct": 95.0,
	}
	maps.Copy(attrs, more)
	return entry{before, "ingero.finding", "train waits for " + process, 17, attrs}
}

// series are points of a metric: one for each value, a second apart, the last at the end.
type series struct {
	metric     string
	values     []float64
	attributes map[string]any
	kind       string // gauge, cumulative, delta, in use, histogram, or anew: a histogram that begins anew
}

func metrics(t testing.TB, cluster, node string, all ...series) demo.Request {
	t.Helper()
	m := pmetric.NewMetrics()
	rm := m.ResourceMetrics().AppendEmpty()
	place(rm.Resource().Attributes(), cluster, node)
	list := rm.ScopeMetrics().AppendEmpty().Metrics()
	for _, s := range all {
		one := list.AppendEmpty()
		one.SetName(s.metric)
		var points pmetric.NumberDataPointSlice
		switch s.kind {
		case "", "gauge":
			points = one.SetEmptyGauge().DataPoints()
		case "histogram", "anew":
			histogram(one.SetEmptyHistogram(), &s)
			continue
		default:
			sum := one.SetEmptySum()
			sum.SetAggregationTemporality(pmetric.AggregationTemporalityCumulative)
			sum.SetIsMonotonic(s.kind != "in use")
			if s.kind == "delta" {
				sum.SetAggregationTemporality(pmetric.AggregationTemporalityDelta)
			}
			points = sum.DataPoints()
		}
		for i, v := range s.values {
			p := points.AppendEmpty()
			p.SetTimestamp(pcommon.Timestamp(end - int64(len(s.values)-1-i)*second))
			p.SetDoubleValue(v)
			attributes(p.Attributes(), s.attributes)
		}
	}
	b, err := pmetricotlp.NewExportRequestFromMetrics(m).MarshalProto()
	return request(t, "/v1/metrics", b, err)
}

// histogram fills a histogram: each value is the mean of ten more; if it is not a number, there are no more. Points
// have all since an hour before, or, without saying so, since it began anew, 150 points before the end.
func histogram(h pmetric.Histogram, s *series) {
	h.SetAggregationTemporality(pmetric.AggregationTemporalityCumulative)
	sum, count := 0.0, uint64(0)
	for i, v := range s.values {
		p := h.DataPoints().AppendEmpty()
		if s.kind != "anew" {
			p.SetStartTimestamp(end - 3600*second)
		} else if i == len(s.values)-150 {
			sum, count = 0, 0
		}
		if v == v { //nolint:gocritic // NaN
			sum, count = sum+10*v, count+10
		}
		p.SetTimestamp(pcommon.Timestamp(end - int64(len(s.values)-1-i)*second))
		p.SetCount(count)
		p.SetSum(sum)
		attributes(p.Attributes(), s.attributes)
	}
}

// job is a job whose ranks do an all-reduce every 100 ms, each rank on its own node. Its last step ends at the end.
type job struct {
	cluster string
	comm    string // the communicator
	first   int    // number of the first node
	ranks   int
	steps   int
	late    func(rank, step int) int64 // nanoseconds
	change  func(span ptrace.Span, rank, step int)
}

func (j job) requests(t testing.TB) []demo.Request {
	t.Helper()
	var list []demo.Request
	const each = 8000 // spans per request
	steps := max(1, each/j.ranks)
	at := make([]int64, j.steps+1)
	for step := range j.steps {
		longest := int64(0)
		for rank := range j.ranks {
			if j.late != nil {
				longest = max(longest, j.late(rank, step))
			}
		}
		at[step+1] = at[step] + 100*milli + longest
	}
	for from := 0; from < j.steps; from += steps {
		td := ptrace.NewTraces()
		for rank := range j.ranks {
			rs := td.ResourceSpans().AppendEmpty()
			place(rs.Resource().Attributes(), j.cluster, node(j.first+rank))
			spans := rs.ScopeSpans().AppendEmpty().Spans()
			for step := from; step < min(from+steps, j.steps); step++ {
				j.span(spans.AppendEmpty(), rank, step, end-at[j.steps]+at[step], end-at[j.steps]+at[step+1])
			}
		}
		b, err := ptraceotlp.NewExportRequestFromTraces(td).MarshalProto()
		list = append(list, request(t, "/v1/traces", b, err))
	}
	return list
}

func node(rank int) string { return "n" + string(rune('0'+rank/10)) + string(rune('0'+rank%10)) }

func (j job) span(s ptrace.Span, rank, step int, begin, until int64) {
	enter := begin + 90*milli + int64((rank*7919+step*104729)%1000)*1000
	if j.late != nil {
		enter += j.late(rank, step)
	}
	s.SetName("ncclAllReduce")
	s.SetTraceID(pcommon.TraceID{1, byte(step >> 16), byte(step >> 8), byte(step), 1})
	s.SetSpanID(pcommon.SpanID{byte(step >> 16), byte(step >> 8), byte(step), byte(rank), 1})
	s.SetStartTimestamp(pcommon.Timestamp(enter))
	s.SetEndTimestamp(pcommon.Timestamp(until))
	attributes(s.Attributes(), map[string]any{
		"rank": rank, "nccl.op_type": "ncclAllReduce", "nccl.comm_id_hash": cmp.Or(j.comm, "00ff"), "nccl.seq": step, "nranks": j.ranks,
	})
	if j.change != nil {
		j.change(s, rank, step)
	}
}

// slow returns the lateness of a rank that is late in one of every so many steps.
func slow(rank, every int, by int64) func(int, int) int64 {
	return func(r, step int) int64 {
		if r == rank && step%every == every-1 {
			return by
		}
		return 0
	}
}
