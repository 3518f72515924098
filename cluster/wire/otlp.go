package wire

import (
	"math"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/ingero-io/ingero/cluster/health"
)

// Scope is the instrumentation scope of all health metrics of agents.
const Scope = "ingero.health"

// DataMetric is the metric with a push's data: its value is the number of ranks, an attribute has the bytes. It is
// for fleets only.
const DataMetric = "ingero.health.push"

// Metrics. Those published by earlier agents keep their names.
const (
	metricScore     = "ingero.node.health_score"
	metricScorePost = "ingero.health.score" // another name for it in use; only read
	metricWarning   = "ingero.node.degradation_warning"
	metricInfo      = "ingero.node.info"
	metricWorld     = "ingero.node.world_size"
	metricMode      = "ingero.agent.detection_mode"
	metricReachable = "ingero.agent.fleet_reachable"
	metricAlarm     = "ingero.node.straggler_event"
)

// ratioMetrics are the metrics of a score, in the order of ratios.
var ratioMetrics = [...]string{
	metricScore, "ingero.node.throughput_ratio", "ingero.node.compute_efficiency", "ingero.node.memory_headroom",
	"ingero.node.cpu_availability",
}

func ratios(s *health.Score) [len(ratioMetrics)]*float64 {
	return [...]*float64{&s.Health, &s.Throughput, &s.Compute, &s.Memory, &s.CPU}
}

// Attributes of a resource, and of DataMetric's point, for code that parses a request itself: see NewPush.
const (
	NodeAttribute    = attrNode
	ClusterAttribute = attrCluster
	WorldAttribute   = attrWorld
	DataAttribute    = attrData
	OrderAttribute   = attrOrder
)

// Attributes.
const (
	attrNode    = "ingero.node.id"
	attrCluster = "ingero.cluster.id"
	attrWorld   = "ingero.world_size"
	attrRank    = "ingero.node.rank"
	attrState   = "ingero.node.state"
	attrGroup   = "ingero.cgroup_path_hash"
	attrMode    = "ingero.detection_mode"
	attrGPU     = "ingero.gpu_model"
	attrGPUs    = "ingero.gpu_count"
	attrEvent   = "ingero.event.id"
	attrSignal  = "dominant_signal"
	attrData    = "ingero.health.data"
	attrOrder   = "ingero.health.order" // of DataMetric's point: Run and Number, 8 bytes each

	attrThreshold, attrScore = "threshold", "score"
)

// Fields of OTLP's messages.
const (
	fieldResourceMetrics = 1 // of the request
	fieldResource        = 1 // of resource metrics
	fieldScopeMetrics    = 2
	fieldScope           = 1 // of scope metrics
	fieldMetrics         = 2
	fieldName            = 1 // of a scope or metric
	fieldUnit            = 3
	fieldGauge           = 5
	fieldPoints          = 1 // of a gauge
	fieldTime            = 3 // of a point
	fieldDouble          = 4
	fieldInt             = 6
	fieldPointAttributes = 7
	fieldAttributes      = 1 // of a resource
	fieldKey             = 1 // of an attribute
	fieldValue           = 2
	fieldString          = 1 // of a value
	fieldBool            = 2
	fieldInteger         = 3
	fieldFloat           = 4
	fieldBytes           = 7
)

// message is a protobuf message while it is written. Nested messages are written in place; their length is filled in
// afterwards, in two bytes, or three if it is long.
type message []byte

func (m *message) open(f protowire.Number) (start int) {
	*m = protowire.AppendTag(*m, f, protowire.BytesType)
	*m = append(*m, 0, 0)
	return len(*m)
}

func (m *message) close(start int) {
	b := *m
	n := len(b) - start
	if n < 1<<7 { // one byte suffices
		b[start-2] = byte(n)
		*m = append(b[:start-1], b[start:]...)
		return
	}
	if n < 1<<14 {
		b[start-2], b[start-1] = byte(n)|0x80, byte(n>>7)
		return
	}
	head := protowire.AppendVarint(nil, uint64(n))
	b = append(b, head[2:]...) // make room
	copy(b[start+len(head)-2:], b[start:start+n])
	copy(b[start-2:], head)
	*m = b
}

func (m *message) text(f protowire.Number, s string) {
	*m = protowire.AppendString(protowire.AppendTag(*m, f, protowire.BytesType), s)
}

func (m *message) fixed(f protowire.Number, v uint64) {
	*m = protowire.AppendFixed64(protowire.AppendTag(*m, f, protowire.Fixed64Type), v)
}

func (m *message) textAttribute(f protowire.Number, key, value string) {
	if value == "" {
		return
	}
	a := m.open(f)
	m.text(fieldKey, key)
	v := m.open(fieldValue)
	m.text(fieldString, value)
	m.close(v)
	m.close(a)
}

func (m *message) intAttribute(f protowire.Number, key string, value int32) {
	a := m.open(f)
	m.text(fieldKey, key)
	v := m.open(fieldValue)
	*m = protowire.AppendVarint(protowire.AppendTag(*m, fieldInteger, protowire.VarintType), uint64(int64(value)))
	m.close(v)
	m.close(a)
}

func (m *message) bytesAttribute(f protowire.Number, key string, value []byte) {
	a := m.open(f)
	m.text(fieldKey, key)
	v := m.open(fieldValue)
	*m = protowire.AppendBytes(protowire.AppendTag(*m, fieldBytes, protowire.BytesType), value)
	m.close(v)
	m.close(a)
}

func (m *message) floatAttribute(f protowire.Number, key string, value float64) {
	if !finite(value) {
		return
	}
	a := m.open(f)
	m.text(fieldKey, key)
	v := m.open(fieldValue)
	m.fixed(fieldFloat, math.Float64bits(value))
	m.close(v)
	m.close(a)
}

// AppendRequest appends an OTLP ExportMetricsServiceRequest with the push to b: the body of an HTTP request, or a
// gRPC message. The points have the time Health.Sent.
func AppendRequest(b []byte, p *Push) ([]byte, error) {
	if err := p.check(); err != nil {
		return b, err
	}
	if n := len(p.Health.Ranks); n > 0 && p.Health.Node != Node(p.Node) {
		return b, wrong(Value, "node", "is not the number of %q", p.Node)
	}
	before := len(b)
	m := message(b)
	top := m.open(fieldResourceMetrics)
	r := m.open(fieldResource)
	m.textAttribute(fieldAttributes, attrNode, p.Node)
	m.textAttribute(fieldAttributes, attrCluster, p.Cluster)
	if p.WorldSize > 0 {
		m.intAttribute(fieldAttributes, attrWorld, p.WorldSize)
	}
	m.close(r)
	all := m.open(fieldScopeMetrics)
	s := m.open(fieldScope)
	m.text(fieldName, Scope)
	m.close(s)
	if len(p.Health.Ranks) > 0 {
		if err := m.data(&p.Health); err != nil {
			return b[:before], within(attrData, err)
		}
	}
	m.gauges(p)
	m.close(all)
	m.close(top)
	return m, nil
}

// data writes DataMetric.
func (m *message) data(p *health.Push) error {
	metric := m.open(fieldMetrics)
	m.text(fieldName, DataMetric)
	g := m.open(fieldGauge)
	point := m.open(fieldPoints)
	m.fixed(fieldTime, uint64(p.Sent))
	m.fixed(fieldInt, uint64(len(p.Ranks)))
	a := m.open(fieldPointAttributes)
	m.text(fieldKey, attrData)
	v := m.open(fieldValue)
	d := m.open(fieldBytes)
	b, err := AppendData(*m, p)
	*m = b
	m.close(d)
	m.close(v)
	m.close(a)
	if p.Run != 0 {
		m.bytesAttribute(fieldPointAttributes, attrOrder, appendOrder(nil, p))
	}
	m.close(point)
	m.close(g)
	m.close(metric)
	return err
}

// gauges writes the published metrics. Each has a point for each of the gauges that have a value.
func (m *message) gauges(p *Push) {
	at := p.Health.Sent
	for i, name := range ratioMetrics {
		m.metric(name, at, p.Gauges, func(g *Gauges) (float64, bool) {
			v := *ratios(&g.Score)[i]
			return v, finite(v)
		}, nil)
	}
	m.metric(metricWarning, at, p.Gauges, func(g *Gauges) (float64, bool) { return flag(g.Warning) }, nil)
	m.metric(metricReachable, at, p.Gauges, func(g *Gauges) (float64, bool) { return flag(g.Reachable) }, nil)
	m.metric(metricMode, at, p.Gauges, func(g *Gauges) (float64, bool) { return 1, g.Mode != "" }, func(g *Gauges) {
		m.textAttribute(fieldPointAttributes, attrMode, g.Mode)
	})
	m.metric(metricInfo, at, p.Gauges, func(g *Gauges) (float64, bool) {
		return 1, g.GPU != "" || g.GPUs > 0
	}, func(g *Gauges) {
		m.textAttribute(fieldPointAttributes, attrGPU, g.GPU)
		m.intAttribute(fieldPointAttributes, attrGPUs, g.GPUs)
	})
	m.metric(metricAlarm, at, p.Gauges, func(g *Gauges) (float64, bool) {
		if g.Alarm == nil {
			return 0, false
		}
		return flag(&g.Alarm.Active)
	}, func(g *Gauges) {
		m.floatAttribute(fieldPointAttributes, attrThreshold, g.Alarm.Threshold)
		m.floatAttribute(fieldPointAttributes, attrScore, g.Alarm.Score)
		m.textAttribute(fieldPointAttributes, attrSignal, g.Alarm.Signal)
		m.textAttribute(fieldPointAttributes, attrEvent, g.Alarm.ID)
	})
	if p.WorldSize > 0 && len(p.Gauges) > 0 {
		node := []Gauges{NoGauges(health.NoRank)}
		m.metric(metricWorld, at, node, func(*Gauges) (float64, bool) { return float64(p.WorldSize), true }, nil)
	}
}

func flag(b *bool) (float64, bool) {
	switch {
	case b == nil:
		return 0, false
	case *b:
		return 1, true
	}
	return 0, true
}

// metric writes a metric with a point for each of the gauges that have a value, and extra attributes.
func (m *message) metric(
	name string, at time.Duration, gauges []Gauges, value func(*Gauges) (float64, bool), more func(*Gauges),
) {
	var metric, list int
	for i := range gauges {
		g := &gauges[i]
		v, ok := value(g)
		if !ok {
			continue
		}
		if metric == 0 {
			metric = m.open(fieldMetrics)
			m.text(fieldName, name)
			m.text(fieldUnit, "1")
			list = m.open(fieldGauge)
		}
		point := m.open(fieldPoints)
		m.fixed(fieldTime, uint64(at))
		m.fixed(fieldDouble, math.Float64bits(v))
		if g.Rank != health.NoRank {
			m.intAttribute(fieldPointAttributes, attrRank, g.Rank)
		}
		m.textAttribute(fieldPointAttributes, attrState, g.State)
		m.textAttribute(fieldPointAttributes, attrGroup, g.Group)
		if more != nil {
			more(g)
		}
		m.close(point)
	}
	if metric != 0 {
		m.close(list)
		m.close(metric)
	}
}
