package load

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
)

// What a request of a node has: some ticks of the metrics of its ranks.
const (
	ranks      = 8
	ticks      = 10
	perRequest = ranks * ticks * numMetrics
	numMetrics = 25
	// tickTime is the time between two ticks, unless the points are closer together.
	tickTime = 1_000_000_000
	// perCluster is how many nodes a cluster has.
	perCluster = 16
)

// names returns the names of the metrics; the first are those of agents.
func names() []string {
	list := []string{
		"ingero.node.health_score", "ingero.node.throughput_ratio", "ingero.node.compute_efficiency",
		"ingero.node.memory_headroom", "ingero.node.cpu_availability", "hw.gpu.utilization", "hw.gpu.memory.usage",
		"hw.gpu.temperature", "hw.gpu.power", "hw.gpu.clock",
	}
	for i := len(list); i < numMetrics; i++ {
		list = append(list, fmt.Sprintf("made.metric_%02d", i))
	}
	return list
}

// request is what a node sends repeatedly, with new times and values. These are written into the bytes of the first
// request: to make each anew would take more CPU time than the server needs.
type request struct {
	body          []byte
	times, values [][]byte // of its points, in the order of ticks
	last          int64
	number        uint64
}

// Marks are values that occur nowhere else in a request.
const (
	markTime  = 0x7a11_0000_0000_0000
	markValue = 0x7a22_0000_0000_0000
)

func newRequest(node int) (*request, error) {
	m := pmetric.NewMetrics()
	rm := m.ResourceMetrics().AppendEmpty()
	of := rm.Resource().Attributes()
	of.PutStr("ingero.cluster.id", fmt.Sprintf("cluster-%02d", node/perCluster))
	of.PutStr("ingero.node.id", fmt.Sprintf("gpu-node-%04d.load.example", node))
	of.PutStr("service.name", "ingero")
	of.PutStr("host.name", fmt.Sprintf("gpu-node-%04d", node))
	sm := rm.ScopeMetrics().AppendEmpty()
	sm.Scope().SetName("ingero.load")
	n := uint64(0)
	for _, name := range names() {
		one := sm.Metrics().AppendEmpty()
		one.SetName(name)
		one.SetUnit("1")
		points := one.SetEmptyGauge().DataPoints()
		for tick := range ticks {
			for rank := range ranks {
				p := points.AppendEmpty()
				p.SetTimestamp(pcommon.Timestamp(markTime + uint64(tick)))
				p.SetDoubleValue(math.Float64frombits(markValue + n))
				attrs := p.Attributes()
				attrs.PutInt("rank", int64(rank))
				attrs.PutStr("gpu.uuid", fmt.Sprintf("GPU-%08x-0000-4000-8000-%012x", node, rank))
				attrs.PutStr("process.executable.name", "python3")
				attrs.PutInt("process.pid", int64(4000+rank))
				n++
			}
		}
	}
	body, err := pmetricotlp.NewExportRequestFromMetrics(m).MarshalProto()
	if err != nil {
		return nil, err
	}
	r := &request{body: body, times: marked(body, markTime), values: marked(body, markValue), number: uint64(node) * 7919}
	if len(r.times) != perRequest || len(r.values) != perRequest {
		return nil, fmt.Errorf("a made request has %d times and %d values; %d are expected", len(r.times), len(r.values),
			perRequest)
	}
	return r, nil
}

// marked finds the numbers with a mark, eight bytes each.
func marked(b []byte, mark uint64) (found [][]byte) {
	const most = 1 << 16 // number of values after a mark
	for i := 6; ; i++ {
		n := bytes.Index(b[i:], []byte{byte(mark >> 48), byte(mark >> 56)}) // the last two bytes of a number
		if n < 0 {
			return found
		}
		i += n
		if one := b[i-6 : i+2]; binary.LittleEndian.Uint64(one)-mark < most {
			found = append(found, one)
		}
	}
}

// at sets the time of the last tick, in nanoseconds since the Unix epoch, and new values. Each tick is unique.
func (r *request) at(now int64) {
	now = max(now, r.last+ticks)
	step := min(tickTime, (now-r.last)/ticks)
	for i := range r.times {
		tick := i / ranks % ticks
		binary.LittleEndian.PutUint64(r.times[i], uint64(now-int64(ticks-1-tick)*step))
		r.number = r.number*6364136223846793005 + 1442695040888963407 // Knuth's generator
		v := 0.9 + 0.1*float64(r.number>>40)/(1<<24)
		binary.LittleEndian.PutUint64(r.values[i], math.Float64bits(v))
	}
	r.last = now
}
