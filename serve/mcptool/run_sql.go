package mcptool

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/ingero-io/ingero/explain/recording"
	"github.com/ingero-io/ingero/serve/mcpshape"
	"github.com/ingero-io/ingero/store"
)

type sqlIn struct {
	SQL string `json:"sql" jsonschema:"at most 16 KiB; views: resource ingero://schema"`
	paging
}

type sqlOut struct {
	Window     string  `json:"window,omitempty"` // of the whole recording
	Dropped    dropped `json:"dropped"`
	Note       data    `json:"note,omitempty"`
	Columns    []data  `json:"columns"`
	Rows       [][]any `json:"rows" jsonschema:"data; large integers as strings"`
	CutValues  int     `json:"cut_values,omitempty"`
	NextCursor string  `json:"next_cursor,omitempty"`
}

func (s sqlOut) rows() int { return len(s.Rows) }

// maxCell is how many characters of a value are shown.
const maxCell = 500

var runSQLTool = tool[sqlIn, sqlOut]{
	name: "run_sql",
	about: "One read-only SQLite statement on the recording. Views: events, cuda_events, host_events, off_cpu, " +
		"culprits, ledger, op_seconds, process_names, stack_frames, losses. Times in ns.",
	run: func(ctx context.Context, s *server, in sqlIn) (out sqlOut, err error) {
		from, err := in.offset(in.SQL)
		if err != nil {
			return out, err
		}
		select {
		case s.sql <- struct{}{}:
			defer func() { <-s.sql }()
		case <-ctx.Done():
			return out, ctx.Err()
		}
		limits := recording.UntrustedLimits()
		limits.Rows, limits.Bytes, limits.Time = longest+mcpshape.MaxRows, 1<<30, s.opts.SQLTime
		rows, err := s.src.Query(ctx, in.SQL, limits)
		if err != nil {
			return out, err
		}
		defer rows.Close() // nothing was written, so the error does not matter
		if err := out.fill(rows, from, &in); err != nil {
			return out, err
		}
		for _, n := range rows.Notes() {
			out.Note = data(joined(string(out.Note), mcpshape.Visible(n.Text)))
		}
		st, lost := s.recording(ctx)
		out.Window, out.Dropped = st.Window, droppedOf(lost)
		switch {
		case !st.OK:
			out.Note = data(joined(string(out.Note), "dropped records are unknown: "+string(st.Problem)))
		case st.uncounted:
			out.Note = data(joined(string(out.Note), lossUnknown))
		}
		return out, ctx.Err()
	},
}

// fill takes the rows from an offset on that fit into an answer.
func (s *sqlOut) fill(rows store.Rows, from int, in *sqlIn) error {
	s.Columns, s.Rows = []data{}, [][]any{}
	for _, c := range rows.Columns() {
		s.Columns = append(s.Columns, data(mcpshape.Cut(mcpshape.Visible(c), maxName)))
	}
	room, count := mcpshape.Room(in.Limit, 0)
	for n := 0; rows.Next(); n++ {
		if n < from {
			continue
		}
		line, shortened := shown(rows.Values())
		b, err := json.Marshal(line)
		if err != nil {
			return fmt.Errorf("write row: %w", err)
		}
		if room -= len(b) + 1; len(s.Rows) == count || len(s.Rows) > 0 && room < 0 {
			if at := from + len(s.Rows); at <= longest {
				s.NextCursor = mcpshape.Cursor(at, in.SQL)
			} else {
				s.Note = "there are more rows than can be paged through; narrow the statement"
			}
			return nil
		}
		s.CutValues += shortened
		s.Rows = append(s.Rows, line)
	}
	return rows.Err()
}

// exactly is the largest integer that is exact in floating point.
const exactly = 1 << 53

// shown is a row as it is answered, and how many of its values were cut.
func shown(values []any) (line []any, shortened int) {
	room := mcpshape.Budget / 2 // of a row with very many long values each gets less
	line = make([]any, len(values))
	for i, v := range values {
		v = store.JSONValue(v)
		switch x := v.(type) {
		case int64:
			if x > exactly || x < -exactly {
				v = fmt.Sprint(x)
			}
		case string:
			t := mcpshape.Cut(mcpshape.Visible(x), max(min(maxCell, room), minCell))
			if room -= len(t); t != mcpshape.Visible(x) {
				shortened++
			}
			v = t
		}
		line[i] = v
	}
	return line, shortened
}

// minCell is how much of a text is always shown.
const minCell = 16
