// Package question asks a store what the tools need to know. It has the SQL of each question: plain SQL on the five
// tables, which every store understands, except for how a text is written (see Quoter). It makes no decisions;
// packages arrival, outlier and cost do.
package question

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"strings"
	"time"

	"github.com/ingero-io/ingero/echo/store"
)

// Quoter is implemented by a store whose SQL does not write texts in single quotes, with each quote doubled.
type Quoter interface {
	// Quote returns a text as a literal.
	Quote(text string) string
}

// limits apply to the package's own questions. This program reads their rows, not a peer.
var limits = store.Limits{Time: 10 * time.Second, Rows: 60_000, Bytes: 48 << 20}

// Asker asks a store.
type Asker struct {
	reader store.Reader
	quote  func(string) string
}

// New returns an Asker of a store.
func New(r store.Reader) *Asker {
	a := &Asker{reader: r, quote: quoted}
	if q, ok := r.(Quoter); ok {
		a.quote = q.Quote
	}
	return a
}

func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// Scope is what a question is about.
type Scope struct {
	// From and To bound the rows' own time: From is included, To is not. Nanoseconds since the Unix epoch.
	From, To int64
	// Cluster and Node, if not empty, and Rank, if not nil, select rows.
	Cluster, Node string
	Rank          *int32
}

// where returns the scope as a condition. time is the column that it bounds.
func (a *Asker) where(s Scope, time string) string {
	list := []string{fmt.Sprintf("%s >= %d and %s < %d", time, s.From, time, s.To)}
	if s.Cluster != "" {
		list = append(list, "cluster_id = "+a.quote(s.Cluster))
	}
	if s.Node != "" {
		list = append(list, "node_id = "+a.quote(s.Node))
	}
	if s.Rank != nil {
		list = append(list, fmt.Sprintf("rank = %d", *s.Rank))
	}
	return strings.Join(list, " and ")
}

// list returns texts as literals with commas between.
func (a *Asker) list(texts []string) string {
	literals := make([]string, len(texts))
	for i, t := range texts {
		literals[i] = a.quote(t)
	}
	return strings.Join(literals, ", ")
}

// rows runs a statement and calls each with each row. more reports whether there are more.
func (a *Asker) rows(ctx context.Context, each func(*line), format string, args ...any) (more bool, err error) {
	return a.rowsWithin(ctx, limits, each, format, args...)
}

func (a *Asker) rowsWithin(ctx context.Context, l store.Limits, each func(*line), format string, args ...any) (
	more bool, err error,
) {
	r, err := a.reader.Query(ctx, fmt.Sprintf(format, args...), l)
	if err != nil {
		return false, err
	}
	for _, values := range r.Rows {
		each(&line{values: values})
	}
	return r.Cut != "", nil
}

// line is a row whose values are read one after the other. NULL is 0, empty, or nil.
type line struct {
	values []any
	next   int
}

func (l *line) nextValue() any {
	l.next++
	return l.values[l.next-1]
}

func (l *line) nextText() string {
	switch v := l.nextValue().(type) {
	case nil:
		return ""
	case string:
		return v
	default:
		return fmt.Sprint(v)
	}
}

func (l *line) bool() bool {
	switch v := l.nextValue().(type) {
	case bool:
		return v
	case nil:
		return false
	default: // stores without a boolean type
		return fmt.Sprint(v) == "1"
	}
}

func (l *line) int() int64 {
	if n := whole(l.nextValue()); n != nil {
		return *n
	}
	return 0
}

// rank returns nil if the rank is not known.
func (l *line) rank() *int32 {
	n := whole(l.nextValue())
	if n == nil {
		return nil
	}
	r := int32(*n)
	return &r
}

// number returns nil if the number is not known, or not finite: senders may send NaN.
func (l *line) number() *float64 {
	var f float64
	switch v := l.nextValue().(type) {
	case float64:
		f = v
	case int64:
		f = float64(v)
	case uint64:
		f = float64(v)
	case *big.Int:
		f, _ = new(big.Float).SetInt(v).Float64()
	default:
		return nil
	}
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil
	}
	return &f
}

func whole(v any) *int64 {
	var n int64
	switch v := v.(type) {
	case int64:
		n = v
	case uint64:
		n = int64(v)
	case float64:
		n = int64(v)
	case *big.Int:
		n = v.Int64()
	default:
		return nil
	}
	return &n
}

// Extent returns the first and the last of the rows' own times, from since on and before before; both 0: there are
// none.
func (a *Asker) Extent(ctx context.Context, cluster string, since, before int64) (from, to int64, err error) {
	_, err = a.rows(ctx, func(l *line) { from, to = l.int(), l.int() },
		`select min(timestamp_ns), max(timestamp_ns) from events where %s`,
		a.where(Scope{From: since, To: before, Cluster: cluster}, "timestamp_ns"))
	return from, to, err
}
