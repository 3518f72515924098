package question

import (
	"context"
	"fmt"
)

// Row is a row of the table events.
type Row struct {
	At            int64
	Cluster, Node string
	Rank          *int32
	Kind, Name    string // of a metric or event
	Value         *float64
	Unit          string
	Severity      string
	// SeverityNumber is OpenTelemetry's, 1 to 24; 0: none.
	SeverityNumber int
	Body           string
	DurationNS     int64
	Attrs          string // a JSON object
}

// Which selects rows.
type Which struct {
	// Metric, if not empty, selects its points; otherwise rows are log records and spans, without collectives.
	Metric string
	// Severity, if not 0, is the least number of OpenTelemetry.
	Severity int
	// But leaves out what findings and episodes have.
	But bool
}

const noCollective = `metric_name is null and not (kind = 'span' and attrs_json like '%"nccl.op_type"%')`

// covered are the events that other questions answer.
const covered = `'ingero.finding', ` + ofStragglers + `, 'slow_vs_self', 'gone', 'missing', 'hang',
	'cohort_slow', 'cohort_degraded', 'inference_outlier',
	'ingero.detection.straggler', 'ingero.detection.degradation'`

// Rows returns rows of the table events, the newest first, from an offset on. more reports that they were too large to
// be read all.
func (a *Asker) Rows(ctx context.Context, s Scope, w Which, offset, most int) (list []Row, more bool,
	err error,
) {
	which := noCollective
	if w.Metric != "" {
		which = "metric_name = " + a.quote(w.Metric)
	}
	if w.Severity > 0 {
		which += fmt.Sprintf(" and severity_number >= %d", w.Severity)
	}
	if w.But {
		which += " and (event_name is null or event_name not in (" + covered + "))"
	}
	more, err = a.rows(ctx, func(l *line) {
		list = append(list, Row{
			At: l.int(), Cluster: l.nextText(), Node: l.nextText(), Rank: l.rank(), Kind: l.nextText(),
			Name: l.nextText(), Value: l.number(),
			Unit: l.nextText(), Severity: l.nextText(), SeverityNumber: int(l.int()), Body: l.nextText(), DurationNS: l.int(),
			Attrs: l.nextText(),
		})
	}, `select timestamp_ns, cluster_id, node_id, rank, kind, coalesce(metric_name, event_name), value, unit, severity,
			severity_number, body, duration_ns, attrs_json
		from events where %s and %s
		order by timestamp_ns desc, cluster_id, node_id, rank, event_name, attrs_json, kind, body, value, resource_json,
			scope, trace_id, span_id limit %d offset %d`,
		which, a.where(s, "timestamp_ns"), most, offset)
	return list, more, err
}
