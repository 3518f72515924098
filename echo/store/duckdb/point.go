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

// What points may have, as bits. Those of several are their shape.
const (
	isPoint = 1 << iota
	hasStart
	hasDouble
	hasInt
)

// numbersOf counts points that are numbers, and says what they have; 0: there are none.
func numbersOf(rows []point) (n, shape int) {
	for i := range rows {
		r := rows[i].row
		if !isNumber(r.Kind) {
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
