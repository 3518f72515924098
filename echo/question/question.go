// Package question asks a store what the tools have to know. The SQL of each question is here and nowhere else: plain
// SQL on the five tables, of which every store understands all but how a text is written (see Quoter). It decides
// nothing; packages arrival, outlier and cost do.
package question

import (
	"context"
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/ingero-io/ingero/echo/store"
)

// Quoter is implemented by a store in whose SQL a text is written in another way than between single quotes, with each
// quote in it twice.
type Quoter interface {
	// Quote is a text as a literal.
	Quote(text string) string
}

// limits of a question of ours. Its rows are read by this program and not by a peer.
var limits = store.Limits{Time: 10 * time.Second, Rows: 60_000, Bytes: 48 << 20}

// Asker asks a store.
type Asker struct {
	reader store.Reader
	quote  func(string) string
}

// New makes one.
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
	// From and To bound the rows' own time: From is in it, To is not. Nanoseconds since the Unix epoch.
	From, To int64
	// Cluster and Node, if not empty, and Rank, if not nil, are the only ones.
	Cluster, Node string
	Rank          *int32
}

// where is the scope as a condition. time is the column that it bounds.
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

// rows runs a statement and calls each with its rows. More reports whether there were more.
func (a *Asker) rows(ctx context.Context, each func(*line), format string, args ...any) (more bool, err error) {
	r, err := a.reader.Query(ctx, fmt.Sprintf(format, args...), limits)
	if err != nil {
		return false, err
	}
	for _, values := range r.Rows {
		each(&line{values: values})
	}
	return r.Cut != "", nil
}

// line is a row whose values are taken one after the other. NULL is 0, empty, or nil.
type line struct {
	values []any
	next   int
}

func (l *line) take() any {
	l.next++
	return l.values[l.next-1]
}

func (l *line) text() string {
	switch v := l.take().(type) {
	case nil:
		return ""
	case string:
		return v
	default:
		return fmt.Sprint(v)
	}
}

func (l *line) bool() bool {
	switch v := l.take().(type) {
	case bool:
		return v
	case nil:
		return false
	default: // stores without a type of its own for it
		return fmt.Sprint(v) == "1"
	}
}

func (l *line) int() int64 {
	if n := whole(l.take()); n != nil {
		return *n
	}
	return 0
}

// rank is nil if it is not known.
func (l *line) rank() *int32 {
	n := whole(l.take())
	if n == nil {
		return nil
	}
	r := int32(*n)
	return &r
}

// number is nil if it is not known.
func (l *line) number() *float64 {
	var f float64
	switch v := l.take().(type) {
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

// Extent is from when to when rows are, of those that are not before one time, and before another, by their own time;
// both 0: there are none.
func (a *Asker) Extent(ctx context.Context, cluster string, since, before int64) (from, to int64, err error) {
	_, err = a.rows(ctx, func(l *line) { from, to = l.int(), l.int() },
		`select min(timestamp_ns), max(timestamp_ns) from events where %s`,
		a.where(Scope{From: since, To: before, Cluster: cluster}, "timestamp_ns"))
	return from, to, err
}
