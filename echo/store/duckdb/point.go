package duckdb

import (
	"database/sql/driver"
	"slices"

	"github.com/ingero-io/ingero/echo/row"
)

// point is a row to be written.
type point struct {
	row    *row.Row
	series int64 // number of its series; or none
}

// none stands for the number of a row without a series: a log record, a span, or the first point of a series. Many
// series have one point only.
const none = -1

// isNumber reports whether the point belongs in the table point.
func (p *point) isNumber() bool {
	return p.series != none && (p.row.Kind == row.Gauge || p.row.Kind == row.Sum)
}

// isIn reports whether the point belongs in one of the other tables, and is of one of the kinds.
func (p *point) isIn(table string, kinds []row.Kind) bool {
	return (table == "record") == (p.series == none) && slices.Contains(kinds, p.row.Kind)
}

// Optional columns of points, as bits. Together they are a shape.
const (
	isPoint = 1 << iota
	hasStart
	hasDouble
	hasInt
)

// numbersOf counts the rows of the table point, and returns their shape; 0: there are none.
func numbersOf(rows []point) (n, shape int) {
	for i := range rows {
		r := rows[i].row
		if !rows[i].isNumber() {
			continue
		}
		n++
		shape |= isPoint
		if r.Start != 0 {
			shape |= hasStart
		}
		if r.HasDouble {
			shape |= hasDouble
		}
		if r.HasInt {
			shape |= hasInt
		}
	}
	return n, shape
}

// columnsOf returns the columns of points of a shape, in the order of appendValues. The others are NULL.
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
	r := p.row
	to = append(to, r.Timestamp, r.Received, p.series, r.Key)
	if shape&hasStart != 0 {
		to = append(to, number(r.Start != 0, r.Start))
	}
	if shape&hasDouble != 0 {
		to = append(to, number(r.HasDouble, r.Double))
	}
	if shape&hasInt != 0 {
		to = append(to, number(r.HasInt, r.Int))
	}
	return to
}
