package report

import "github.com/ingero-io/ingero/lib/plain"

// Printable replaces what a process may have put into a name to deceive who reads it: names are written to terminals.
func Printable(s string) string { return plain.Marked(s) }

// OneLine makes any text one line of known width that cannot move a terminal's cursor: unprintable
// characters are written as in Go, \x1b.
func OneLine(s string) string { return plain.Line(s) }

// clean cleans a line of a report, whose own colours stay.
func (t *text) clean(s string) string {
	if t.color {
		return plain.Coloured(s)
	}
	return plain.Line(s)
}
