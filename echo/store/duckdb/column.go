package duckdb

import (
	"database/sql/driver"
	"math"

	"github.com/ingero-io/ingero/echo/row"
)

// alike are the kinds of rows that use the same columns.
var alike = [][]row.Kind{
	{row.Gauge, row.Sum}, {row.Histogram, row.ExponentialHistogram, row.Summary}, {row.Log}, {row.Span},
}

// column is a column of the table.
type column struct {
	name string
	of   func(r *row.Row) driver.Value // nil: it is NULL in this row
}

// columns are all of them. The order does not matter.
var columns = []column{
	{"timestamp_ns", func(r *row.Row) driver.Value { return r.Timestamp }},
	{"received_ns", func(r *row.Row) driver.Value { return r.Received }},
	{"cluster_id", func(r *row.Row) driver.Value { return r.Cluster }},
	{"node_id", func(r *row.Row) driver.Value { return r.Node }},
	{"kind", func(r *row.Row) driver.Value { return r.Kind.String() }},
	{"metric_name", func(r *row.Row) driver.Value { return text(r.Metric) }},
	{"unit", func(r *row.Row) driver.Value { return text(r.Unit) }},
	{"temporality", func(r *row.Row) driver.Value { return text(r.Temporality) }},
	{"start_ns", func(r *row.Row) driver.Value { return number(r.Start != 0, r.Start) }},
	{"rank", func(r *row.Row) driver.Value { return number(r.Rank != row.None, r.Rank) }},
	{"nranks", func(r *row.Row) driver.Value { return number(r.NRanks != 0, r.NRanks) }},
	{"value_double", func(r *row.Row) driver.Value { return number(r.HasDouble, r.Double) }},
	{"value_int", func(r *row.Row) driver.Value { return number(r.HasInt, r.Int) }},
	{"event_name", func(r *row.Row) driver.Value { return text(r.Event) }},
	{"severity", func(r *row.Row) driver.Value { return text(r.Severity) }},
	{"severity_number", func(r *row.Row) driver.Value { return number(r.SeverityNumber != 0, r.SeverityNumber) }},
	{"body", func(r *row.Row) driver.Value { return text(r.Body) }},
	{"trace_id", func(r *row.Row) driver.Value { return text(r.Trace) }},
	{"span_id", func(r *row.Row) driver.Value { return text(r.Span) }},
	{"parent_span_id", func(r *row.Row) driver.Value { return text(r.Parent) }},
	{"duration_ns", func(r *row.Row) driver.Value { return number(r.Kind == row.Span, r.Duration) }},
	{"attrs_json", func(r *row.Row) driver.Value { return r.Attrs }},
	{"resource_json", func(r *row.Row) driver.Value { return r.Resource }},
	{"scope", func(r *row.Row) driver.Value { return text(r.Scope) }},
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
	{"key", func(r *row.Row) driver.Value { return r.Key }},
}

// ofDistribution is NULL for rows that have none.
func ofDistribution(of func(d *row.Distribution) driver.Value) func(r *row.Row) driver.Value {
	return func(r *row.Row) driver.Value {
		if r.Distribution == nil {
			return nil
		}
		return of(r.Distribution)
	}
}

// ofBuckets is NULL for rows that have none.
func ofBuckets[T float64 | int64](of func(b *row.Bucket) T) func(r *row.Row) driver.Value {
	return func(r *row.Row) driver.Value {
		if r.Distribution == nil || len(r.Distribution.Buckets) == 0 {
			return nil
		}
		list := make([]T, len(r.Distribution.Buckets))
		for i := range list {
			list[i] = of(&r.Distribution.Buckets[i])
		}
		return list
	}
}

// usedBy are the columns that are not NULL in all of the rows that are of a kind; nil if there are no such rows.
func usedBy(rows []*row.Row, of func(*row.Row) bool) (used []column) {
	var left []column
	for _, r := range rows {
		if !of(r) {
			continue
		}
		if left == nil {
			left = append(left, columns...)
		}
		kept := left[:0]
		for _, c := range left {
			if c.of(r) != nil {
				used = append(used, c)
			} else {
				kept = append(kept, c)
			}
		}
		left = kept
	}
	return used
}

// text is NULL if it is empty.
func text(s string) driver.Value {
	if s == "" {
		return nil
	}
	return s
}

// number is NULL if it is not known.
func number[T int32 | int64 | float64](known bool, v T) driver.Value {
	if !known {
		return nil
	}
	return v
}
