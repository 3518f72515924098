package duckdb

import (
	"database/sql/driver"

	"github.com/ingero-io/ingero/echo/row"
)

// point is a row that is written.
type point struct {
	row    *row.Row
	series int64 // the number of its series, if it is a point
}

// isNumber reports whether rows of a kind are in the table point.
func isNumber(k row.Kind) bool { return k == row.Gauge || k == row.Sum }

// hasSeries reports whether rows of a kind have a series in the table series.
func hasSeries(k row.Kind) bool { return k != row.Log && k != row.Span }

// What a point may have, as bits. Together they are its shape.
const (
	hasStart = 1 << iota
	hasDouble
	hasInt
	shapes
)

func shapeOf(r *row.Row) int {
	shape := 0
	if r.Start != 0 {
		shape |= hasStart
	}
	if r.HasDouble {
		shape |= hasDouble
	}
	if r.HasInt {
		shape |= hasInt
	}
	return shape
}

// columnsOf are the columns of points of a shape, in the order of appendValues. The others are NULL.
func columnsOf(shape int) []string {
	names := []string{"timestamp_ns", "received_ns", "series", "key"}
	if shape&hasStart != 0 {
		names = append(names, "start_ns")
	}
	if shape&hasDouble != 0 {
		names = append(names, "value_double")
	}
	if shape&hasInt != 0 {
		names = append(names, "value_int")
	}
	return names
}

func (p *point) appendValues(to []driver.Value, shape int) []driver.Value {
	to = append(to, p.row.Timestamp, p.row.Received, p.series, p.row.Key)
	if shape&hasStart != 0 {
		to = append(to, p.row.Start)
	}
	if shape&hasDouble != 0 {
		to = append(to, p.row.Double)
	}
	if shape&hasInt != 0 {
		to = append(to, p.row.Int)
	}
	return to
}
