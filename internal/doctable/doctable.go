// Package doctable keeps tables in pages of docs that tests write and compare.
package doctable

import (
	"fmt"
	"os"
	"strings"
	"testing"
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

// CheckConstants holds a page's table of constants, of three columns with the given head, against their values by
// name: each has one row.
func CheckConstants(t testing.TB, file, head string, values map[string]any) {
	t.Helper()
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), head+"\n|---|---|---|\n")
	table, _, _ = strings.Cut(table+"\n", "\n\n")
	rows := 0
	for line := range strings.Lines(table + "\n") {
		cells := strings.Split(line, "|")
		if len(cells) < 4 {
			t.Fatalf("not a row: %q", line)
		}
		rows++
		name, value := strings.Trim(cells[1], " `"), strings.TrimSpace(cells[2])
		want, ok := values[name]
		if !ok || fmt.Sprint(want) != value {
			t.Errorf("%s is %v; the page says %s", name, want, value)
		}
	}
	if rows != len(values) {
		t.Errorf("%d rows, %d constants", rows, len(values))
	}
}
