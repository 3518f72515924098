package ingest

import (
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"

	"github.com/ingero-io/ingero/echo/otlp"
)

// signal is one of the three kinds of requests.
type signal struct {
	path    string // HTTP path
	service string // gRPC service; its method is Export
	// rows converts a request to rows.
	rows func(json bool, body []byte, o otlp.Options) (otlp.Result, error)
	// answer returns the response, with what was refused.
	answer func(json bool, refused int64, why string) ([]byte, error)
}

var signals = []signal{
	{"/v1/metrics", "opentelemetry.proto.collector.metrics.v1.MetricsService", metrics, metricsAnswer},
	{"/v1/logs", "opentelemetry.proto.collector.logs.v1.LogsService", logs, logsAnswer},
	{"/v1/traces", "opentelemetry.proto.collector.trace.v1.TraceService", traces, tracesAnswer},
}

// message is an OTLP request or response.
type message interface {
	UnmarshalProto(b []byte) error
	UnmarshalJSON(b []byte) error
	MarshalProto() ([]byte, error)
	MarshalJSON() ([]byte, error)
}

// maxPoints bounds the points of a request. A row that shares nothing takes some 600 bytes of memory, and an empty
// point 11 bytes of a request.
const maxPoints = 50_000

// parse reads a request.
func parse(m message, in *within, json bool, body []byte) error {
	if err := reasonable(in, json, body); err != nil {
		return err
	}
	if json {
		return m.UnmarshalJSON(body)
	}
	return m.UnmarshalProto(body)
}

func write(m message, json bool) ([]byte, error) {
	if json {
		return m.MarshalJSON()
	}
	return m.MarshalProto()
}

func metrics(json bool, body []byte, o otlp.Options) (otlp.Result, error) {
	m := pmetricotlp.NewExportRequest()
	if err := parse(m, inMetrics, json, body); err != nil {
		return otlp.Result{}, err
	}
	if err := few("points", m.Metrics().DataPointCount(), maxPoints); err != nil {
		return otlp.Result{}, err
	}
	return otlp.Metrics(m.Metrics(), o), nil
}

func metricsAnswer(json bool, refused int64, why string) ([]byte, error) {
	m := pmetricotlp.NewExportResponse()
	if refused > 0 {
		m.PartialSuccess().SetRejectedDataPoints(refused)
		m.PartialSuccess().SetErrorMessage(why)
	}
	return write(m, json)
}

func logs(json bool, body []byte, o otlp.Options) (otlp.Result, error) {
	m := plogotlp.NewExportRequest()
	if err := parse(m, inLogs, json, body); err != nil {
		return otlp.Result{}, err
	}
	if err := few("log records", m.Logs().LogRecordCount(), maxPoints); err != nil {
		return otlp.Result{}, err
	}
	return otlp.Logs(m.Logs(), o), nil
}

func logsAnswer(json bool, refused int64, why string) ([]byte, error) {
	m := plogotlp.NewExportResponse()
	if refused > 0 {
		m.PartialSuccess().SetRejectedLogRecords(refused)
		m.PartialSuccess().SetErrorMessage(why)
	}
	return write(m, json)
}

func traces(json bool, body []byte, o otlp.Options) (otlp.Result, error) {
	m := ptraceotlp.NewExportRequest()
	if err := parse(m, inTraces, json, body); err != nil {
		return otlp.Result{}, err
	}
	if err := few("spans and events", rowsOf(m.Traces()), maxPoints); err != nil {
		return otlp.Result{}, err
	}
	return otlp.Traces(m.Traces(), o), nil
}

// rowsOf returns the number of spans and their events.
func rowsOf(t ptrace.Traces) int {
	n := t.SpanCount()
	for _, rs := range t.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, span := range ss.Spans().All() {
				n += span.Events().Len()
			}
		}
	}
	return n
}

func tracesAnswer(json bool, refused int64, why string) ([]byte, error) {
	m := ptraceotlp.NewExportResponse()
	if refused > 0 {
		m.PartialSuccess().SetRejectedSpans(refused)
		m.PartialSuccess().SetErrorMessage(why)
	}
	return write(m, json)
}
