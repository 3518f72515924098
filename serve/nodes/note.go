package nodes

import (
	"context"
	"slices"
	"strings"

	"github.com/ingero-io/ingero/serve/nodeapi/wire"
	"github.com/ingero-io/ingero/store"
)

// maxNotes bounds the number of different notes from nodes, and maxNote the bytes of one.
const (
	maxNotes = 8
	maxNote  = 500
)

// saying is a note that some nodes have sent.
type saying struct {
	of    string
	by    []string // labels of the nodes
	rows  [][]any  // their exact numbers
	known bool     // all of them sent exact numbers
}

// note writes the notes of nodes, each once. Exact numbers are combined as the rows are, if all
// nodes with the note sent them. A note that not all nodes sent begins with their names.
func (t *Table) note(ctx context.Context, p *plan, good []reply[wire.Rows], labels []string) {
	var list []*saying
	for i, r := range good {
		for _, n := range r.value.Notes {
			at := slices.IndexFunc(list, func(s *saying) bool { return s.of == n.Of })
			if at < 0 {
				if len(list) == maxNotes || len(n.Of) > maxNote {
					continue
				}
				at, list = len(list), append(list, &saying{of: n.Of, known: true})
			}
			s := list[at]
			s.by, s.rows, s.known = append(s.by, labels[i]), append(s.rows, from(labels[i], n.Exact)...), s.known &&
				n.Exact != nil
		}
	}
	for _, s := range list {
		text := printable(s.of)
		if len(s.by) < len(good) {
			text = printable(strings.Join(s.by, ", ")) + ": " + text
		}
		var columns []string
		var exact [][]any
		if s.known {
			columns, exact = t.exact(ctx, p, good, s.rows)
		}
		t.Notes = append(t.Notes, store.NewNote(text, columns, exact))
	}
}

// exact are the combined exact numbers of all nodes; none if they cannot be combined.
func (t *Table) exact(ctx context.Context, p *plan, good []reply[wire.Rows], rows [][]any) ([]string, [][]any) {
	columns := good[0].value.Columns
	columns = columns[:len(columns)-p.hidden]
	if p.final != "" {
		if p.sums == "" {
			return nil, nil
		}
		var err error
		if rows, err = combine(ctx, p, p.sums, len(columns), rows); err != nil {
			return nil, nil
		}
	}
	return t.shape(p, columns, rows)
}
