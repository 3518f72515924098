package sqlite

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"zombiezen.com/go/sqlite"
)

// exactView is the source of exact sums for a view: a select with columns of the same names and
// meaning.
type exactView struct {
	from    string
	columns []string
}

// outermost are the calls that are not within another call. A row stands for all calls that share
// it: sums over rows are right, counts of rows are not.
var outermost = exactView{
	`select c.ts as timestamp, c.dur + coalesce(` + restNS + `, 0) as duration_ns, c.dur + coalesce(` + restNS +
		`, 0) as duration,
	s.node, t.pid, t.tid, t.comm, 0 as depth
	from call c left join thread t on t.id = c.thread left join session s on s.id = t.session
	where coalesce(c.depth, 0) = 0`,
	[]string{"timestamp", "duration_ns", "duration", "node", "pid", "tid", "comm", "depth"},
}

// outermostSeconds are the same calls in op_seconds.
var outermostSeconds = exactView{
	"select * from op_seconds where nested = 0",
	[]string{"timestamp", "node", "pid", "tid", "comm", "calls", "errors", "sum_ns", "bytes"},
}

const (
	// noteTime limits the time for the exact numbers of a note.
	noteTime = time.Second
	// exactRows limits the number of groups.
	exactRows = 50
)

// exactSums runs a statement over a view again, on a source that has everything the view is about.
// Its rows are like the statement's, with null for columns that are not sums. Nil if the statement
// is not simple enough, the source is unknown, or it takes too long.
func exactSums(c *sqlite.Conn, sql, view string, reads *statementReads, all exactView) [][]any {
	for column := range reads.columns {
		if column != "" && !slices.Contains(all.columns, column) {
			return nil
		}
	}
	sql, ok := sumsOver(sql, view, "("+all.from+")")
	if !ok {
		return nil
	}
	s, _, err := c.PrepareTransient(sql)
	if err != nil {
		return nil
	}
	defer s.Finalize() //nolint:errcheck // what it has said is of use
	rows := [][]any{}
	for {
		more, err := s.Step()
		if err != nil || len(rows) > exactRows {
			return nil
		}
		if !more {
			return rows
		}
		line := make([]any, s.ColumnCount())
		for i := range line {
			switch s.ColumnType(i) {
			case sqlite.TypeInteger:
				line[i] = s.ColumnInt64(i)
			case sqlite.TypeFloat:
				line[i] = s.ColumnFloat(i)
			case sqlite.TypeText:
				line[i] = s.ColumnText(i)
			}
		}
		rows = append(rows, line)
	}
}

// briefly limits the time of statements on a connection.
func briefly(ctx context.Context, c *sqlite.Conn, f func()) {
	ctx, cancel := context.WithTimeout(ctx, noteTime)
	defer cancel()
	old := c.SetInterrupt(ctx.Done())
	f()
	c.SetInterrupt(old)
}

// notSimple are words in statements that sumsOver does not handle.
var notSimple = []string{
	"over", "having", "window", "union", "except", "intersect", "distinct", "join", "with",
	"filter",
}

// others are aggregates that are not sums.
var otherAggregates = []string{
	"count", "avg", "min", "max", "group_concat", "string_agg", "json_group_array", "json_group_object",
	"percentile", "percentile_cont", "percentile_disc", "median",
}

// word is one word of a statement, in lower case, with its position.
type word struct {
	text       string
	begin, end int
	depth      int // of brackets around it
}

// wordsOf returns the words without strings, comments and operators.
func wordsOf(sql string) (list []word) {
	blank := noise.ReplaceAllStringFunc(sql, func(s string) string { return strings.Repeat(" ", len(s)) })
	depth := 0
	for _, at := range token.FindAllStringIndex(blank, -1) {
		w := word{strings.ToLower(blank[at[0]:at[1]]), at[0], at[1], depth}
		switch w.text {
		case "(":
			depth++
		case ")":
			depth--
			w.depth--
		}
		list = append(list, w)
	}
	return list
}

// sumsOver rewrites a plain select over one view to read another source. It keeps sums and what it
// groups by, and has null for other columns. Order and limit are left out.
func sumsOver(sql, view, source string) (string, bool) {
	list, from := wordsOf(sql), readings(sql)
	if len(list) == 0 || list[0].text != "select" || len(from) != 1 || !strings.EqualFold(from[0].name, view) ||
		slices.ContainsFunc(list[1:], func(w word) bool { return w.text == "select" || slices.Contains(notSimple, w.text) }) {
		return "", false
	}
	at := slices.IndexFunc(list, func(w word) bool { return w.text == "from" && w.depth == 0 })
	if at < 1 || at+1 >= len(list) {
		return "", false
	}
	items, err := sumsAmong(sql, list[:at+1])
	if err != nil {
		return "", false
	}
	named, end := list[at+1], len(strings.TrimRight(sql, "; \t\r\n"))
	for _, w := range list[at+2:] {
		if w.depth == 0 && (w.text == "order" || w.text == "limit") {
			end = w.begin
			break
		}
	}
	if from[0].alias == "" {
		source += " as " + view
	}
	return "select " + strings.Join(items, ", ") + " from " + source + sql[named.end:max(end, named.end)], true
}

var errNoSums = errors.New("there are no sums")

// sumsAmong are the columns of a select, between the words select and from.
func sumsAmong(sql string, list []word) (items []string, err error) {
	sums := false
	for i, begin := 1, 1; i < len(list); i++ {
		if i < len(list)-1 && (list[i].text != "," || list[i].depth > 0) {
			continue
		}
		part := list[begin:i]
		text := sql[list[begin-1].end:list[i].begin]
		sum, other := calls(part, "sum", "total"), calls(part, otherAggregates...)
		switch {
		case other:
			text = "null"
		case sum:
			sums = true
		}
		items, begin = append(items, text), i+1
	}
	if !sums {
		return nil, errNoSums
	}
	return items, nil
}

// calls reports whether one of the functions is called.
func calls(list []word, names ...string) bool {
	for i := range list[:max(len(list)-1, 0)] {
		if slices.Contains(names, list[i].text) && list[i+1].text == "(" {
			return true
		}
	}
	return false
}
