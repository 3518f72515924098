package wire

import (
	"errors"
	"math"
	"slices"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/ingero-io/ingero/cluster/health"
)

// ParseRequest reads the pushes of an OTLP ExportMetricsServiceRequest: one of each resource that has
// metrics of the scope ingero.health. What it does not know is left out. If a push is wrong, the others
// are returned, with an error that joins what was wrong (see Count).
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

// field is a field of a protobuf message. bytes is of those that have a length, number of the others.
type field struct {
	number protowire.Number
	kind   protowire.Type
	bytes  []byte
	value  uint64
}

func (f *field) is(n protowire.Number) bool { return f.number == n && f.kind == protowire.BytesType }

var errProtobuf = &Error{Malformed, "", "it is not a message of OTLP metrics, or truncated"}

// fields calls do for each field of a message.
func fields(b []byte, do func(f field) error) error {
	for len(b) > 0 {
		var f field
		var n int
		if f.number, f.kind, n = protowire.ConsumeTag(b); n < 0 {
			return errProtobuf
		}
		b = b[n:]
		switch f.kind {
		case protowire.BytesType:
			f.bytes, n = protowire.ConsumeBytes(b)
		case protowire.VarintType:
			f.value, n = protowire.ConsumeVarint(b)
		case protowire.Fixed64Type:
			f.value, n = protowire.ConsumeFixed64(b)
		default:
			n = protowire.ConsumeFieldValue(f.number, f.kind, b)
		}
		if n < 0 {
			return errProtobuf
		}
		b = b[n:]
		if err := do(f); err != nil {
			return err
		}
	}
	return nil
}

// each calls do for each element of a list of messages.
func each(b []byte, n protowire.Number, do func(b []byte) error) error {
	return fields(b, func(f field) error {
		if f.is(n) {
			return do(f.bytes)
		}
		return nil
	})
}

// pusher puts a push together.
type pusher struct {
	push  Push
	rank  int32  // of the resource: that of points that say none
	found bool   // anything of ours
	data  []byte // not yet read
	last  int    // index of the gauges that were used last
}

// parsePush reads resource metrics, nil if they are none of ours. Fields come in any order.
func parsePush(b []byte) (*Push, error) {
	p := pusher{rank: health.NoRank}
	err := each(b, fieldResource, func(b []byte) error {
		return each(b, fieldAttributes, p.resource)
	})
	if err == nil {
		err = each(b, fieldScopeMetrics, p.scope)
	}
	switch {
	case err != nil:
		return nil, err
	case !p.found:
		return nil, nil
	}
	if p.data != nil {
		if p.push.Health, err = ParseData(p.data); err != nil {
			return nil, within(attrData, err)
		}
		p.push.Health.Node = Node(p.push.Node)
	}
	if err := p.push.check(); err != nil {
		return nil, err
	}
	return &p.push, nil
}

// attribute is a key with its value. Values of other kinds are none.
type attribute struct {
	key   string
	kind  protowire.Number // of the value: fieldString and so on; 0: none
	bytes []byte
	value uint64
}

func parseAttribute(b []byte) (a attribute, err error) {
	err = fields(b, func(f field) error {
		switch {
		case f.is(fieldKey):
			a.key = known(f.bytes)
		case f.is(fieldValue):
			return fields(f.bytes, func(f field) error {
				a.kind, a.bytes, a.value = f.number, f.bytes, f.value
				if (f.kind == protowire.BytesType) != (f.number == fieldString || f.number == fieldBytes) {
					a.kind = 0
				}
				return nil
			})
		}
		return nil
	})
	return a, err
}

// attributes are those that are known, so that no memory is taken for keys.
var attributes = [...]string{
	attrNode, attrCluster, attrWorld, attrRank, attrState, attrGroup, attrMode, attrGPU, attrGPUs, attrEvent,
	attrSignal, attrData, attrThreshold, attrScore,
}

func known(key []byte) string {
	for _, k := range attributes {
		if k == string(key) {
			return k
		}
	}
	return ""
}

// text is a value as a string.
func (a *attribute) text() (string, error) {
	if a.kind != fieldString {
		return "", wrong(Value, a.key, "is no string")
	}
	if len(a.bytes) > maxName {
		return "", wrong(Limit, a.key, "has %d bytes; %d at most", len(a.bytes), maxName)
	}
	return string(a.bytes), nil
}

// integer is a value as a whole number. Earlier agents also send it as a string.
func (a *attribute) integer() (int32, error) {
	v := int64(a.value)
	switch a.kind {
	case fieldInteger:
	case fieldFloat:
		f := math.Float64frombits(a.value)
		if v = int64(max(math.MinInt32-1, min(math.MaxInt32+1, f))); float64(v) != f {
			return 0, wrong(Value, a.key, "is %v, which is no whole number of 32 bits", f)
		}
	case fieldString:
		var err error
		if v, err = strconv.ParseInt(string(a.bytes[:min(len(a.bytes), 20)]), 10, 32); err != nil {
			return 0, wrong(Value, a.key, "is no whole number of 32 bits")
		}
	default:
		return 0, wrong(Value, a.key, "is no number")
	}
	if v < math.MinInt32 || v > math.MaxInt32 {
		return 0, wrong(Value, a.key, "is %d; it must fit in 32 bits", v)
	}
	return int32(v), nil
}

// float is a value as a number, NaN if it is none or not finite.
func (a *attribute) float() float64 {
	switch v := math.Float64frombits(a.value); {
	case a.kind == fieldFloat && finite(v):
		return v
	case a.kind == fieldInteger:
		return float64(int64(a.value))
	}
	return math.NaN()
}

// resource takes an attribute of the resource.
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

// scope takes the metrics of a scope, if it is ours.
func (p *pusher) scope(b []byte) error {
	ours := false
	err := each(b, fieldScope, func(b []byte) error {
		return each(b, fieldName, func(b []byte) error {
			ours = string(b) == scope
			return nil
		})
	})
	if err != nil || !ours {
		return err
	}
	p.found = true
	return each(b, fieldMetrics, p.metric)
}

// metrics are those that are read.
var metrics = append([]string{
	metricData, metricScorePost, metricWarning, metricInfo, metricWorld, metricMode, metricReachable, metricAlarm,
}, ratioMetrics[:]...)

func (p *pusher) metric(b []byte) error {
	name := ""
	err := each(b, fieldName, func(b []byte) error {
		if i := slices.IndexFunc(metrics, func(m string) bool { return m == string(b) }); i >= 0 {
			name = metrics[i]
		}
		return nil
	})
	if err != nil || name == "" {
		return err
	}
	return each(b, fieldGauge, func(b []byte) error {
		return each(b, fieldPoints, func(b []byte) error { return p.point(name, b) })
	})
}

// point is what a point of a gauge says.
type point struct {
	value    float64
	gauges   Gauges // with what its attributes say
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
			if a.key == attrData && metric == metricData {
				return p.take(&a)
			}
			return t.attribute(&a)
		}
		return nil
	})
	switch {
	case err != nil || metric == metricData:
		return err
	case !t.hasValue:
		return wrong(Value, metric, "has no value")
	case !finite(t.value):
		return wrong(Value, metric, "is not finite")
	}
	return p.gauge(metric, &t)
}

// take takes the data of a push.
func (p *pusher) take(a *attribute) error {
	switch {
	case a.kind != fieldBytes:
		return wrong(Value, a.key, "is no bytes")
	case p.data != nil:
		return wrong(Value, a.key, "is there twice")
	}
	p.data = a.bytes
	if p.data == nil {
		p.data = []byte{}
	}
	return nil
}

// attribute takes an attribute of a point.
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

// gauge takes what a point says of a metric that is published.
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

// of finds or makes the gauges of a point's rank and group.
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
