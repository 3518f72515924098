// Package demo plays back what a cluster sent: eight ranks of a job on two hosts, each with a tracer. Rank 5 came
// 290 ms late to every 14th all-reduce, because another process had its CPU. Fleet's collector wrote what it passed on
// to Echo ("make record-echo-demo"). The package has no clock and no I/O.
package demo

import (
	"bufio"
	"bytes"
	"compress/gzip"
	_ "embed"
	"fmt"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
)

// recorded is a request a line, as JSON of OTLP.
//
//go:embed recorded.jsonl.gz
var recorded []byte

// Request is a request that an OpenTelemetry exporter would send over HTTP.
type Request struct {
	Path string // such as /v1/traces
	Body []byte // protobuf
}

// Requests returns all requests, in the order in which they were sent. Their times are moved so that the last one is at
// end, in nanoseconds since the Unix epoch.
func Requests(end int64) ([]Request, error) {
	list, err := readMessages()
	if err != nil {
		return nil, err
	}
	last := int64(0)
	for _, m := range list {
		m.times(func(at int64) int64 {
			last = max(last, at)
			return at
		})
	}
	requests := make([]Request, len(list))
	for i, m := range list {
		m.times(func(at int64) int64 { return at + end - last })
		if requests[i], err = m.request(); err != nil {
			return nil, fmt.Errorf("write what was recorded, line %d: %w", i+1, err)
		}
	}
	return requests, nil
}

// message is what was sent in one request. times calls a function with each time, and sets it to what is returned.
type message interface {
	times(func(ns int64) int64)
	request() (Request, error)
}

// longest is the largest line, in bytes.
const longest = 16 << 20

func readMessages() ([]message, error) {
	z, err := gzip.NewReader(bytes.NewReader(recorded))
	if err != nil {
		return nil, fmt.Errorf("read what was recorded: %w", err)
	}
	var list []message
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, longest)
	for lines.Scan() {
		m, err := parse(lines.Bytes())
		if err != nil {
			return nil, fmt.Errorf("read what was recorded, line %d: %w", len(list)+1, err)
		}
		list = append(list, m)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read what was recorded: %w", err)
	}
	return list, nil
}

func parse(line []byte) (message, error) {
	switch {
	case bytes.HasPrefix(line, []byte(`{"resourceSpans"`)):
		t, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(line)
		return traces{t}, err
	case bytes.HasPrefix(line, []byte(`{"resourceMetrics"`)):
		m, err := (&pmetric.JSONUnmarshaler{}).UnmarshalMetrics(line)
		return metrics{m}, err
	case bytes.HasPrefix(line, []byte(`{"resourceLogs"`)):
		l, err := (&plog.JSONUnmarshaler{}).UnmarshalLogs(line)
		return logs{l}, err
	}
	return nil, fmt.Errorf("not traces, metrics or logs: %.40q", line)
}

type traces struct{ ptrace.Traces }

func (t traces) request() (Request, error) {
	b, err := ptraceotlp.NewExportRequestFromTraces(t.Traces).MarshalProto()
	return Request{"/v1/traces", b}, err
}

func (t traces) times(to func(int64) int64) {
	for _, r := range t.ResourceSpans().All() {
		for _, s := range r.ScopeSpans().All() {
			for _, span := range s.Spans().All() {
				span.SetStartTimestamp(moved(span.StartTimestamp(), to))
				span.SetEndTimestamp(moved(span.EndTimestamp(), to))
			}
		}
	}
}

type logs struct{ plog.Logs }

func (l logs) request() (Request, error) {
	b, err := plogotlp.NewExportRequestFromLogs(l.Logs).MarshalProto()
	return Request{"/v1/logs", b}, err
}

func (l logs) times(to func(int64) int64) {
	for _, r := range l.ResourceLogs().All() {
		for _, s := range r.ScopeLogs().All() {
			for _, record := range s.LogRecords().All() {
				record.SetTimestamp(moved(record.Timestamp(), to))
				record.SetObservedTimestamp(moved(record.ObservedTimestamp(), to))
			}
		}
	}
}

type metrics struct{ pmetric.Metrics }

func (m metrics) request() (Request, error) {
	b, err := pmetricotlp.NewExportRequestFromMetrics(m.Metrics).MarshalProto()
	return Request{"/v1/metrics", b}, err
}

func (m metrics) times(to func(int64) int64) {
	for _, r := range m.ResourceMetrics().All() {
		for _, s := range r.ScopeMetrics().All() {
			for _, metric := range s.Metrics().All() {
				switch metric.Type() {
				case pmetric.MetricTypeGauge:
					for _, p := range metric.Gauge().DataPoints().All() {
						point(p, to)
					}
				case pmetric.MetricTypeSum:
					for _, p := range metric.Sum().DataPoints().All() {
						point(p, to)
					}
				case pmetric.MetricTypeHistogram:
					for _, p := range metric.Histogram().DataPoints().All() {
						point(p, to)
					}
				case pmetric.MetricTypeExponentialHistogram:
					for _, p := range metric.ExponentialHistogram().DataPoints().All() {
						point(p, to)
					}
				}
			}
		}
	}
}

// timed is a point of any kind.
type timed interface {
	StartTimestamp() pcommon.Timestamp
	SetStartTimestamp(pcommon.Timestamp)
	Timestamp() pcommon.Timestamp
	SetTimestamp(pcommon.Timestamp)
}

func point(p timed, to func(int64) int64) {
	p.SetStartTimestamp(moved(p.StartTimestamp(), to))
	p.SetTimestamp(moved(p.Timestamp(), to))
}

// moved moves a time. 0, which is not set, stays.
func moved(at pcommon.Timestamp, to func(int64) int64) pcommon.Timestamp {
	if at == 0 {
		return 0
	}
	return pcommon.Timestamp(to(int64(at)))
}
