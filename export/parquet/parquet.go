// Package parquet writes a table in the format of Apache Parquet, with columns of integers, texts
// and times, all of which may be null.
package parquet

import (
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/gzip"
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

// Writer writes a table.
type Writer struct {
	to      *parquet.GenericWriter[any]
	columns []Column
	row     parquet.Row
}

// groupRows is how many rows a group has: those are kept in memory.
const groupRows = 1 << 14

// bufferBytes is how much of a column is kept before a page is written.
const bufferBytes = 64 << 10

// NewWriter begins a table.
func NewWriter(to io.Writer, columns []Column) *Writer {
	w := parquet.NewGenericWriter[any](to, schema(columns), parquet.CreatedBy("ingero", "", ""),
		parquet.MaxRowsPerRowGroup(groupRows), parquet.PageBufferSize(bufferBytes),
		parquet.Compression(&gzip.Codec{Level: gzip.BestSpeed}), parquet.DataPageVersion(1))
	return &Writer{to: w, columns: columns}
}

// schema is a structure with the columns as its fields. It keeps their order, which a parquet.Group
// does not.
func schema(columns []Column) *parquet.Schema {
	var fields []reflect.StructField
	for i, c := range columns {
		f := reflect.StructField{
			Name: fmt.Sprintf("Column%d", i), Type: reflect.TypeFor[*int64](),
			Tag: reflect.StructTag(fmt.Sprintf(`parquet:"%s,optional,dict"`, c.Name)),
		}
		switch c.Kind {
		case Text:
			f.Type = reflect.TypeFor[*string]()
		case Time:
			f.Tag = reflect.StructTag(fmt.Sprintf(`parquet:"%s,optional,timestamp(nanosecond)"`, c.Name))
		}
		fields = append(fields, f)
	}
	return parquet.SchemaOf(reflect.New(reflect.StructOf(fields)).Interface())
}

// Row adds a row: an int64, a string or nil for each column.
func (w *Writer) Row(values []any) error {
	if len(values) != len(w.columns) {
		return fmt.Errorf("a row of %d values in a table of %d columns", len(values), len(w.columns))
	}
	w.row = w.row[:0]
	for i, c := range w.columns {
		v, err := c.value(values[i])
		if err != nil {
			return err
		}
		defined := 1
		if v.IsNull() {
			defined = 0
		}
		w.row = append(w.row, v.Level(0, defined, i))
	}
	_, err := w.to.WriteRows([]parquet.Row{w.row})
	return err
}

func (c Column) value(v any) (parquet.Value, error) {
	switch v := v.(type) {
	case nil:
		return parquet.NullValue(), nil
	case int64:
		if c.Kind != Text {
			return parquet.Int64Value(v), nil
		}
	case string:
		if c.Kind == Text {
			return parquet.ByteArrayValue([]byte(strings.ToValidUTF8(v, "\uFFFD"))), nil // required by the format
		}
	}
	return parquet.Value{}, fmt.Errorf("column %s: a %T does not fit", c.Name, v)
}

// Close writes the rest, and the file's metadata.
func (w *Writer) Close() error { return w.to.Close() }
