package clickhouse

import (
	"context"
	"fmt"
	"math/big"
	"reflect"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/ingero-io/ingero/echo/chsql"
	"github.com/ingero-io/ingero/echo/gate"
	"github.com/ingero-io/ingero/echo/store"
)

// Check implements store.Reader. It waits a limited time for a server that does not answer.
func (s *Store) Check(ctx context.Context, statement string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.options.checkTime, store.ErrAway)
	defer cancel()
	return s.use(func() error {
		_, err := s.checked(ctx, statement)
		return err
	})
}

// checked returns a statement that may be run in the engine's own form: one statement, without comments. It runs none
// of it.
func (s *Store) checked(ctx context.Context, statement string) (string, error) {
	if len(statement) > gate.MaxStatement {
		return "", store.Refuse("it has %d bytes; %d are allowed", len(statement), gate.MaxStatement)
	}
	ctx = clickhouse.Context(ctx, clickhouse.WithSettings(clickhouse.Settings{
		"readonly": 1, "implicit_select": 0, "union_default_mode": "DISTINCT",
	}))
	var written string
	if err := s.conn.QueryRow(ctx, "select formatQuerySingleLine("+quoteText(statement)+")").Scan(&written); err != nil {
		return "", ended(ctx, err)
	}
	if refused := chsql.Begins(written); refused != "" {
		return "", &store.RefusedError{Why: refused}
	}
	written = chsql.Translate(written)
	tree, err := s.lines(ctx, "explain ast "+written)
	if err != nil {
		return "", ended(ctx, err)
	}
	names, refused := chsql.Check(written, tree)
	if refused != "" {
		return "", &store.RefusedError{Why: refused}
	}
	if err := s.free(ctx, names); err != nil {
		return "", err
	}
	return written, nil
}

// closed closes an answer. Its Err says whether it is complete.
func closed(rows driver.Rows) { _ = rows.Close() }

// lines returns the rows of a statement with one text column.
func (s *Store) lines(ctx context.Context, statement string) ([]string, error) {
	rows, err := s.conn.Query(ctx, statement)
	if err != nil {
		return nil, err
	}
	defer closed(rows)
	var list []string
	for rows.Next() {
		var one string
		if err := rows.Scan(&one); err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return list, rows.Err()
}

// free refuses names in WITH that are names of tables: elsewhere in the statement they would be the tables.
func (s *Store) free(ctx context.Context, names []string) error {
	if len(names) == 0 {
		return nil
	}
	texts := make([]string, len(names))
	for i, name := range names {
		texts[i] = quoteText(name)
	}
	found, err := s.lines(ctx, "select name from system.tables where database = currentDatabase() and name in ("+
		strings.Join(texts, ", ")+")")
	if err != nil {
		return ended(ctx, err)
	}
	if len(found) > 0 {
		return store.Refuse("the name %q in WITH is that of a table", found[0])
	}
	return nil
}

// settings returns the settings of a question. The engine itself ends it at the limits.
func (s *Store) settings(l store.Limits) clickhouse.Settings {
	return clickhouse.Settings{
		"readonly": 1, "allow_ddl": 0, "allow_introspection_functions": 0,
		"max_execution_time": l.Time.Seconds(), "timeout_overflow_mode": "throw",
		"timeout_before_checking_execution_speed":      0,
		"cancel_http_readonly_queries_on_client_close": 1, "max_memory_usage": s.options.Memory,
		// What does not fit in memory fails, and does not fill the disk.
		"max_bytes_before_external_sort": 0, "max_bytes_ratio_before_external_sort": 0,
		"max_bytes_before_external_group_by": 0, "max_bytes_ratio_before_external_group_by": 0,
		// One row more than is read shows whether there are more.
		"max_result_rows": l.Rows + 1, "result_overflow_mode": "break",
		// Never an answer from some of the shards only.
		"skip_unavailable_shards":                     0,
		"do_not_merge_across_partitions_select_final": 1,
		// Conditions are tried before rows that are there twice are left out. These have the same columns, but for when
		// they came, unless a sender sent a point again with another value.
		"optimize_move_to_prewhere_if_final": 1,
		// As in DuckDB.
		"join_use_nulls": 1, "union_default_mode": "DISTINCT",
		"function_json_value_return_type_allow_nullable": 1, "function_json_value_return_type_allow_complex": 1,
	}
}

// Query implements store.Reader.
func (s *Store) Query(ctx context.Context, statement string, l store.Limits) (*store.Result, error) {
	var out *store.Result
	err := s.use(func() (err error) {
		out, err = s.query(ctx, statement, l)
		return err
	})
	return out, err
}

func (s *Store) query(ctx context.Context, statement string, l store.Limits) (*store.Result, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, l.Time,
		&store.LimitError{Limit: fmt.Sprintf("it took longer than %s", l.Time)})
	defer cancel() // also ends the query when enough was read
	written, err := s.checked(ctx, statement)
	if err != nil {
		return nil, err
	}
	rows, err := s.conn.Query(clickhouse.Context(ctx, clickhouse.WithSettings(s.settings(l))), written)
	if err != nil {
		return nil, ended(ctx, err)
	}
	defer closed(rows)
	return readResult(ctx, rows, l)
}

func readResult(ctx context.Context, rows driver.Rows, l store.Limits) (*store.Result, error) {
	types := rows.ColumnTypes()
	out := &store.Result{Columns: rows.Columns(), Rows: [][]any{}}
	left := l.Bytes
	for rows.Next() {
		if len(out.Rows) == l.Rows {
			out.Cut = "rows"
			return out, nil
		}
		into := make([]any, len(types))
		for i, t := range types {
			into[i] = reflect.New(t.ScanType()).Interface()
		}
		if err := rows.Scan(into...); err != nil {
			return nil, fmt.Errorf("read the answer: %w", err)
		}
		for i := range into {
			into[i] = plain(reflect.ValueOf(into[i]).Elem())
			left -= store.Size(into[i])
		}
		if left < 0 {
			out.Cut = "bytes"
			return out, nil
		}
		out.Rows = append(out.Rows, into)
	}
	if err := rows.Err(); err != nil {
		return nil, ended(ctx, err)
	}
	return out, nil
}

// plain converts a value to one of the types in store.Result.
func plain(v reflect.Value) any {
	if !v.IsValid() {
		return nil
	}
	switch one := v.Interface().(type) {
	case time.Time:
		return one
	case big.Int:
		return &one
	case *big.Int:
		if one == nil {
			return nil
		}
		return one
	case []byte:
		return string(one)
	case interface{ Any() any }: // Variant, Dynamic
		return plain(reflect.ValueOf(one.Any()))
	case interface{ InexactFloat64() float64 }: // Decimal
		return one.InexactFloat64()
	case fmt.Stringer: // addresses, UUID
		if v.Kind() != reflect.Pointer {
			return one.String()
		}
	}
	switch v.Kind() {
	case reflect.Bool:
		return v.Bool()
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Int:
		return v.Int()
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uint:
		return v.Uint()
	case reflect.Float32, reflect.Float64:
		return v.Float()
	case reflect.String:
		return v.String()
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return nil
		}
		return plain(v.Elem())
	case reflect.Slice, reflect.Array:
		list := make([]any, v.Len())
		for i := range list {
			list[i] = plain(v.Index(i))
		}
		return list
	case reflect.Map:
		m := make(map[string]any, v.Len())
		for _, name := range v.MapKeys() {
			m[fmt.Sprint(name.Interface())] = plain(v.MapIndex(name))
		}
		return m
	}
	return fmt.Sprint(v.Interface())
}

// Quote returns a text as a literal.
func (*Store) Quote(s string) string { return quoteText(s) }
