package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/export"
	"github.com/ingero-io/ingero/lib/plain"
	"github.com/ingero-io/ingero/store"
)

// rowWriter prints rows in one format.
type rowWriter func(*console, rowSource) error

// rowSource is rows that are read one after the other.
type rowSource = export.Rows

// rowWriters are the formats query knows.
var rowWriters = []struct {
	name  string
	write rowWriter
}{
	{"table", writeTable},
	{"json", writeJSONRows},
	{"csv", writeCSV},
}

func formats() []string {
	var names []string
	for _, f := range rowWriters {
		names = append(names, f.name)
	}
	return names
}

func rowWriterFor(format string) (rowWriter, error) {
	for _, f := range rowWriters {
		if f.name == format {
			return f.write, nil
		}
	}
	return nil, usage("--format %q is unknown; use %s", format, strings.Join(formats(), ", "))
}

// writeCSV writes values byte for byte, except to a terminal, which escape codes in them would drive.
func writeCSV(c *console, rows rowSource) error {
	if c.isTerminal(c.out) {
		return export.CSV(c.out, shown{named{rows}})
	}
	return export.CSV(c.out, named{rows})
}

// shown is rows for a terminal.
type shown struct{ rowSource }

func (s shown) Columns() []string {
	names := slices.Clone(s.rowSource.Columns())
	for i, n := range names {
		names[i] = plain.Line(n)
	}
	return names
}

func (s shown) Values() []any {
	values := slices.Clone(s.rowSource.Values())
	for i, v := range values {
		if text, ok := v.(string); ok {
			values[i] = plain.Line(text)
		}
	}
	return values
}

// readFull reads all of r into b; more than fits is an error.
func readFull(r io.Reader, b []byte) (int, error) {
	n, err := io.ReadFull(r, b)
	switch {
	case err == nil:
		return n, errTooLong
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return n, nil
	}
	return n, err
}

// widthRows is the number of rows from which a table's column widths are computed; the rest is
// written as it comes, so that memory stays bounded.
const widthRows = 1000

// maxCell is the maximum width of a table cell; json and csv have the full value.
const maxCell = 120

// writeTable aligns columns, numbers to the right.
func writeTable(c *console, rows rowSource) error {
	t := rowTable{out: c.out, names: columns(rows)}
	t.right = make([]bool, len(t.names))
	t.widths = make([]int, len(t.names))
	for rows.Next() {
		line := make([]string, len(t.names))
		for i, v := range rows.Values() {
			line[i] = clean(export.Cell(v))
			switch v.(type) {
			case int64, float64:
				t.right[i] = t.right[i] || t.rows == 0
			case nil:
			default:
				t.right[i] = false
			}
		}
		t.rows++
		if err := t.addLine(line); err != nil {
			return err
		}
	}
	return t.flush()
}

type rowTable struct {
	out    io.Writer
	names  []string
	right  []bool
	widths []int
	kept   [][]string
	begun  bool
	rows   int
}

func (t *rowTable) addLine(line []string) error {
	if t.begun {
		return t.print(line)
	}
	if t.kept = append(t.kept, line); len(t.kept) == widthRows {
		return t.flush()
	}
	return nil
}

// flush prints the header and the rows kept so far.
func (t *rowTable) flush() error {
	if t.begun {
		return nil
	}
	t.begun = true
	head := make([]string, len(t.names))
	for i, n := range t.names {
		head[i] = clean(n)
	}
	rule := make([]string, len(t.names))
	for i := range t.names {
		for _, line := range append([][]string{head}, t.kept...) {
			t.widths[i] = max(t.widths[i], ansi.StringWidth(line[i]))
		}
		rule[i] = strings.Repeat("-", t.widths[i])
	}
	for _, line := range append([][]string{head, rule}, t.kept...) {
		if err := t.print(line); err != nil {
			return err
		}
	}
	t.kept = nil
	return nil
}

func (t *rowTable) print(line []string) error {
	var b strings.Builder
	for i, s := range line {
		if i > 0 {
			b.WriteString("  ")
		}
		pad := strings.Repeat(" ", max(t.widths[i]-ansi.StringWidth(s), 0))
		if t.right[i] {
			b.WriteString(pad + s)
		} else {
			b.WriteString(s + pad)
		}
	}
	_, err := io.WriteString(t.out, strings.TrimRight(b.String(), " ")+"\n")
	return err
}

// clean makes a cell one line that cannot move the cursor.
func clean(s string) string { return ansi.Truncate(report.OneLine(s), maxCell, "…") }

// named is rows with the column names that are shown.
type named struct{ rowSource }

func (n named) Columns() []string { return columns(n.rowSource) }

// writeJSONRows prints an array of objects, one a line, columns in order.
func writeJSONRows(c *console, rows rowSource) error {
	keys, err := objectKeys(columns(rows))
	if err != nil {
		return err
	}
	sep := "[\n"
	for rows.Next() {
		var b bytes.Buffer
		b.WriteString(sep)
		for i, v := range rows.Values() {
			b.Write(keys[i])
			value, err := json.Marshal(store.JSONValue(v))
			if err != nil {
				return fmt.Errorf("write row as JSON: %w", err)
			}
			b.Write(plain.JSON(value))
		}
		b.WriteByte('}')
		if _, err := c.out.Write(b.Bytes()); err != nil {
			return err
		}
		sep = ",\n"
	}
	if rows.Err() != nil {
		return nil // the caller reports it; the array stays open, as it is incomplete
	}
	end := "\n]\n"
	if sep == "[\n" {
		end = "[]\n"
	}
	_, err = io.WriteString(c.out, end)
	return err
}

// columns are the names of the columns, all different and none empty: if two columns have the same
// name, the driver keeps only the last.
func columns(rows rowSource) []string {
	seen := map[string]bool{}
	var names []string
	for i, n := range rows.Columns() {
		if n == "" {
			n = fmt.Sprintf("column_%d", i+1)
		}
		unique := n
		for k := 2; seen[unique]; k++ {
			unique = fmt.Sprintf("%s_%d", n, k)
		}
		seen[unique] = true
		names = append(names, unique)
	}
	return names
}

// objectKeys is the text before each value of a row: {"a":, ,"b":.
func objectKeys(names []string) ([][]byte, error) {
	var keys [][]byte
	for i, n := range names {
		key, err := json.Marshal(n)
		if err != nil {
			return nil, fmt.Errorf("write column name as JSON: %w", err)
		}
		lead := byte(',')
		if i == 0 {
			lead = '{'
		}
		keys = append(keys, append(append([]byte{lead}, plain.JSON(key)...), ':'))
	}
	return keys, nil
}
