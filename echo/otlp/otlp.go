// Package otlp converts OTLP requests to rows: one for each point of a metric, log record and span. It has no clock
// and no I/O: the caller says when a request came.
//
// A point that cannot be kept is left out and counted; the first one's reason is returned. The others are kept.
package otlp

import (
	"fmt"
	"math"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/ingero-io/ingero/echo/row"
)

// Limits of a row. What is longer is refused and not cut: a cut text is another text.
const (
	MaxText    = 16 << 10 // of its attributes, its resource's attributes, or its body, in bytes
	MaxName    = 256      // of a name (metric, node, event), in bytes
	MaxBuckets = 1024     // of a histogram
	maxDepth   = 16       // nested attributes
)

// Result is the outcome of a request.
type Result struct {
	Rows []row.Row
	// Refused counts points that were left out; Why is the first one's reason.
	Refused int64
	Why     string
	// LeftOut counts parts of rows that are kept without them: links of spans, and their events that cannot be kept;
	// exemplars; and quantiles of summaries for which there is no column.
	LeftOut int64
}

func (r *Result) refuse(format string, args ...any) {
	r.refuseAll(1, format, args...)
}

func (r *Result) refuseAll(n int, format string, args ...any) {
	if r.Refused == 0 && n > 0 {
		r.Why = fmt.Sprintf(format, args...)
	}
	r.Refused += int64(n)
}

// Options of a request.
type Options struct {
	// Received is the time of arrival, in nanoseconds since the Unix epoch.
	Received int64
	// Cluster is the cluster of rows that name none.
	Cluster string
	// Known caches the series of earlier requests; nil: no cache.
	Known *Known
}

// begin returns the converter of a request.
func begin(o Options, out *Result) *converter {
	known := o.Known
	if known == nil {
		known = NewKnown(0)
	}
	return &converter{out: out, options: o, visit: known.begin()}
}

// Metrics converts points of metrics to rows.
func Metrics(m pmetric.Metrics, o Options) Result {
	var out Result
	out.Rows = make([]row.Row, 0, m.DataPointCount())
	c := begin(o, &out)
	defer c.visit.end()
	for _, rm := range m.ResourceMetrics().All() {
		err := c.resource(rm.Resource())
		for _, sm := range rm.ScopeMetrics().All() {
			if err == nil {
				err = c.scope(sm.Scope())
			}
			for _, metric := range sm.Metrics().All() {
				if err != nil {
					out.refuseAll(points(metric), "%v", err)
					continue
				}
				c.metric(metric)
			}
		}
	}
	return out
}

// Logs converts log records to rows.
func Logs(l plog.Logs, o Options) Result {
	var out Result
	out.Rows = make([]row.Row, 0, l.LogRecordCount())
	c := begin(o, &out)
	defer c.visit.end()
	for _, rl := range l.ResourceLogs().All() {
		err := c.resource(rl.Resource())
		for _, sl := range rl.ScopeLogs().All() {
			if err == nil {
				err = c.scope(sl.Scope())
			}
			if err != nil {
				out.refuseAll(sl.LogRecords().Len(), "%v", err)
				continue
			}
			for _, line := range sl.LogRecords().All() {
				c.line(line)
			}
		}
	}
	return out
}

// Traces converts spans and their events to rows. It drops their links, kinds and trace states.
func Traces(t ptrace.Traces, o Options) Result {
	var out Result
	out.Rows = make([]row.Row, 0, t.SpanCount())
	c := begin(o, &out)
	defer c.visit.end()
	for _, rs := range t.ResourceSpans().All() {
		err := c.resource(rs.Resource())
		for _, ss := range rs.ScopeSpans().All() {
			if err == nil {
				err = c.scope(ss.Scope())
			}
			if err != nil {
				out.refuseAll(ss.Spans().Len(), "%v", err)
				continue
			}
			for _, span := range ss.Spans().All() {
				c.span(span)
			}
		}
	}
	return out
}

// converter makes the rows of a request.
type converter struct {
	out     *Result
	options Options
	visit   *visit
	json    encoder
	of      *resource // the current resource
	scoped  string
	before  []byte // begin of the keys of a metric's series
}

func (c *converter) resource(r pcommon.Resource) error {
	if c.of = c.visit.resource(r.Attributes(), c.options.Cluster); c.of != nil {
		return nil
	}
	b, err := c.json.object(r.Attributes())
	if err != nil {
		return fmt.Errorf("attributes of the resource: %w", err)
	}
	if len(b) > MaxText {
		return fmt.Errorf("attributes of the resource have %d bytes; %d are kept", len(b), MaxText)
	}
	of := &resource{attrs: string(b), of: place{rank: row.None}}
	if of.of.cluster, err = named("cluster of the request", c.options.Cluster); err != nil {
		return err
	}
	of.of.byRequest = of.of.cluster != ""
	if err := of.of.read(r.Attributes()); err != nil {
		return err
	}
	c.visit.putResource(of)
	c.of = of
	return nil
}

func (c *converter) scope(s pcommon.InstrumentationScope) error {
	c.scoped = valid(s.Name())
	if len(c.scoped) > MaxName {
		return fmt.Errorf("the scope's name has %d bytes; %d are kept", len(c.scoped), MaxName)
	}
	return nil
}

// tooLate begins the last second, which is not complete, of times in 64 bits: its end could not be told.
const tooLate = math.MaxInt64 / 1_000_000_000 * 1_000_000_000

// timed returns a time that can be kept.
func timed(at pcommon.Timestamp) (int64, error) {
	if at == 0 || at >= tooLate {
		return 0, fmt.Errorf("the time %d is not known or too far away", uint64(at))
	}
	return int64(at), nil
}

// read sets the fields of a series from attributes, the resource and the scope.
func (c *converter) read(s *row.Series, attrs pcommon.Map) error {
	b, err := c.json.object(attrs)
	if err != nil {
		return fmt.Errorf("attributes: %w", err)
	}
	if len(b) > MaxText {
		return fmt.Errorf("attributes have %d bytes; %d are kept", len(b), MaxText)
	}
	of := c.of.of
	if err := of.read(attrs); err != nil {
		return err
	}
	s.Cluster, s.ByRequest, s.Node, s.Rank, s.NRanks = of.cluster, of.byRequest, of.node, of.rank, of.ranks
	s.Attrs, s.Resource, s.Scope = string(b), c.of.attrs, c.scoped
	return nil
}

// named checks the length of a name.
func named(what, name string) (string, error) {
	name = valid(name)
	if len(name) > MaxName {
		return "", fmt.Errorf("the %s has %d bytes; %d are kept", what, len(name), MaxName)
	}
	return name, nil
}

// valid replaces what is not UTF-8. Most texts are valid and not copied.
func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
