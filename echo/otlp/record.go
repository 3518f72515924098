package otlp

import (
	"math"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/ingero-io/ingero/echo/row"
)

// line adds a log record. If it has no time of its own, it gets the time when it was observed, or else when it came.
// Two such records are two rows, even if one is a repetition.
func (c *converter) line(l plog.LogRecord) {
	at := l.Timestamp()
	if at == 0 {
		at = l.ObservedTimestamp()
	}
	if at == 0 {
		at = pcommon.Timestamp(c.options.Received)
	}
	r, err := c.record(row.Log, at, l.Attributes())
	if err == nil {
		err = c.content(r.Record, l)
	}
	if err != nil {
		c.out.refuse("a line of a log: %v", err)
		return
	}
	t := r.Record
	r.Key = row.Key(&r, row.Identity(c.scoped, t.Event, t.Severity, t.Body, t.Trace, t.Span))
	c.out.Rows = append(c.out.Rows, r)
}

// record returns the row of a log record or a span, without its content.
func (c *converter) record(kind row.Kind, at pcommon.Timestamp, attrs pcommon.Map) (r row.Row, err error) {
	r = row.Row{Series: &row.Series{Kind: kind}, Received: c.options.Received, Record: &row.Record{}}
	if r.Timestamp, err = timed(at); err != nil {
		return r, err
	}
	return r, c.read(r.Series, attrs)
}

// content sets the content of a log record.
func (c *converter) content(r *row.Record, l plog.LogRecord) (err error) {
	if r.Event, err = named("event's name", l.EventName()); err != nil {
		return err
	}
	if r.Severity, err = named("severity", l.SeverityText()); err != nil {
		return err
	}
	if r.SeverityNumber = int32(l.SeverityNumber()); r.Severity == "" {
		r.Severity = severity(l.SeverityNumber())
	}
	r.Trace, r.Span = l.TraceID().String(), l.SpanID().String()
	switch body := l.Body(); body.Type() {
	case pcommon.ValueTypeEmpty:
	case pcommon.ValueTypeStr:
		r.Body = body.Str()
	default:
		b, err := c.json.value(body)
		if err != nil {
			return err
		}
		r.Body = string(b)
	}
	r.Body, err = kept("body", r.Body)
	return err
}

// severity returns OpenTelemetry's short name of a severity number.
func severity(n plog.SeverityNumber) string {
	for _, s := range []struct {
		from plog.SeverityNumber
		name string
	}{
		{plog.SeverityNumberFatal, "FATAL"},
		{plog.SeverityNumberError, "ERROR"},
		{plog.SeverityNumberWarn, "WARN"},
		{plog.SeverityNumberInfo, "INFO"},
		{plog.SeverityNumberDebug, "DEBUG"},
		{plog.SeverityNumberTrace, "TRACE"},
	} {
		if n >= s.from {
			return s.name
		}
	}
	return ""
}

// span adds a span, at its begin.
func (c *converter) span(s ptrace.Span) {
	r, err := c.record(row.Span, s.StartTimestamp(), s.Attributes())
	if err == nil {
		r.Record.Event, err = named("span's name", s.Name())
	}
	if err == nil {
		r.Record.Body, err = kept("status", s.Status().Message())
	}
	if err != nil {
		c.out.refuse("a span: %v", err)
		return
	}
	t := r.Record
	if end := s.EndTimestamp(); end <= math.MaxInt64 { // else it is not known when it ended
		t.Duration = max(0, int64(end)-r.Timestamp)
	}
	t.Trace, t.Span, t.Parent = s.TraceID().String(), s.SpanID().String(), s.ParentSpanID().String()
	if s.Status().Code() == ptrace.StatusCodeError {
		t.Severity, t.SeverityNumber = "ERROR", int32(plog.SeverityNumberError)
	}
	r.Key = row.Key(&r, row.Identity(c.scoped, t.Event, t.Trace, t.Span))
	c.out.Rows = append(c.out.Rows, r)
	c.out.LeftOut += int64(s.Links().Len())
	for _, e := range s.Events().All() {
		if err := c.eventOf(&r, e); err != nil {
			c.out.LeftOut++ // the span is kept
		}
	}
}

// eventOf adds an event of a span, as a log record of the span's trace.
func (c *converter) eventOf(span *row.Row, e ptrace.SpanEvent) error {
	r, err := c.record(row.Log, e.Timestamp(), e.Attributes())
	if err != nil {
		return err
	}
	r.Cluster, r.ByRequest, r.Node, r.Rank, r.NRanks = span.Cluster, span.ByRequest, span.Node, span.Rank, span.NRanks
	t := r.Record
	if t.Event, err = named("event's name", e.Name()); err != nil {
		return err
	}
	t.Trace, t.Span = span.Record.Trace, span.Record.Span
	r.Key = row.Key(&r, row.Identity(c.scoped, t.Event, t.Severity, t.Body, t.Trace, t.Span))
	c.out.Rows = append(c.out.Rows, r)
	return nil
}
