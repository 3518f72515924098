package mcptool

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/serve/mcpshape"
	"github.com/ingero-io/ingero/serve/nodes"
)

type fleetIn struct {
	Action action `json:"action" jsonschema:"what to ask"`
	SQL    string `json:"sql,omitempty" jsonschema:"of action sql, at most 16 KiB; default none"`
	Since  string `json:"since,omitempty" jsonschema:"as in diagnose"`
}

// fleetOut is a table for every action: only the nodes differ. Its schema is as short as
// possible, because each client pays for the list of tools.
type fleetOut struct {
	Dropped dropped    `json:"dropped"`
	Notes   []data     `json:"notes"` // how much there is, who did not answer, and what to beware of
	Rows    []tableRow `json:"rows"`  // the first has the names of the columns
}

func (f fleetOut) rows() int { return max(len(f.Rows)-1, 0) }

var queryFleetTool = tool[fleetIn, fleetOut]{
	name:  "query_fleet",
	about: "Ask all nodes. Row one names columns.",
	run: func(ctx context.Context, s *server, in fleetIn) (out fleetOut, err error) {
		out = fleetOut{
			Dropped: dropped{}, Rows: []tableRow{},
			Notes: []data{"no nodes configured: this server answers for one recording; use diagnose, get_trace_stats or " +
				"run_sql on it, and ask the server of each other node"},
		}
		if s.opts.Nodes == nil {
			return out, nil
		}
		t, err := askFleet(ctx, s.opts.Nodes, &in)
		if err != nil {
			return out, err
		}
		out.fill(t)
		return out, nil
	},
}

// fleetTable is what nodes answered, as rows.
type fleetTable struct {
	*nodes.Coverage
	note    string
	notes   []string // what sums are of
	columns []string
	rows    [][]any
}

func (t *fleetTable) addRow(values ...any) { t.rows = append(t.rows, values) }

// maxNotes bounds the notes on nodes that did not answer, and the like.
const maxNotes = 6

// fill takes the rows that fit into an answer, and adds notes.
func (f *fleetOut) fill(t *fleetTable) {
	head := []any{}
	for _, c := range t.columns {
		head = append(head, mcpshape.Cut(mcpshape.Visible(c), maxName))
	}
	all := []tableRow{head}
	for _, r := range t.rows {
		line, _ := shown(r)
		all = append(all, line)
	}
	f.Rows = first(all, fitting(all, paging{}))
	f.Notes = []data{prose(t.note)}
	if n := len(all) - len(f.Rows); n > 0 {
		f.Notes[0] += data(fmt.Sprintf("; %d more do not fit: ask for less, with a shorter since, or sql with limit", n))
	}
	f.Dropped = droppedOf(t.Lost)
	lines := slices.Concat(t.notes, t.Problems())
	f.Notes = append(f.Notes, each(lines, maxNotes, prose)...)
	if n := len(lines) - maxNotes; n > 0 {
		f.Notes = append(f.Notes, data(fmt.Sprintf("%d more like these", n)))
	}
}

func askFleet(ctx context.Context, f *nodes.Client, in *fleetIn) (*fleetTable, error) {
	span := scope{Since: in.Since}.span()
	part := nodes.Scope{Since: span.Since, From: span.From, To: span.To}
	if (in.SQL != "") != (in.Action == "sql") {
		return nil, errors.New("give sql with action sql, and only with it")
	}
	switch in.Action {
	case "sql":
		return fleetSQL(ctx, f, in.SQL)
	case "ops":
		return fleetOps(ctx, f, part)
	case "overview":
		return fleetOverview(ctx, f, part)
	}
	return fleetChains(ctx, f, part)
}

func fleetSQL(ctx context.Context, f *nodes.Client, sql string) (*fleetTable, error) {
	t, err := f.Query(ctx, sql, mcpshape.MaxRows)
	if err != nil {
		return nil, err
	}
	note := fmt.Sprintf("%d rows from %d node(s)", len(t.Rows), t.Answered())
	if t.Truncated {
		note += "; there are more: narrow it with where"
	}
	out := &fleetTable{Coverage: &t.Coverage, note: note, columns: t.Columns, rows: t.Rows}
	for _, n := range t.Notes {
		out.notes = append(out.notes, n.Text)
	}
	return out, nil
}

func fleetChains(ctx context.Context, f *nodes.Client, part nodes.Scope) (*fleetTable, error) {
	e, err := f.Explain(ctx, part)
	if err != nil {
		return nil, err
	}
	t := &fleetTable{
		Coverage: &e.Coverage, note: fmt.Sprintf("Fleet Chains: %d chain(s)", len(e.Chains)),
		columns: []string{"severity", "node", "kind", "summary", "lost_ns", "explained_pct", "culprit", "pid", "fix"},
	}
	for i := range e.Chains {
		c := &e.Chains[i]
		fix := ""
		if len(c.Recommendations) > 0 {
			fix = c.Recommendations[0]
		}
		t.addRow(c.Severity, string(name(c.Node)), c.Cause.Kind, string(prose(c.Summary)), c.LostNS, c.ExplainedPct,
			string(name(c.Cause.Process)), c.Cause.PID, string(prose(fix)))
	}
	return t, nil
}

func fleetOps(ctx context.Context, f *nodes.Client, part nodes.Scope) (*fleetTable, error) {
	nodes, h, err := f.Ops(ctx, part)
	if err != nil {
		return nil, err
	}
	t := &fleetTable{
		Coverage: &h,
		columns:  []string{"node", "process", "pid", "op", "calls", "errors", "p50_ns", "p99_ns", "max_ns", "total_ns"},
	}
	for i := range nodes {
		for _, o := range nodes[i].Ops {
			t.addRow(string(name(nodes[i].Node)), string(name(o.Process)), o.PID, string(name(o.Op)), o.Calls, o.Errors, o.P50NS,
				o.P99NS, o.MaxNS, o.TotalNS)
		}
	}
	return t, nil
}

func fleetOverview(ctx context.Context, f *nodes.Client, part nodes.Scope) (*fleetTable, error) {
	nodes, h, err := f.Overview(ctx, part)
	if err != nil {
		return nil, err
	}
	t := &fleetTable{Coverage: &h, columns: []string{"node", "calls", "high", "medium", "low", "window", "verdict"}}
	for i := range nodes {
		n := &nodes[i]
		of := n.Findings
		t.addRow(string(name(n.Node)), n.Calls, of[event.SeverityHigh], of[event.SeverityMedium], of[event.SeverityLow],
			clock(n.Window.FromNS)+"/"+clock(n.Window.ToNS), string(prose(n.Verdict)))
	}
	return t, nil
}
