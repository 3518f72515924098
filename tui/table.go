package tui

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// column is the layout of a column.
type column struct {
	title string
	right bool
	least int  // minimum width; 0: not narrowed
	drop  int  // columns with higher values are left out first if there is no room; 0: never
	fill  bool // takes the remaining width
}

// cell is text in a column, or what is drawn there.
type cell struct {
	text  string
	style style
	draw  func(width int) string // instead of text; with escape sequences of its own
}

// text is a plain cell.
func text(s string) cell { return cell{text: s} }

// row is a row of a table.
type row struct {
	key   string // identifies the row also in the next second
	cells []cell
	head  string                   // text instead of cells
	group bool                     // the following rows belong to it
	style style                    // of head
	open  func(width int) []string // shown by Enter; nil: nothing
}

// matches reports whether a row contains a text, ignoring case.
func (r *row) matches(lower string) bool {
	if lower == "" || strings.Contains(strings.ToLower(r.head), lower) {
		return true
	}
	for _, c := range r.cells {
		if strings.Contains(strings.ToLower(c.text), lower) {
			return true
		}
	}
	return false
}

// filtered are the rows that contain a text. A head row stays if a row below it does, and all its
// rows stay if it contains the text itself.
func filtered(rows []row, filter string) []row {
	if filter == "" {
		return rows
	}
	filter = strings.ToLower(filter)
	var kept []row
	var head *row
	all := false
	for i := range rows {
		r := &rows[i]
		if r.group {
			if head, all = r, r.matches(filter); all {
				kept, head = append(kept, *r), nil
			}
			continue
		}
		if !all && !r.matches(filter) {
			continue
		}
		if head != nil {
			kept, head = append(kept, *head), nil
		}
		kept = append(kept, *r)
	}
	return kept
}

// gap is the space between columns.
func gap(width int) int {
	if width < 100 {
		return 1
	}
	return 2
}

// layout is the width of each column, 0 for columns that do not fit.
func layout(columns []column, rows []row, width int) []int {
	natural := make([]int, len(columns))
	for i, c := range columns {
		natural[i] = ansi.StringWidth(c.title)
		for k := range rows {
			if i < len(rows[k].cells) {
				natural[i] = max(natural[i], ansi.StringWidth(rows[k].cells[i].text))
			}
		}
	}
	widths := make([]int, len(columns))
	for i, c := range columns {
		widths[i] = max(natural[i], 1)
		if c.least > 0 {
			widths[i] = min(widths[i], c.least)
			if c.fill {
				widths[i] = c.least
			}
		}
	}
	room := func() int {
		n := width + gap(width)
		for _, w := range widths {
			if w > 0 {
				n -= w + gap(width)
			}
		}
		return n
	}
	for room() < 0 {
		worst := -1
		for i, c := range columns {
			if widths[i] > 0 && c.drop > 0 && (worst < 0 || c.drop > columns[worst].drop) {
				worst = i
			}
		}
		if worst < 0 {
			break
		}
		widths[worst] = 0
	}
	for i := range columns {
		if widths[i] > 0 && !columns[i].fill {
			widths[i] += max(min(natural[i]-widths[i], room()), 0)
		}
	}
	for i, c := range columns {
		if widths[i] > 0 && c.fill {
			widths[i] += max(room(), 0)
		}
	}
	return widths
}

// pad makes text exactly that wide.
func pad(s string, width int, right bool) string {
	w := ansi.StringWidth(s)
	if w > width {
		s = ansi.Truncate(s, width, "…")
		w = ansi.StringWidth(s)
	}
	space := strings.Repeat(" ", max(width-w, 0))
	if right {
		return space + s
	}
	return s + space
}

// line draws a row, with a mark in front if it is selected.
func (m *Model) line(r *row, columns []column, widths []int, isChosen bool, width int) string {
	mark := " "
	if isChosen {
		mark = ">"
	}
	if r.cells == nil {
		if isChosen {
			return m.paint(chosen, mark+pad(r.head, width-1, false))
		}
		return mark + m.paint(r.style, pad(r.head, width-1, false))
	}
	var b strings.Builder
	b.WriteString(m.styled(mark, plain, isChosen))
	first := true
	for i, w := range widths {
		if w == 0 {
			continue
		}
		if !first {
			b.WriteString(m.styled(strings.Repeat(" ", gap(width-1)), plain, isChosen))
		}
		first = false
		c := cell{}
		if i < len(r.cells) {
			c = r.cells[i]
		}
		if c.draw != nil {
			b.WriteString(c.draw(w))
			continue
		}
		b.WriteString(m.styled(pad(c.text, w, columns[i].right), c.style, isChosen))
	}
	return b.String()
}

func (m *Model) styled(s string, i style, isChosen bool) string {
	if isChosen {
		i = chosen
	}
	return m.paint(i, s)
}

// titles is the head of a table.
func (m *Model) titles(columns []column, widths []int, width int) string {
	var cells []string
	for i, w := range widths {
		if w > 0 {
			cells = append(cells, pad(columns[i].title, w, columns[i].right))
		}
	}
	return " " + m.paint(dim, strings.Join(cells, strings.Repeat(" ", gap(width-1))))
}
