package nodes

import (
	"context"

	"github.com/ingero-io/ingero/serve/nodeapi/wire"
)

// NodeSQL is what nodes are asked for a statement.
func NodeSQL(sql string) string { return planOf(sql).node }

// Finish is what is made of nodes' answers, without their names.
func Finish(ctx context.Context, sql string, answers ...wire.Rows) ([][]any, error) {
	p := planOf(sql)
	t := &Table{Coverage: Coverage{Asked: len(answers), Failed: []Failure{}}}
	var good []reply[wire.Rows]
	labels := make([]string, len(answers))
	for _, a := range answers {
		good = append(good, reply[wire.Rows]{value: a})
	}
	if err := t.fill(ctx, p, good, labels); err != nil {
		return nil, err
	}
	width := len(p.columns)
	if !p.grouped {
		width = len(answers[0].Columns) - p.hidden
	}
	if len(t.Columns) > width {
		for i, r := range t.Rows {
			t.Rows[i] = r[1:]
		}
	}
	return t.Rows, nil
}

// Note is why nodes answer a statement each for itself.
func Note(sql string) string { return planOf(sql).note }
