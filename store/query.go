package store

import (
	"encoding/hex"
	"errors"
	"math"
	"time"
)

// Limits bound the cost of one SQL statement. Zero fields take the defaults.
type Limits struct {
	Rows  int           // rows returned, default 100,000
	Bytes int           // bytes of all values returned, default 64 MiB
	Value int           // bytes of a single value or row, default 8 MiB
	Time  time.Duration // default 30 s

	Statement int // bytes of the statement, default SQLite's own 1,000,000
	Columns   int // of the answer and of intermediate results, default SQLite's own 2,000
}

// The reasons why a statement is refused or stopped. Implementations wrap them with details.
var (
	ErrRefused = errors.New("only reading is allowed")
	ErrSyntax  = errors.New("SQL not understood")
	ErrTooLong = errors.New("query took too long")
	// ErrTooLarge is for a single value, which may be an intermediate one.
	ErrTooLarge = errors.New("a value is too large")
	// ErrTooMuch is for what has to be kept to answer.
	ErrTooMuch = errors.New("it takes too much memory")
)

// Rows is the answer to an SQL statement, read row by row by one goroutine.
type Rows interface {
	// Columns are the names of the columns.
	Columns() []string
	// Next advances to the next row. It returns false at the end, at a limit, and after an error.
	Next() bool
	// Values is the current row: nil, int64, float64, string or []byte. The slice is reused.
	Values() []any
	// Truncated reports whether a limit cut the answer short.
	Truncated() bool
	// Notes say what sums in the rows cover, where they are easily misread. Call it after the
	// last row and before Close.
	Notes() []Note
	// Err is the error that ended the rows, if any.
	Err() error
	// Close ends the statement. It is safe to call twice.
	Close() error
}

// JSONValue is a value of a row as JSON can hold it: blobs in hexadecimal, infinities as
// null.
func JSONValue(v any) any {
	switch v := v.(type) {
	case []byte:
		return hex.EncodeToString(v)
	case float64:
		if math.IsInf(v, 0) || math.IsNaN(v) {
			return nil
		}
	}
	return v
}
