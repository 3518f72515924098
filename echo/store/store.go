// Package store says what Echo needs of the place where rows are kept. Packages below it are such places; they pass the
// tests of storetest.
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

// Writer keeps rows.
type Writer interface {
	// Write keeps all rows, or returns an error; then a store over several files or machines may have a part of them.
	// When it returns without an error they are on disk, and stay there if the program or the machine ends. Rows that
	// are there already, by second and key, are left out and counted. An error that is ErrUnavailable may pass; the
	// caller may write the same rows again after any error.
	Write(ctx context.Context, rows []row.Row) (Written, error)
}

// Written is what became of rows.
type Written struct {
	Rows       int // kept by this call
	Duplicates int // there already
}

// Reader answers questions in SQL.
type Reader interface {
	// Check reports why a statement may not be run: a *RefusedError. It runs nothing.
	Check(ctx context.Context, sql string) error
	// Query checks a statement and runs it. It changes nothing. Errors are *RefusedError, *LimitError, ErrAway, or say
	// what is wrong with the statement: *StatementError.
	Query(ctx context.Context, sql string, l Limits) (*Result, error)
}

// Keeper keeps a store from growing without end.
type Keeper interface {
	// Retain deletes rows that are older than is to be kept, the oldest first, by when they came. Now is nanoseconds
	// since the Unix epoch. It returns how many.
	Retain(ctx context.Context, now int64, r Retention) (int64, error)
	Stats(ctx context.Context) (Stats, error)
}

// Store is all of it. Its methods may be called by several goroutines. Close waits for running calls, and may be
// called twice.
type Store interface {
	Writer
	Reader
	Keeper
	io.Closer
}

// Limits of a question. None of them may be 0.
type Limits struct {
	Time  time.Duration
	Rows  int   // further ones are cut off, and the result says so
	Bytes int64 // of the result's values; a longer one is cut off
}

// Result is a table. It says if there was more.
type Result struct {
	Columns []string
	// Rows have a value for each column: nil, bool, int64, uint64, float64, string, *big.Int, time.Time, []any, or
	// map[string]any.
	Rows [][]any
	// Cut says which limit cut rows off: "rows" or "bytes"; empty: none.
	Cut string
}

// Plain replaces numbers that JSON does not have, such as infinity, by texts, in all rows.
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

// Retention says how much is kept; 0: all.
type Retention struct {
	Age   time.Duration // since a row came
	Bytes int64         // on disk
}

// Stats are of what is kept.
type Stats struct {
	Rows   int64
	Bytes  int64 // on disk
	Oldest int64 // when the first of the rows came, in nanoseconds since the Unix epoch; 0: there is none
}

// ErrUnavailable is an error of Write that may pass, such as a disk that is full.
var ErrUnavailable = errors.New("the store cannot be written")

// ErrAway is an error of Query that may pass: the store, or a part of it on another machine, does not answer.
var ErrAway = errors.New("the store does not answer as a whole; ask again")

// RefusedError says why a statement is not run.
type RefusedError struct{ Why string }

func (e *RefusedError) Error() string { return "refused: " + e.Why }

// Refuse makes one.
func Refuse(format string, args ...any) error { return &RefusedError{fmt.Sprintf(format, args...)} }

// LimitError says which limit ended a statement.
type LimitError struct{ Limit string }

func (e *LimitError) Error() string { return "ended: " + e.Limit }

// StatementError is what the engine says of a statement that is allowed and wrong.
type StatementError struct{ Why string }

func (e *StatementError) Error() string { return e.Why }

// Size is about how many bytes a value takes in an answer.
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
