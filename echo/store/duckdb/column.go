package duckdb

import (
	"database/sql/driver"
	"math"
	"slices"

	"github.com/ingero-io/ingero/echo/row"
)

// table is a table with texts and lists. alike groups the kinds of its rows that use the same columns.
type table struct {
	name    string
	columns []column
	alike   [][]row.Kind
}

// column is a column of a table.
type column struct {
	name string
	of   func(p *point) driver.Value // nil: NULL in this row
}

// others are the tables besides point. The order of columns does not matter.
var others = []table{
	{"distribution", distributionColumns, [][]row.Kind{{row.Histogram, row.ExponentialHistogram, row.Summary}}},
	{"record", recordColumns, [][]row.Kind{
		{row.Gauge, row.Sum}, {row.Histogram, row.ExponentialHistogram, row.Summary}, {row.Log}, {row.Span},
	}},
}

// distributionValues are the columns of a histogram or summary.
var distributionValues = []column{
	{"count", ofDistribution(func(d *row.Distribution) driver.Value { return int64(min(d.Count, math.MaxInt64)) })},
	{"sum", ofDistribution(func(d *row.Distribution) driver.Value { return number(!math.IsNaN(d.Sum), d.Sum) })},
	{"min", ofDistribution(func(d *row.Distribution) driver.Value { return number(!math.IsNaN(d.Min), d.Min) })},
	{"max", ofDistribution(func(d *row.Distribution) driver.Value { return number(!math.IsNaN(d.Max), d.Max) })},
	{"p50", ofDistribution(func(d *row.Distribution) driver.Value { return number(!math.IsNaN(d.P50), d.P50) })},
	{"p90", ofDistribution(func(d *row.Distribution) driver.Value { return number(!math.IsNaN(d.P90), d.P90) })},
	{"p99", ofDistribution(func(d *row.Distribution) driver.Value { return number(!math.IsNaN(d.P99), d.P99) })},
	{"bucket_lower", ofBuckets(func(b *row.Bucket) float64 { return b.Lower })},
	{"bucket_upper", ofBuckets(func(b *row.Bucket) float64 { return b.Upper })},
	{"bucket_count", ofBuckets(func(b *row.Bucket) int64 { return int64(min(b.Count, math.MaxInt64)) })},
}

var recordColumns = slices.Concat([]column{
	{"timestamp_ns", func(p *point) driver.Value { return p.row.Timestamp }},
	{"received_ns", func(p *point) driver.Value { return p.row.Received }},
	{"cluster_id", func(p *point) driver.Value { return p.row.Cluster }},
	{"node_id", func(p *point) driver.Value { return p.row.Node }},
	{"kind", func(p *point) driver.Value { return p.row.Kind.String() }},
	{"metric_name", func(p *point) driver.Value { return textValue(p.row.Metric) }},
	{"unit", func(p *point) driver.Value { return textValue(p.row.Unit) }},
	{"temporality", func(p *point) driver.Value { return textValue(p.row.Temporality) }},
	{"start_ns", func(p *point) driver.Value { return number(p.row.Start != 0, p.row.Start) }},
	{"rank", func(p *point) driver.Value { return number(p.row.Rank != row.None, p.row.Rank) }},
	{"nranks", func(p *point) driver.Value { return number(p.row.NRanks != 0, p.row.NRanks) }},
	{"value_double", func(p *point) driver.Value { return number(p.row.HasDouble, p.row.Double) }},
	{"value_int", func(p *point) driver.Value { return number(p.row.HasInt, p.row.Int) }},
	{"event_name", ofRecord(func(t *row.Record) driver.Value { return textValue(t.Event) })},
	{"severity", ofRecord(func(t *row.Record) driver.Value { return textValue(t.Severity) })},
	{"severity_number", ofRecord(func(t *row.Record) driver.Value {
		return number(t.SeverityNumber != 0, t.SeverityNumber)
	})},
	{"body", ofRecord(func(t *row.Record) driver.Value { return textValue(t.Body) })},
	{"trace_id", ofRecord(func(t *row.Record) driver.Value { return textValue(t.Trace) })},
	{"span_id", ofRecord(func(t *row.Record) driver.Value { return textValue(t.Span) })},
	{"parent_span_id", ofRecord(func(t *row.Record) driver.Value { return textValue(t.Parent) })},
	{"duration_ns", duration},
	{"attrs_json", func(p *point) driver.Value { return p.row.Attrs }},
	{"resource_json", func(p *point) driver.Value { return p.row.Resource }},
	{"scope", func(p *point) driver.Value { return textValue(p.row.Scope) }},
	{"key", func(p *point) driver.Value { return p.row.Key }},
}, distributionValues)

var distributionColumns = slices.Concat([]column{
	{"timestamp_ns", func(p *point) driver.Value { return p.row.Timestamp }},
	{"received_ns", func(p *point) driver.Value { return p.row.Received }},
	{"start_ns", func(p *point) driver.Value { return number(p.row.Start != 0, p.row.Start) }},
	{"series", func(p *point) driver.Value { return p.series }},
	{"key", func(p *point) driver.Value { return p.row.Key }},
}, distributionValues)

// ofRecord gives NULL for rows without a record.
func ofRecord(of func(t *row.Record) driver.Value) func(p *point) driver.Value {
	return func(p *point) driver.Value {
		if p.row.Record == nil {
			return nil
		}
		return of(p.row.Record)
	}
}

// duration gives NULL for all rows but spans.
func duration(p *point) driver.Value {
	if p.row.Kind != row.Span || p.row.Record == nil {
		return nil
	}
	return p.row.Record.Duration
}

// ofDistribution gives NULL for rows without a distribution.
func ofDistribution(of func(d *row.Distribution) driver.Value) func(p *point) driver.Value {
	return func(p *point) driver.Value {
		if p.row.Distribution == nil {
			return nil
		}
		return of(p.row.Distribution)
	}
}

// ofBuckets gives NULL for rows without a distribution.
func ofBuckets[T float64 | int64](of func(b *row.Bucket) T) func(p *point) driver.Value {
	return func(p *point) driver.Value {
		d := p.row.Distribution
		if d == nil || len(d.Buckets) == 0 {
			return nil
		}
		list := make([]T, len(d.Buckets))
		for i := range list {
			list[i] = of(&d.Buckets[i])
		}
		return list
	}
}

// usedBy returns the columns that some row of the kinds uses; nil if there is no such row.
func (t *table) usedBy(rows []point, kinds []row.Kind) (used []column) {
	var left []column
	for i := range rows {
		p := &rows[i]
		if !p.isIn(t.name, kinds) {
			continue
		}
		if left == nil {
			left = append(left, t.columns...)
		}
		kept := left[:0]
		for _, c := range left {
			if c.of(p) != nil {
				used = append(used, c)
			} else {
				kept = append(kept, c)
			}
		}
		left = kept
	}
	return used
}

// textValue gives NULL if a text is empty.
func textValue(s string) driver.Value {
	if s == "" {
		return nil
	}
	return s
}

// number gives NULL if a number is not known.
func number[T int32 | int64 | float64](known bool, v T) driver.Value {
	if !known {
		return nil
	}
	return v
}
