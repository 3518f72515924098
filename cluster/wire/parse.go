package wire

import (
	"errors"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/ingero-io/ingero/cluster/health"
)

// ParseRequest reads the pushes of an OTLP ExportMetricsServiceRequest: one per resource with metrics of the scope
// ingero.health. It ignores what it does not know. If a push is wrong, it returns the others with an error that joins
// the faults (see Count).
func ParseRequest(b []byte) ([]Push, error) {
	if len(b) > MaxRequest {
		return nil, wrong(Limit, "", "the request has %d bytes; %d at most", len(b), MaxRequest)
	}
	var pushes []Push
	var errs []error
	seen := 0
	err := fields(b, func(f field) error {
		if f.number != fieldResourceMetrics || f.kind != protowire.BytesType {
			return nil
		}
		if seen++; seen > MaxPushes {
			return wrong(Limit, "resource_metrics", "are more than %d", MaxPushes)
		}
		p, err := parsePush(f.bytes)
		switch {
		case err != nil:
			errs = append(errs, err)
		case p != nil:
			pushes = append(pushes, *p)
		}
		return nil
	})
	if err != nil {
		errs = append(errs, err)
	}
	if len(errs) == 1 {
		return pushes, errs[0]
	}
	return pushes, errors.Join(errs...)
}

// ParseDataRequest parses a request with the data of one push and no other metric, as most requests of agents are. ok
// is false if the request has anything else or is wrong: ParseRequest then says what.
func ParseDataRequest(b []byte) (push Push, ok bool) {
	p := pusher{rank: health.NoRank}
	resources := 0
	err := each(b, fieldResourceMetrics, func(b []byte) error {
		if resources++; resources > 1 {
			return nil
		}
		return p.parseMetrics(b)
	})
	if err != nil || resources != 1 || p.others || p.data == nil {
		return push, false
	}
	err = p.take()
	return p.push, err == nil
}

// pusher assembles a push.
type pusher struct {
	push   Push
	rank   int32  // of the resource: for points without a rank
	found  bool   // has anything in our scope
	others bool   // metrics other than DataMetric, or of other scopes
	data   []byte // not parsed yet
	order  []byte // nil: none
	last   int    // index of the last used gauges
}

// parsePush reads resource metrics, nil if none are in our scope. Fields come in any order.
func parsePush(b []byte) (*Push, error) {
	p := pusher{rank: health.NoRank}
	err := p.parseMetrics(b)
	switch {
	case err != nil:
		return nil, err
	case !p.found:
		return nil, nil
	}
	if p.data == nil {
		return &p.push, p.push.check()
	}
	return &p.push, p.take()
}

// parseMetrics parses resource metrics.
func (p *pusher) parseMetrics(b []byte) error {
	err := each(b, fieldResource, func(b []byte) error {
		return each(b, fieldAttributes, p.resource)
	})
	if err == nil {
		err = each(b, fieldScopeMetrics, p.scope)
	}
	return err
}

// NewPush returns a push without gauges. node and cluster are names, world is the number of ranks (0: not known), and
// data is what AppendData has written. It returns the same errors as ParseRequest.
func NewPush(node, cluster string, world int32, data []byte) (Push, error) {
	p := Push{Node: node, Cluster: cluster, WorldSize: world}
	return p, p.take(data)
}

// take parses a push's data, and checks the push.
func (p *Push) take(data []byte) (err error) {
	if p.Health, err = ParseData(data); err != nil {
		return within(attrData, err)
	}
	p.Health.Node = Node(p.Node)
	return p.check()
}

// take parses the data and the order of the push.
func (p *pusher) take() error {
	if err := p.push.take(p.data); err != nil || p.order == nil {
		return err
	}
	return p.push.SetOrder(p.order)
}

// resource reads an attribute of the resource.
func (p *pusher) resource(b []byte) error {
	a, err := parseAttribute(b)
	if err != nil {
		return err
	}
	switch a.key {
	case attrNode:
		p.push.Node, err = a.text()
	case attrCluster:
		p.push.Cluster, err = a.text()
	case attrWorld:
		p.push.WorldSize, err = a.integer()
	case attrRank:
		if p.rank, err = a.integer(); err == nil && p.rank < 0 {
			err = wrong(Value, a.key, "is %d", p.rank)
		}
	}
	return err
}

// scope reads the metrics of a scope, if it is ours.
func (p *pusher) scope(b []byte) error {
	ours := false
	err := each(b, fieldScope, func(b []byte) error {
		return each(b, fieldName, func(b []byte) error {
			ours = string(b) == Scope
			return nil
		})
	})
	if err != nil || !ours {
		p.others = true
		return err
	}
	p.found = true
	return each(b, fieldMetrics, p.metric)
}

// metrics are the metrics that are read.
var metrics = append([]string{
	DataMetric, metricScorePost, metricWarning, metricInfo, metricWorld, metricMode, metricReachable, metricAlarm,
}, ratioMetrics[:]...)

func (p *pusher) metric(b []byte) error {
	name := ""
	err := each(b, fieldName, func(b []byte) error {
		if i := slices.IndexFunc(metrics, func(m string) bool { return m == string(b) }); i >= 0 {
			name = metrics[i]
		}
		return nil
	})
	if name != DataMetric {
		p.others = true
	}
	if err != nil || name == "" {
		return err
	}
	return each(b, fieldGauge, func(b []byte) error {
		return each(b, fieldPoints, func(b []byte) error { return p.point(name, b) })
	})
}

// point is a point of a gauge.
type point struct {
	value    float64
	gauges   Gauges // with the point's attributes
	alarm    Alarm
	mode     string
	gpu      string
	gpus     int32
	hasValue bool
}

func (p *pusher) point(metric string, b []byte) error {
	t := point{gauges: NoGauges(p.rank), alarm: Alarm{Threshold: math.NaN(), Score: math.NaN()}}
	err := fields(b, func(f field) error {
		switch {
		case f.number == fieldDouble && f.kind == protowire.Fixed64Type:
			t.value, t.hasValue = math.Float64frombits(f.value), true
		case f.number == fieldInt && f.kind == protowire.Fixed64Type:
			t.value, t.hasValue = float64(int64(f.value)), true
		case f.is(fieldPointAttributes):
			a, err := parseAttribute(f.bytes)
			if err != nil {
				return err
			}
			switch {
			case metric != DataMetric:
			case a.key == attrData:
				return a.keep(&p.data)
			case a.key == attrOrder:
				return a.keep(&p.order)
			}
			return t.attribute(&a)
		}
		return nil
	})
	switch {
	case err != nil || metric == DataMetric:
		return err
	case !t.hasValue:
		return wrong(Value, metric, "has no value")
	case !finite(t.value):
		return wrong(Value, metric, "is not finite")
	}
	return p.gauge(metric, &t)
}

// keep keeps the bytes of an attribute that is there once.
func (a *attribute) keep(in *[]byte) error {
	switch {
	case a.kind != fieldBytes:
		return wrong(Value, a.key, "is not of bytes")
	case *in != nil:
		return wrong(Value, a.key, "is there twice")
	}
	if *in = a.bytes; a.bytes == nil {
		*in = []byte{}
	}
	return nil
}

// attribute reads an attribute of a point.
func (t *point) attribute(a *attribute) (err error) {
	switch a.key {
	case attrRank:
		if t.gauges.Rank, err = a.integer(); err == nil && t.gauges.Rank < 0 {
			err = wrong(Value, a.key, "is %d", t.gauges.Rank)
		}
	case attrState:
		var s string
		if s, err = a.text(); s == "active" || s == "calibrating" || s == "idle" {
			t.gauges.State = s
		}
	case attrGroup:
		t.gauges.Group, err = a.text()
	case attrMode:
		t.mode, err = a.text()
	case attrGPU:
		t.gpu, err = a.text()
	case attrGPUs:
		t.gpus, err = a.integer()
	case attrEvent:
		t.alarm.ID, err = a.text()
	case attrSignal:
		t.alarm.Signal, err = a.text()
	case attrThreshold:
		t.alarm.Threshold = a.float()
	case attrScore:
		t.alarm.Score = a.float()
	}
	return err
}

// gauge sets what a point of a published metric says.
func (p *pusher) gauge(metric string, t *point) error {
	if metric == metricWorld {
		if t.value != math.Trunc(t.value) || t.value < 0 || t.value > maxWorld {
			return wrong(Value, metric, "is %v; a whole number from 0 to %d", t.value, maxWorld)
		}
		if p.push.WorldSize == 0 {
			p.push.WorldSize = int32(t.value)
		}
		return nil
	}
	g, err := p.of(&t.gauges)
	if err != nil {
		return err
	}
	if t.gauges.State != "" {
		g.State = t.gauges.State
	}
	yes := t.value != 0
	switch metric {
	case metricWarning:
		g.Warning = &yes
	case metricReachable:
		g.Reachable = &yes
	case metricMode:
		if yes && knownMode(t.mode) {
			g.Mode = t.mode
		}
	case metricInfo:
		g.GPU, g.GPUs = t.gpu, t.gpus
	case metricAlarm:
		a := t.alarm
		a.Active = yes
		g.Alarm = &a
	case metricScorePost:
		g.Score.Health = t.value
	default:
		*ratios(&g.Score)[slices.Index(ratioMetrics[:], metric)] = t.value
	}
	return nil
}

func knownMode(s string) bool {
	for m := health.ModeNone; m <= health.ModeLocalBaseline; m++ {
		if s == m.String() {
			return true
		}
	}
	return false
}

// of returns the gauges of a point's rank and group, and adds them if needed.
func (p *pusher) of(g *Gauges) (*Gauges, error) {
	all := p.push.Gauges
	same := func(o *Gauges) bool { return o.Rank == g.Rank && o.Group == g.Group }
	if p.last < len(all) && same(&all[p.last]) {
		return &all[p.last], nil
	}
	p.last = slices.IndexFunc(all, func(o Gauges) bool { return same(&o) })
	if p.last < 0 {
		if len(all) >= maxGauges {
			return nil, wrong(Limit, "gauges", "are of more than %d ranks and groups", maxGauges)
		}
		made := NoGauges(g.Rank)
		made.Group = g.Group
		p.push.Gauges = append(all, made)
		p.last = len(all)
	}
	return &p.push.Gauges[p.last], nil
}
