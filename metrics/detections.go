package metrics

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/trace"

	"github.com/ingero-io/ingero/cluster/health"
	"github.com/ingero-io/ingero/cluster/wire"
)

// Attributes of more than one signal.
const (
	attrCluster = "ingero.cluster.id"
	attrAddress = "ingero.node.address"
)

// The names of spans, as published for earlier agents.
const (
	spanStraggler   = "ingero.detection.straggler"
	spanDegradation = "ingero.detection.degradation"
)

// maxOpen is of how many spans that have not ended is known. Further ones are not sent, and counted as lost.
const maxOpen = 1024

// Detections sends what is said of ranks: each event as a log record, and what lasts as a span from its begin to
// its end. The trace of an event is its id, which is a UUID. Its methods may be called by several goroutines.
type Detections struct {
	pushed  *Pushed
	logger  log.Logger
	tracer  trace.Tracer
	address string

	mu     sync.Mutex // guards what follows
	open   map[string]trace.Span
	closed bool
}

// NewDetections sends them by p. address is where the node can be asked, empty: nowhere.
func NewDetections(p *Pushed, address string) *Detections {
	return &Detections{
		pushed: p, logger: p.Logs.Logger("github.com/ingero-io/ingero"),
		tracer: p.Spans.Tracer("github.com/ingero-io/ingero"), address: address, open: map[string]trace.Span{},
	}
}

// Event sends an event. text is the event in a sentence. An event that is repeated, because its cause became known
// later, is another record and the same span.
func (d *Detections) Event(e *wire.Event, text string) {
	attrs := append(eventAttributes(e), d.node(e.Node, e.Cluster)...)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return
	}
	ctx := context.Background()
	if name := spanOf(e); name != "" {
		ctx = d.span(e, name, attrs)
	}
	var rec log.Record
	rec.SetTimestamp(e.At)
	rec.SetEventName(e.Type)
	rec.SetSeverity(severityOf(e))
	rec.SetSeverityText(severityOf(e).String())
	rec.SetBody(attribute.StringValue(text))
	rec.AddAttributes(attrs...)
	d.logger.Emit(ctx, rec)
}

// node says which node it is.
func (d *Detections) node(name, cluster string) []attribute.KeyValue {
	var a attributes
	a.addText("ingero.node.id", name)
	a.addText(attrCluster, cluster)
	a.addText(attrAddress, d.address)
	return a
}

// spanOf is the name of the span that an event begins or ends; empty if it is about a moment only, or said by a
// fleet, whose end the node does not hear of.
func spanOf(e *wire.Event) string {
	switch e.Type {
	case wire.EventStraggler, wire.EventResolved:
		return spanStraggler
	case health.KindSlowVsSelf.String():
		return spanDegradation
	}
	return ""
}

// severityOf is how much an event matters: of an error the job stands still, of a warning it is slow.
func severityOf(e *wire.Event) log.Severity {
	switch {
	case e.Resolved:
		return log.SeverityInfo
	case e.Type == wire.EventStraggler, e.Type == health.KindSlowVsSelf.String(),
		e.Type == health.KindCohortDegraded.String():
		return log.SeverityWarn
	case e.Type == health.KindCohortSlow.String():
		return log.SeverityInfo
	}
	return log.SeverityError
}

// span begins, goes on with or ends the span of an event, and returns a context that is within it. mu is held.
func (d *Detections) span(e *wire.Event, name string, attrs []attribute.KeyValue) context.Context {
	key := cmp.Or(e.ID, e.Type+" "+e.Node+" "+e.Cohort)
	span, at := d.open[key], trace.WithTimestamp(e.At)
	switch {
	case e.Resolved && span != nil:
		d.end(key, "resolved", e.At)
	case span != nil: // its cause has become known
		span.SetAttributes(attrs...)
		if c := e.Cause; c != nil {
			span.AddEvent("cause", at, trace.WithAttributes(causeAttributes(c)...))
		}
	case !e.Resolved:
		from := e.At
		if e.Since != nil {
			from = *e.Since
		}
		span = d.begin(key, key, name, from, attrs)
	}
	if span == nil {
		return context.Background()
	}
	return trace.ContextWithSpanContext(context.Background(), span.SpanContext())
}

// begin begins a span, whose ids are made of id; nil if there are too many. mu is held.
func (d *Detections) begin(key, id, name string, from time.Time, attrs []attribute.KeyValue) trace.Span {
	if len(d.open) >= maxOpen {
		d.pushed.spans.lose()
		return nil
	}
	ctx := context.WithValue(context.Background(), spanKey{}, spanName{trace: id})
	_, span := d.tracer.Start(ctx, name, trace.WithTimestamp(from), trace.WithAttributes(attrs...),
		trace.WithSpanKind(trace.SpanKindInternal))
	d.open[key] = span
	return span
}

// end ends a span. mu is held.
func (d *Detections) end(key, status string, at time.Time) {
	d.open[key].AddEvent("outcome", trace.WithTimestamp(at), trace.WithAttributes(attribute.String("status", status)))
	d.open[key].End(trace.WithTimestamp(at))
	delete(d.open, key)
}

// suspected begins the key of the span of a suspect: it has no event, and so no id.
const suspected = "suspect "

// States takes what all ranks of the node are. A suspect, of which there is some evidence that it is slow, has a
// span for as long as it is one. It ends as "straggler" if the rank became one, as "unresolved" if nothing is
// known of it any more.
func (d *Detections) States(now time.Time, ranks []wire.RankState) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return
	}
	seen := map[string]string{}
	for i := range ranks {
		r := &ranks[i]
		key := fmt.Sprint(suspected, r.Cluster, " ", r.Cohort, " ", r.Rank, " ", r.PID)
		seen[key] = r.State
		if r.State == health.Suspect.String() && d.open[key] == nil {
			id := fmt.Sprint(key, " ", now.UnixNano()) // a rank may be a suspect more than once
			d.begin(key, id, spanDegradation, now, append([]attribute.KeyValue{
				attribute.String("type", r.State), attribute.String("cohort", r.Cohort), attribute.Int("rank", int(r.Rank)),
				attribute.Int("world_size", int(r.WorldSize)), attribute.Float64("own_ms", r.OwnMS),
				attribute.Float64("peer_ms", r.PeerMS), attribute.Float64("g", r.G),
			}, d.node(r.Node, r.Cluster)...))
		}
	}
	for key := range d.open {
		state, known := seen[key]
		switch {
		case !strings.HasPrefix(key, suspected) || state == health.Suspect.String():
		case !known:
			d.end(key, "unresolved", now)
		case state == health.Straggler.String():
			d.end(key, state, now)
		default:
			d.end(key, "resolved", now)
		}
	}
}

// Close ends all spans as unresolved. What is said later is not sent.
func (d *Detections) Close(now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	for key := range d.open {
		d.end(key, "unresolved", now)
	}
}

// spanKey is where a context has what the ids of the span that begins are made of.
type spanKey struct{}

// spanName is what ids are made of: of equal texts, equal ones. span may be empty for the only span of a trace.
type spanName struct{ trace, span string }

// spanIDs makes the ids of spans: the trace's of its name, which may be a UUID, and the span's of both.
type spanIDs struct{}

// NewIDs implements sdktrace.IDGenerator.
func (g spanIDs) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	name, _ := ctx.Value(spanKey{}).(spanName)
	sum := sha256.Sum256([]byte(name.trace))
	id := trace.TraceID(sum[:16])
	if b, err := hex.DecodeString(strings.ReplaceAll(name.trace, "-", "")); err == nil && len(b) == len(id) {
		id = trace.TraceID(b)
	}
	return id, g.NewSpanID(ctx, id)
}

// NewSpanID implements sdktrace.IDGenerator.
func (spanIDs) NewSpanID(ctx context.Context, of trace.TraceID) trace.SpanID {
	name, _ := ctx.Value(spanKey{}).(spanName)
	sum := sha256.Sum256(append(of[:], name.span...))
	return trace.SpanID(sum[:8])
}

// eventAttributes are the fields of an event, with the names that they have in its line of JSON. Fields of its
// cause are "cause." and their names.
func eventAttributes(e *wire.Event) []attribute.KeyValue {
	var a attributes
	a.addText("type", e.Type)
	a.addText("node_id", e.Node)
	a.addText("cluster_id", e.Cluster)
	a.time("timestamp", &e.At)
	a.addText("event_id", e.ID)
	if e.Rank != nil {
		a = append(a, attribute.Int("rank", int(*e.Rank)))
	}
	a.addCount("world_size", int(e.WorldSize))
	a.addCount("pid", int(e.PID))
	a.number("score", e.Score)
	a.number("threshold", e.Threshold)
	a.addText("detection_mode", e.Mode)
	a.addText("dominant_signal", e.Signal)
	a = append(a, attribute.Bool("resolved", e.Resolved))
	if e.Folded {
		a = append(a, attribute.Bool("folded", true))
	}
	a.time("since", e.Since)
	a.addText("cohort", e.Cohort)
	a.addCount("ranks", e.Ranks)
	a.number("excess", e.Excess)
	a.number("own_ms", e.OwnMS)
	a.number("peer_ms", e.PeerMS)
	a.number("lost_ms_per_step", e.LostMS)
	a.number("step_ms", e.StepMS)
	a.number("sigma", e.Sigma)
	a.number("g", e.G)
	a.number("h", e.H)
	a.addText("measured", e.Measured)
	if e.Cause != nil {
		a = append(a, causeAttributes(e.Cause)...)
	}
	return a
}

func causeAttributes(c *wire.Cause) []attribute.KeyValue {
	a := attributes{
		attribute.String("cause.kind", c.Kind), attribute.Float64("cause.ms_per_step", c.MS),
		attribute.Float64("cause.explained", c.Explained),
	}
	a.addText("cause.culprit", c.Culprit)
	a.addText("cause.second", c.Second)
	if len(c.Evidence) > 0 {
		a = append(a, attribute.StringSlice("cause.evidence_ids", c.Evidence))
	}
	return a
}

// attributes is a list to which what is known is added.
type attributes []attribute.KeyValue

func (a *attributes) addText(name, s string) {
	if s != "" {
		*a = append(*a, attribute.String(name, s))
	}
}

func (a *attributes) addCount(name string, n int) {
	if n != 0 {
		*a = append(*a, attribute.Int(name, n))
	}
}

func (a *attributes) number(name string, v *float64) {
	if v != nil {
		*a = append(*a, attribute.Float64(name, *v))
	}
}

func (a *attributes) time(name string, t *time.Time) {
	if t != nil {
		*a = append(*a, attribute.String(name, t.Format(time.RFC3339Nano)))
	}
}
