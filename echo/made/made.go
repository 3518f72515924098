// Package made generates what a cluster would send, for tests: eight ranks of a job on two nodes. Rank 5 comes 290 ms
// late to every 14th all-reduce, because another process has its CPU. The package has no clock and no I/O.
package made

import (
	"fmt"
	"math/rand/v2"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"

	"github.com/ingero-io/ingero/echo/demo"
)

// The generated cluster. Except for Slow, all ranks are alike.
const (
	Cluster = "demo-cluster"
	Ranks   = 8
	Slow    = 5  // the late rank
	Every   = 14 // it is late in one of so many steps
	Steps   = 2600

	perNode = 4
	// In nanoseconds: own work per step, how late rank 5 is, and the time of the operation itself.
	own     = 90_000_000
	late    = 290_000_000
	reduce  = 5_000_000
	jitter  = 2_000_000
	tick    = 5_000_000_000  // between two readings of gauges
	repeat  = 60_000_000_000 // between two messages of one finding
	perSend = 250            // steps per request
	comm    = "9f3c51d27be0a468"
	event   = "5b0f6a52-3f0e-4a0e-9d5e-2f7c6a1b9e44"
	hog     = "backup-agent"
	hogPID  = 4711

	firstPID  = 4100 // of rank 0
	findingID = "cpu-contention-5d20c1a7be43"
)

var nodes = [...]struct{ name, gpu string }{
	{"node-a100", "NVIDIA A100-SXM4-80GB"}, {"node-h100", "NVIDIA H100 80GB HBM3"},
}

// address is where the late rank's node can be asked.
var address = NodeOf(Slow) + ":8080"

// NodeOf returns the node of a rank.
func NodeOf(rank int) string { return nodes[rank/perNode].name }

// Requests returns all requests. The last step ends at end, in nanoseconds since the Unix epoch.
func Requests(end int64) ([]demo.Request, error) {
	p := play{random: rand.New(rand.NewPCG(14, 290)), end: end}
	p.runPlay()
	return p.requests, p.err
}

// play generates requests.
type play struct {
	random     *rand.Rand
	begin, end int64
	requests   []demo.Request
	err        error
}

// length returns how long the first n steps take, in nanoseconds.
func length(n int) int64 { return int64(n)*(own+jitter+reduce) + int64(n/Every)*late }

func (p *play) runPlay() {
	p.begin = p.end - length(Steps)
	for from := 0; from < Steps; from += perSend {
		p.addRequest("/v1/traces", func() ([]byte, error) {
			return ptraceotlp.NewExportRequestFromTraces(p.steps(from, min(from+perSend, Steps))).MarshalProto()
		})
	}
	p.addRequest("/v1/metrics", func() ([]byte, error) {
		return pmetricotlp.NewExportRequestFromMetrics(p.gauges()).MarshalProto()
	})
	p.addRequest("/v1/logs", func() ([]byte, error) {
		return plogotlp.NewExportRequestFromLogs(p.messages()).MarshalProto()
	})
}

func (p *play) addRequest(path string, body func() ([]byte, error)) {
	b, err := body()
	if err != nil && p.err == nil {
		p.err = fmt.Errorf("make a request for %s: %w", path, err)
	}
	p.requests = append(p.requests, demo.Request{Path: path, Body: b})
}

func resource(r pcommon.Resource, node int) {
	r.Attributes().PutStr("ingero.cluster.id", Cluster)
	r.Attributes().PutStr("ingero.node.id", nodes[node].name)
	r.Attributes().PutInt("ingero.world_size", Ranks)
}

// steps returns the all-reduces of some steps, as each rank sees them.
func (p *play) steps(from, to int) ptrace.Traces {
	t := ptrace.NewTraces()
	lists := make([]ptrace.SpanSlice, len(nodes))
	for i := range nodes {
		rs := t.ResourceSpans().AppendEmpty()
		resource(rs.Resource(), i)
		lists[i] = rs.ScopeSpans().AppendEmpty().Spans()
	}
	for step := from; step < to; step++ {
		begin, end := p.begin+length(step), p.begin+length(step+1)
		for rank := range Ranks {
			enter := begin + own + p.random.Int64N(jitter)
			isLate := rank == Slow && (step+1)%Every == 0
			if isLate {
				enter += late
			}
			s := lists[rank/perNode].AppendEmpty()
			s.SetName("ncclAllReduce")
			s.SetTraceID(id(step))
			s.SetSpanID(pcommon.SpanID{byte(step >> 8), byte(step), byte(rank), 1})
			s.SetStartTimestamp(pcommon.Timestamp(enter))
			s.SetEndTimestamp(pcommon.Timestamp(end - p.random.Int64N(jitter/40)))
			a := s.Attributes()
			a.PutInt("rank", int64(rank))
			a.PutStr("nccl.op_type", "ncclAllReduce")
			a.PutStr("nccl.comm_id_hash", comm)
			a.PutInt("nccl.seq", int64(step))
			a.PutInt("nccl.nranks", Ranks)
			a.PutStr("nccl.datatype", "bfloat16")
			a.PutStr("nccl.reduce_op", "sum")
			a.PutInt("process.pid", firstPID+int64(rank))
			if isLate {
				lateSpan(a, enter-begin)
			}
		}
	}
	return t
}

// lateSpan adds what a tracer sends of a rank that was late: for how long it had worked, and what it waited for in the
// half second before.
func lateSpan(a pcommon.Map, ownNS int64) {
	a.PutStr("ingero.collective.why", "late")
	a.PutInt("ingero.collective.one_of", 1)
	a.PutDouble("ingero.collective.own_ms", float64(ownNS)/1e6)
	a.PutDouble("ingero.collective.before_ms", 500)
	a.PutDouble("ingero.collective.before.runq_ms", late/1e6-1.4)
	a.PutStr("ingero.node.address", address)
	a.PutEmptySlice("ingero.chain_ids").AppendEmpty().SetStr(findingID)
}

// id returns the trace of a step.
func id(step int) pcommon.TraceID {
	return pcommon.TraceID{14, 0, byte(step >> 8), byte(step), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}
}

// gauges returns what nodes measure. By the use of their GPUs all are well: a waiting rank uses its GPU too.
func (p *play) gauges() pmetric.Metrics {
	m := pmetric.NewMetrics()
	for i := range nodes {
		rm := m.ResourceMetrics().AppendEmpty()
		resource(rm.Resource(), i)
		list := rm.ScopeMetrics().AppendEmpty().Metrics()
		for _, g := range []struct {
			name  string
			usual float64
			slow  float64 // of rank 5
			noise float64
		}{
			{"ingero.node.health_score", 0.995, 0.81, 0.004},
			{"ingero.node.throughput_ratio", 0.82, 0.82, 0.004},
			{"ingero.node.cpu_availability", 0.93, 0.41, 0.02},
			{"ingero.node.memory_headroom", 0.22, 0.22, 0.01},
			{"ingero.node.straggler_event", 0, 1, 0},
			{"hw.gpu.utilization", 0.97, 0.97, 0.02},
		} {
			metric := list.AppendEmpty()
			metric.SetName(g.name)
			metric.SetUnit("1")
			points := metric.SetEmptyGauge().DataPoints()
			for at := p.begin; at < p.end; at += tick {
				for rank := i * perNode; rank < (i+1)*perNode; rank++ {
					v := g.usual
					if rank == Slow {
						v = g.slow
					}
					d := points.AppendEmpty()
					d.SetTimestamp(pcommon.Timestamp(at))
					d.SetDoubleValue(v + g.noise*(p.random.Float64()*2-1))
					d.Attributes().PutInt("ingero.node.rank", int64(rank))
					d.Attributes().PutStr("ingero.node.state", "active")
				}
			}
		}
		info := list.AppendEmpty()
		info.SetName("ingero.node.info")
		d := info.SetEmptyGauge().DataPoints().AppendEmpty()
		d.SetTimestamp(pcommon.Timestamp(p.begin))
		d.SetIntValue(1)
		d.Attributes().PutStr("ingero.gpu_model", nodes[i].gpu)
		d.Attributes().PutInt("ingero.gpu_count", perNode)
	}
	return m
}

// messages returns the finding of the slow rank's node, and the events of that rank.
func (p *play) messages() plog.Logs {
	l := plog.NewLogs()
	rl := l.ResourceLogs().AppendEmpty()
	resource(rl.Resource(), Slow/perNode)
	list := rl.ScopeLogs().AppendEmpty().LogRecords()
	for at := p.begin + tick; at < p.end; at += repeat {
		finding(list.AppendEmpty(), at)
	}
	straggler(list.AppendEmpty(), p.begin+2*tick)
	return l
}

func finding(r plog.LogRecord, at int64) {
	r.SetTimestamp(pcommon.Timestamp(at))
	r.SetEventName("ingero.finding")
	r.SetSeverityNumber(plog.SeverityNumberError)
	r.SetSeverityText("HIGH")
	r.Body().SetStr(fmt.Sprintf("train lost 18 %% of its time runnable while %s (pid %d) had its CPU", hog, hogPID))
	a := r.Attributes()
	a.PutStr("ingero.finding.id", findingID)
	a.PutStr("ingero.cause.kind", "cpu_contention")
	a.PutStr("ingero.cause.process", hog)
	a.PutInt("ingero.cause.pid", hogPID)
	a.PutStr("ingero.effect.op", "ncclAllReduce")
	a.PutStr("process.executable.name", "train")
	a.PutInt("process.pid", firstPID+Slow)
	a.PutDouble("ingero.finding.lost_pct", 18.1)
	a.PutDouble("ingero.finding.explained_pct", 98.6)
}

func straggler(r plog.LogRecord, at int64) {
	r.SetTimestamp(pcommon.Timestamp(at))
	r.SetEventName("straggler_state")
	r.SetSeverityNumber(plog.SeverityNumberWarn)
	r.SetSeverityText("WARN")
	r.Body().SetStr("rank 5 is 23 % slower than its peers")
	a := r.Attributes()
	a.PutStr("event_id", event)
	a.PutInt("rank", Slow)
	a.PutStr("ingero.node.address", address)
	a.PutDouble("excess", 0.23)
	a.PutDouble("own_ms", 110.7)
	a.PutDouble("peer_ms", 90)
	a.PutDouble("lost_ms_per_step", 20.7)
	a.PutDouble("step_ms", 117.7)
	a.PutInt("ranks", Ranks)
	a.PutStr("cause.kind", "cpu_contention")
	a.PutStr("cause.culprit", hog)
	a.PutDouble("cause.ms_per_step", 20.4)
	a.PutDouble("cause.explained", 0.986)
}
