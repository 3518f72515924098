package metrics

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/metric"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/trace"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
)

// Findings tells what a diagnosis of the last seconds found. It is for one goroutine,
// which may be another than that of Batch.
func (m *Metrics) Findings(r *report.Report) {
	ctx := context.Background()
	for k := range m.findings {
		m.findings[k] = 0
	}
	for k := range m.lost {
		m.lost[k] = 0
	}
	for i := range r.Chains {
		c := &r.Chains[i]
		m.findings[findingKey{c.Cause.Kind, c.Severity}]++
		m.lost[lostKey{c.Cause.Kind, c.Severity, c.Effect.Process}] += c.LostPct / 100
	}
	for k, n := range m.findings {
		m.gauges[findingCount].Record(ctx, n,
			metric.WithAttributes(attribute.String(attrCause, k.cause), attribute.String(attrLevel, string(k.severity))))
		if n == 0 {
			delete(m.findings, k) // told to be over once
		}
	}
	for k, share := range m.lost {
		m.gauges[findingLost].Record(ctx, share, metric.WithAttributes(
			attribute.String(attrCause, k.cause), attribute.String(attrLevel, string(k.severity)),
			attribute.String(attrProcess, k.process)))
		if share == 0 {
			delete(m.lost, k)
		}
	}
}

// repeated is how long a finding is not told again while it goes on.
const repeated = time.Minute

// Logs tells findings as log records: one when it is found first, and again each
// minute that it goes on. All records of a run are of one trace; those of one finding
// have the same span, so that they are found together.
type Logs struct {
	logger   log.Logger
	run      trace.TraceID
	reported map[string]time.Time // by finding
}

// NewLogs sends them to a provider. What the run is called, unique by machine and
// time, gives the trace its id.
func NewLogs(provider *sdklog.LoggerProvider, run string) *Logs {
	sum := sha256.Sum256([]byte(run))
	return &Logs{
		logger: provider.Logger("github.com/ingero-io/ingero"), run: trace.TraceID(sum[:16]),
		reported: map[string]time.Time{},
	}
}

// Findings tells those of a diagnosis.
func (l *Logs) Findings(r *report.Report, now time.Time) {
	for id, at := range l.reported {
		if now.Sub(at) >= repeated {
			delete(l.reported, id)
		}
	}
	for i := range r.Chains {
		c := &r.Chains[i]
		// By process: the ranks of a node have one name.
		id := fmt.Sprintf("%s %s %s %d", c.Cause.Kind, c.Cause.Process, c.Effect.Process, c.Effect.PID)
		if _, reported := l.reported[id]; reported {
			continue
		}
		l.reported[id] = now
		l.tell(c, id, now)
	}
}

// severities are those of OpenTelemetry's log data model.
var severities = map[event.Severity]log.Severity{
	event.SeverityHigh: log.SeverityError, event.SeverityMedium: log.SeverityWarn, event.SeverityLow: log.SeverityInfo,
}

func (l *Logs) tell(c *report.Chain, id string, now time.Time) {
	span := sha256.Sum256([]byte(id))
	ctx := trace.ContextWithSpanContext(context.Background(), trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: l.run, SpanID: trace.SpanID(span[:8]), TraceFlags: trace.FlagsSampled,
	}))
	var rec log.Record
	rec.SetTimestamp(now)
	rec.SetObservedTimestamp(now)
	rec.SetEventName("ingero.finding")
	rec.SetSeverity(severities[c.Severity])
	rec.SetSeverityText(string(c.Severity))
	rec.SetBody(attribute.StringValue(c.Summary))
	rec.AddAttributes(
		attribute.String("ingero.finding.id", c.ID),
		attribute.String(attrCause, c.Cause.Kind),
		attribute.String("ingero.cause.process", c.Cause.Process),
		attribute.Int64("ingero.cause.pid", int64(c.Cause.PID)),
		attribute.String("ingero.cause.detail", c.Cause.Detail),
		attribute.String("ingero.effect.op", c.Effect.Op),
		attribute.String(attrProcess, c.Effect.Process),
		attribute.Int64("process.pid", int64(c.Effect.PID)),
		attribute.Int64("thread.id", int64(c.Effect.TID)),
		attribute.Float64("ingero.finding.lost_pct", c.LostPct),
		attribute.Int64("ingero.finding.lost_ns", int64(c.LostNS)),
		attribute.Float64("ingero.finding.explained_pct", c.ExplainedPct),
		attribute.StringSlice("ingero.finding.event_ids", c.Evidence.EventIDs),
		attribute.StringSlice("ingero.finding.recommendations", c.Recommendations),
	)
	if r := root(c.Path); r != nil {
		rec.AddAttributes(
			attribute.String("ingero.root.process", r.Process), attribute.Int64("ingero.root.pid", int64(r.PID)))
	}
	l.logger.Emit(ctx, rec)
}

// root is the end of a path: its last step, or, if a thread waited for a CPU, what ran there longest.
func root(path []report.Step) *report.Step {
	for i := range path {
		if i > 0 && path[i-1].State == "runnable" {
			return &path[i]
		}
	}
	if len(path) == 0 {
		return nil
	}
	return &path[len(path)-1]
}
