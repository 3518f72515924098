package export

import (
	"cmp"
	"encoding/csv"
	"encoding/hex"
	"fmt"
	"io"
	"strconv"

	"github.com/ingero-io/ingero/export/parquet"
)

// Rows are rows of a table, read one after the other. Those of store/sqlite are.
type Rows interface {
	Columns() []string
	Next() bool
	Values() []any // of the current row
	Err() error
}

// CSV writes rows as in RFC 4180, with a header; NULL is an empty field.
func CSV(to io.Writer, rows Rows) error {
	w := csv.NewWriter(to)
	if err := w.Write(rows.Columns()); err != nil {
		return err
	}
	line := make([]string, len(rows.Columns()))
	for rows.Next() {
		for i, v := range rows.Values() {
			line[i] = ""
			if v != nil {
				line[i] = Cell(v)
			}
		}
		if err := w.Write(line); err != nil {
			return err
		}
	}
	w.Flush() // also after an error, for the rows before it
	return cmp.Or(rows.Err(), w.Error())
}

// Cell formats a value as text; NULL for nil.
func Cell(v any) string {
	switch v := v.(type) {
	case nil:
		return "NULL"
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case []byte:
		return hex.EncodeToString(v)
	}
	return fmt.Sprint(v)
}

// parquetKinds are the columns of the events view that do not hold integers.
var parquetKinds = map[string]parquet.Kind{
	"id": parquet.Text, "node": parquet.Text, "op": parquet.Text, "kernel": parquet.Text,
	"timestamp": parquet.Time,
}

// Parquet writes rows of the events view in the format of Apache Parquet.
func Parquet(to io.Writer, rows Rows) error {
	var columns []parquet.Column
	for _, name := range rows.Columns() {
		columns = append(columns, parquet.Column{Name: name, Kind: parquetKinds[name]})
	}
	w := parquet.NewWriter(to, columns)
	for rows.Next() {
		if err := w.Row(rows.Values()); err != nil {
			return err
		}
	}
	if rows.Err() != nil {
		return rows.Err()
	}
	return w.Close()
}
