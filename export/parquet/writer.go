// Package parquet writes a table in the format of Apache Parquet: rows in groups, of
// which each column is a dictionary and the numbers of its entries, or the values as
// they are, compressed with gzip. It writes what events are made of, integers, texts
// and times that may be null, and reads nothing. Libraries that know the whole format
// would add several megabytes to the program.
//
// The format is described in https://github.com/apache/parquet-format.
package parquet

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
)

// Kind says what a column holds.
type Kind uint8

// The kinds.
const (
	Integer Kind = iota // int64
	Text                // string
	Time                // int64: Unix ns
)

// Column is a column of a table. Every value may be nil.
type Column struct {
	Name string
	Kind Kind
}

// Writer writes a table. The first error ends it.
type Writer struct {
	to      *bufio.Writer
	offset  int64
	zip     *gzip.Writer
	zipped  bytes.Buffer
	page    []byte // not yet compressed
	columns []*column
	rows    int     // of the group
	all     int64   // rows
	groups  int     // written
	meta    *thrift // of the groups
	err     error
}

// groupRows is how many rows a group has: those are kept in memory.
const groupRows = 1 << 14

const magic = "PAR1"

// NewWriter begins a table.
func NewWriter(to io.Writer, columns []Column) *Writer {
	w := &Writer{to: bufio.NewWriterSize(to, 1<<20), meta: newThrift()}
	w.zip, w.err = gzip.NewWriterLevel(io.Discard, gzip.BestSpeed)
	for _, c := range columns {
		w.columns = append(w.columns, &column{Column: c})
	}
	w.write([]byte(magic))
	return w
}

func (w *Writer) write(b []byte) {
	if w.err == nil {
		_, w.err = w.to.Write(b)
		w.offset += int64(len(b))
	}
}

// Row adds a row: an int64, a string or nil for each column.
func (w *Writer) Row(values []any) error {
	if len(values) != len(w.columns) {
		return fmt.Errorf("a row of %d values in a table of %d columns", len(values), len(w.columns))
	}
	for i, c := range w.columns {
		if err := c.add(values[i]); err != nil {
			return err
		}
	}
	if w.rows++; w.rows == groupRows {
		w.flush()
	}
	return w.err
}

// flush writes the rows so far as a group.
func (w *Writer) flush() {
	if w.rows == 0 {
		return
	}
	w.groups++
	w.meta.open() // RowGroup
	w.meta.list(1, thriftStruct, len(w.columns))
	var size int64
	for _, c := range w.columns {
		size += w.chunk(c)
	}
	w.meta.i64(2, size)
	w.meta.i64(3, int64(w.rows))
	w.meta.end()
	w.all += int64(w.rows)
	w.rows = 0
}

// Close writes what is left, and what the table is.
func (w *Writer) Close() error {
	w.flush()
	t := newThrift()
	t.i32(1, 2) // version
	w.schema(t)
	t.i64(3, w.all)
	t.list(4, thriftStruct, w.groups)
	t.b = append(t.b, w.meta.b...)
	t.binary(6, []byte("ingero"))
	t.list(7, thriftStruct, len(w.columns))
	for range w.columns { // ColumnOrder: that of the type
		t.open()
		t.empty(1)
		t.end()
	}
	t.end()
	w.write(binary.LittleEndian.AppendUint32(t.b, uint32(len(t.b))))
	w.write([]byte(magic))
	if w.err == nil {
		w.err = w.to.Flush()
	}
	return w.err
}

// Numbers of the format (parquet.thrift).
const (
	typeInt64     = 2
	typeByteArray = 6
	optional      = 1
	convertedUTF8 = 0
	codecGzip     = 2

	encodingPlain      = 0
	encodingRLE        = 3
	encodingDictionary = 8

	pageData       = 0
	pageDictionary = 2
)

// schema lists the columns: a root, and each as its child.
func (w *Writer) schema(t *thrift) {
	t.list(2, thriftStruct, 1+len(w.columns))
	t.open()
	t.binary(4, []byte("schema"))
	t.i32(5, int32(len(w.columns)))
	t.end()
	for _, c := range w.columns {
		t.open()
		t.i32(1, c.physical())
		t.i32(3, optional)
		t.binary(4, []byte(c.Name))
		switch c.Kind {
		case Text:
			t.i32(6, convertedUTF8)
			t.openField(10) // LogicalType: STRING
			t.empty(1)
			t.end()
		case Time:
			t.openField(10) // LogicalType: TIMESTAMP
			t.openField(8)
			t.field(1, thriftTrue) // in UTC
			t.openField(2)
			t.empty(3) // NANOS
			t.end()
			t.end()
			t.end()
		}
		t.end()
	}
}

// validText is a text as the format demands.
func validText(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
