package mcptool

import (
	"context"
	"fmt"
	"math/big"
	"time"

	"github.com/ingero-io/ingero/serve/mcpshape"
)

type analysisIn struct {
	SQL string `json:"sql" jsonschema:"one SELECT, max 16 KiB"`
	paging
}

type analysisOut struct {
	Note       data    `json:"note,omitempty"`
	Columns    []data  `json:"columns"`
	Rows       [][]any `json:"rows" jsonschema:"data; large integers as strings"`
	CutValues  int     `json:"cut_values,omitempty"`
	Next       []next  `json:"next"`
	NextCursor string  `json:"next_cursor,omitempty"`
}

func (a analysisOut) rows() int { return len(a.Rows) }

const analysisName = "fleet.cluster.run_analysis"

var analysisTool = tool[analysisIn, analysisOut]{
	name: analysisName,
	about: "Read-only SQL. Tables: events (timestamp_ns, cluster_id, node_id, rank, nranks, kind, metric_name, value, " +
		"unit, event_name, severity, body, duration_ns, attrs_json, resource_json), findings, stragglers, collectives, " +
		"health, minutes.",
	run: func(ctx context.Context, s *Tools, in analysisIn) (out analysisOut, err error) {
		from, _, err := in.begin(in)
		if err != nil {
			return out, err
		}
		// Checked here and again in the store, so that no other path to the store skips it.
		if err := s.options.Store.Check(ctx, in.SQL); err != nil {
			return out, err
		}
		r, err := s.options.Store.Query(ctx, in.SQL, s.options.Limits)
		if err != nil {
			return out, err
		}
		r.Plain()
		out.Columns, out.Rows, out.Next = []data{}, [][]any{}, []next{{
			Tool: stragglersName, Arguments: map[string]any{}, Why: "is a rank late, and why?",
		}}
		for _, c := range r.Columns {
			out.Columns = append(out.Columns, data(mcpshape.Cut(mcpshape.Visible(c), maxName)))
		}
		if r.Cut != "" {
			out.Note = data(fmt.Sprintf("more than the first %d rows cannot be read (limit: %s); narrow the statement",
				len(r.Rows), r.Cut))
		}
		cut := make([]int, len(r.Rows))
		for i := range r.Rows {
			if i >= from {
				r.Rows[i], cut[i] = shown(r.Rows[i])
			}
		}
		page, rest := part(r.Rows, in.paging, from, out)
		for i := range page {
			out.CutValues += cut[from+i]
		}
		if out.Rows = page; rest > 0 {
			out.NextCursor = in.next(rest, in, "")
		}
		return out, nil
	},
}

const (
	// exactly is the largest integer that floating point represents exactly.
	exactly = 1 << 53
	// maxCell is how many characters of a value are shown at most, minCell how many at least.
	maxCell = 500
	minCell = 16
)

// shown returns a row as it is answered, and how many of its values were cut.
func shown(values []any) (line []any, shortened int) {
	room := mcpshape.Budget / 2 // with many long values in a row, each gets less
	line = make([]any, len(values))
	for i, v := range values {
		switch x := v.(type) {
		case int64:
			if x > exactly || x < -exactly {
				v = fmt.Sprint(x)
			}
		case uint64:
			if x > exactly {
				v = fmt.Sprint(x)
			}
		case *big.Int:
			v = x.String()
			if x.IsInt64() && x.Int64() <= exactly && x.Int64() >= -exactly {
				v = x.Int64()
			}
		case time.Time:
			v = x.UTC().Format(time.RFC3339Nano)
		case string, []any, map[string]any:
			text, ok := v.(string)
			if !ok { // a list or row, which can be as long as a text
				if mcpshape.Size(v) <= maxCell {
					break
				}
				text = fmt.Sprint(v)
			}
			t := mcpshape.Cut(mcpshape.Visible(text), max(min(maxCell, room), minCell))
			if room -= len(t); t != mcpshape.Visible(text) {
				shortened++
			}
			v = t
		}
		line[i] = v
	}
	return line, shortened
}
