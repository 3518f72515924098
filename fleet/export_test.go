package fleet

import (
	"context"

	"github.com/ingero-io/ingero/nodeapi/wire"
)

// NodeSQL is what nodes are asked for a statement.
func NodeSQL(sql string) string { return planOf(sql).node }

// Finish is what is made of the answer of one node, without the node's name.
func Finish(ctx context.Context, sql string, columns []string, rows [][]any) ([][]any, error) {
	p := planOf(sql)
	t := &Table{Heard: Heard{Asked: 1, Failed: []Failure{}}}
	if err := t.fill(ctx, p, []reply[wire.Rows]{{value: wire.Rows{Columns: columns, Rows: rows}}}, []string{"a"}); err != nil {
		return nil, err
	}
	width := len(p.columns)
	if !p.grouped {
		width = len(columns) - p.hidden
	}
	if len(t.Columns) > width {
		for i, r := range t.Rows {
			t.Rows[i] = r[1:]
		}
	}
	return t.Rows, nil
}
