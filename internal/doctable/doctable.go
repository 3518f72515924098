// Package doctable keeps tables in pages of docs that tests write and compare.
package doctable

import (
	"fmt"
	"os"
	"strings"
)

// Table is a table in a page, between a mark with its name and a mark of the end.
type Table struct {
	Text          string // its lines
	file          string
	before, after string // the rest of the page, with the marks
}

// Read finds the table in the page after the line "<!-- table: NAME -->", up to the line
// "<!-- end of table -->".
func Read(file, name string) (*Table, error) {
	page, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	begin, end := "<!-- table: "+name+" -->\n", "<!-- end of table -->\n"
	before, rest, found := strings.Cut(string(page), begin)
	text, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		return nil, fmt.Errorf("%s has no place for the table %q", file, name)
	}
	return &Table{text, file, before + begin, end + after}, nil
}

// Write writes the page with the table's text as it is now.
func (t *Table) Write() error {
	return os.WriteFile(t.file, []byte(t.before+t.Text+t.after), 0o644)
}
