// Package store defines what Echo needs of a place where rows are kept. The packages below it are such places; they
// pass the tests of storetest.
package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/ingero-io/ingero/echo/row"
)

// Writer stores rows.
type Writer interface {
	// Write stores all rows, or returns an error; then a store over several files or machines may have some of them.
	// After a return without an error they are on disk, and survive a crash of the program or the machine. Rows that are
	// already there, by second and key, are left out and counted. An ErrUnavailable may be temporary; the caller may
	// write the same rows again after any error.
	Write(ctx context.Context, rows []row.Row) (Written, error)
}

// Written is the outcome of a Write.
type Written struct {
	Rows       int // stored by this call
	Duplicates int // already there
}

// Reader answers questions in SQL.
type Reader interface {
	// Check returns a *RefusedError if a statement may not be run. It runs nothing.
	Check(ctx context.Context, sql string) error
	// Query checks a statement and runs it. It changes nothing. Errors are *RefusedError, *LimitError, ErrAway, or, if
	// the statement is wrong, *StatementError.
	Query(ctx context.Context, sql string, l Limits) (*Result, error)
}

// Keeper bounds the growth of a store.
type Keeper interface {
	// Retain deletes rows beyond the retention, the oldest first, by their time of arrival. now is nanoseconds since the
	// Unix epoch. It returns the number of deleted rows.
	Retain(ctx context.Context, now int64, r Retention) (int64, error)
	Stats(ctx context.Context) (Stats, error)
}

// Store is a complete store. Its methods may be called by several goroutines. Close waits for running calls, and may
// be called twice.
type Store interface {
	Writer
	Reader
	Keeper
	io.Closer
}

// Limits of a question. None may be 0.
type Limits struct {
	Time  time.Duration
	Rows  int   // further rows are cut off, and the result says so
	Bytes int64 // of the result's values; what exceeds them is cut off
}

// Result is a table. It says whether there was more.
type Result struct {
	Columns []string
	// Rows have a value per column: nil, bool, int64, uint64, float64, string, *big.Int, time.Time, []any, or
	// map[string]any.
	Rows [][]any
	// Cut names the limit that cut rows off: "rows" or "bytes"; empty: none.
	Cut string
}

// Plain replaces numbers that JSON does not have, such as infinity, by texts.
func (r *Result) Plain() {
	for _, values := range r.Rows {
		for i := range values {
			values[i] = plain(values[i])
		}
	}
}

func plain(v any) any {
	switch v := v.(type) {
	case float64:
		switch {
		case math.IsNaN(v):
			return "NaN"
		case math.IsInf(v, 1):
			return "Infinity"
		case math.IsInf(v, -1):
			return "-Infinity"
		}
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = plain(v[name])
		}
	}
	return v
}

// Retention says how much to keep; 0: all.
type Retention struct {
	Age   time.Duration // since a row's arrival
	Bytes int64         // on disk
}

// Stats describe what is stored.
type Stats struct {
	Rows   int64
	Bytes  int64 // on disk
	Oldest int64 // when the oldest row came, in nanoseconds since the Unix epoch; 0: there are no rows
}

// ErrUnavailable is an error of Write that may be temporary, such as a full disk.
var ErrUnavailable = errors.New("the store cannot be written")

// ErrAway is an error of Query that may be temporary: the store, or a part of it on another machine, does not answer.
var ErrAway = errors.New("the store does not answer as a whole; ask again")

// RefusedError says why a statement may not be run.
type RefusedError struct{ Why string }

func (e *RefusedError) Error() string { return "refused: " + e.Why }

// Refuse returns a RefusedError.
func Refuse(format string, args ...any) error { return &RefusedError{fmt.Sprintf(format, args...)} }

// LimitError names the limit that ended a statement.
type LimitError struct{ Limit string }

func (e *LimitError) Error() string { return "ended: " + e.Limit }

// StatementError is the engine's error for a statement that is allowed but wrong.
type StatementError struct{ Why string }

func (e *StatementError) Error() string { return e.Why }

// Size returns roughly how many bytes a value takes in an answer.
func Size(v any) int64 {
	const few = 16
	switch v := v.(type) {
	case string:
		return int64(len(v)) + few
	case []any:
		n := int64(few)
		for _, one := range v {
			n += Size(one)
		}
		return n
	case map[string]any:
		n := int64(few)
		for name, one := range v {
			n += int64(len(name)) + Size(one)
		}
		return n
	}
	return few
}
