package nodes

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/ingero-io/ingero/serve/nodeapi/wire"
	"github.com/ingero-io/ingero/store"
)

// Table is the nodes' answer to a statement.
type Table struct {
	Columns   []string `json:"columns"`
	Rows      [][]any  `json:"rows"` // of nil, int64, float64 and string
	Truncated bool     `json:"truncated"`
	// Notes say what sums cover where they are easily misread, once for all nodes.
	Notes []store.Note `json:"notes,omitempty"`
	Coverage
}

const (
	nodeColumn = "node"
	// everyNode is the value of the column node in rows for all nodes.
	everyNode = "all"
	// maxRows is the number of rows requested from a node.
	maxRows = 50_000
)

// Query sends an SQL statement to all nodes, and combines the answers to one table as if there was
// one recording: groups are combined, rows are sorted and cut over all nodes. Where that cannot be
// done a warning says so. limit is the maximum number of rows.
func (cl *Client) Query(ctx context.Context, sql string, limit int) (*Table, error) {
	p := planOf(sql)
	most := maxRows
	if !p.grouped && p.final != "" && limit > 0 {
		most = min(limit+1, maxRows)
	}
	replies, clocks := asked(ctx, cl, func(ctx context.Context, address string) (wire.Rows, error) {
		var rows wire.Rows
		if err := cl.post(ctx, address, "query", wire.Question{SQL: p.node, Limit: most}, &rows); err != nil {
			return rows, err
		}
		return rows, check(&rows)
	})
	good, failed, err := split(replies)
	if err != nil {
		return nil, err
	}
	good, failed = alike(good, failed)
	t := &Table{Coverage: cl.coverage(failed, clocks)}
	if p.note != "" && t.Asked > 1 {
		t.Warnings = append(t.Warnings, p.note)
	}
	labels := labelled(&t.Coverage, good, func(r wire.Rows) string { return r.Node })
	relabel(p, good, labels)
	for _, r := range good {
		t.addLost(r.value.Lost)
	}
	t.tell(good, p)
	if err := t.fill(ctx, p, good, labels); err != nil {
		return nil, err
	}
	t.note(ctx, p, good, labels)
	if limit > 0 && len(t.Rows) > limit {
		t.Rows, t.Truncated = t.Rows[:limit], true
	}
	return t, nil
}

// check converts the values of a node's answer to SQL values.
func check(r *wire.Rows) error {
	if r.Columns == nil || r.Lost == nil {
		return errGarbage
	}
	if err := checkRows(r.Rows, len(r.Columns)); err != nil {
		return err
	}
	for _, n := range r.Notes {
		if err := checkRows(n.Exact, len(r.Columns)); err != nil {
			return err
		}
	}
	return nil
}

func checkRows(rows [][]any, columns int) error {
	for _, line := range rows {
		if len(line) != columns {
			return errGarbage
		}
		for i, v := range line {
			switch v := v.(type) {
			case nil, string:
			case json.Number:
				n, err := v.Int64()
				if err != nil || strings.ContainsAny(string(v), ".eE") {
					x, err := v.Float64()
					if err != nil {
						return fmt.Errorf("it answers with %s, which is not a number", printable(string(v)))
					}
					line[i] = x
					continue
				}
				line[i] = n
			default:
				return errGarbage
			}
		}
	}
	return nil
}

// alike keeps the answers with the columns of the first one: older recordings may have others for
// "select *".
func alike(good []reply[wire.Rows], failed []Failure) ([]reply[wire.Rows], []Failure) {
	want := good[0].value.Columns
	return slices.DeleteFunc(good, func(r reply[wire.Rows]) bool {
		if slices.Equal(r.value.Columns, want) {
			return false
		}
		failed = append(failed, Failure{r.address, fmt.Sprintf("its answer has %d columns and that of %s %d; select "+
			"columns by name", len(r.value.Columns), good[0].address, len(want))})
		return true
	}), failed
}

// tell says which nodes had more rows than they returned.
func (t *Table) tell(good []reply[wire.Rows], p *plan) {
	for _, r := range good {
		if !r.value.Truncated {
			continue
		}
		t.Truncated = true
		if p.grouped {
			t.Warnings = append(t.Warnings, fmt.Sprintf("%s has more than %d groups: what is told of them is too low; narrow "+
				"it with where", r.address, len(r.value.Rows)))
		}
	}
}

// relabel replaces the node name in rows by the node's label, if the recording's own name is not
// unique.
func relabel(p *plan, good []reply[wire.Rows], labels []string) {
	at := p.nodeKey
	if !p.grouped && len(good[0].value.Columns) > 0 && isNode(good[0].value.Columns[0]) {
		at = 0
	}
	for i, r := range good {
		if at < 0 || labels[i] == r.value.Node {
			continue
		}
		for _, line := range r.value.Rows {
			line[at] = labels[i]
		}
		for _, n := range r.value.Notes {
			for _, line := range n.Exact {
				line[at] = labels[i]
			}
		}
	}
}

// fill makes the table of the answers.
func (t *Table) fill(ctx context.Context, p *plan, good []reply[wire.Rows], labels []string) error {
	columns := good[0].value.Columns
	columns = columns[:len(columns)-p.hidden]
	rows := union(good, labels)
	if p.final != "" {
		var err error
		if rows, err = combine(ctx, p, p.final, len(columns), rows); err != nil {
			return fmt.Errorf("put the answers together: %w", err)
		}
	}
	t.Columns, t.Rows = t.shape(p, columns, rows)
	return nil
}

// shape adds the column with the node, unless there is one.
func (t *Table) shape(p *plan, columns []string, rows [][]any) ([]string, [][]any) {
	if p.grouped {
		columns = p.columns
	}
	if p.grouped && slices.ContainsFunc(columns, isNode) {
		return columns, rows
	}
	label := everyNode
	if t.Partial() {
		label = fmt.Sprintf("%d of %d", t.Answered(), t.Asked)
	}
	for i, r := range rows {
		switch {
		case p.grouped:
			rows[i] = append([]any{label}, r...)
		default:
			rows[i] = r[:1+len(columns)]
		}
	}
	if !p.grouped && len(columns) > 0 && isNode(columns[0]) { // the recordings have it
		for i, r := range rows {
			rows[i] = r[1:]
		}
		return columns, rows
	}
	return append([]string{nodeColumn}, columns...), rows
}

func isNode(column string) bool { return strings.EqualFold(column, nodeColumn) }

// union is all rows, with the node first.
func union(good []reply[wire.Rows], labels []string) [][]any {
	all := [][]any{}
	for i, r := range good {
		all = append(all, from(labels[i], r.value.Rows)...)
	}
	return all
}

// from adds the node in front of rows.
func from(label string, rows [][]any) (out [][]any) {
	for _, line := range rows {
		out = append(out, append([]any{label}, line...))
	}
	return out
}
