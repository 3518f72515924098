package duckdb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/duckdb/duckdb-go/v2"

	"github.com/ingero-io/ingero/echo/gate"
	"github.com/ingero-io/ingero/echo/store"
)

// checkTime is how long Check waits for an engine that is opened again.
const checkTime = 10 * time.Second

// Check implements store.Reader.
func (s *Store) Check(ctx context.Context, statement string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, checkTime, store.ErrAway)
	defer cancel()
	return s.ask(ctx, func(db *sql.DB) error {
		conn, err := db.Conn(ctx)
		if err != nil {
			return ended(ctx, err)
		}
		defer conn.Close()
		_, err = s.checked(ctx, conn, statement)
		return err
	})
}

// checked returns a statement in the engine's own form, without comments and a semicolon.
func (s *Store) checked(ctx context.Context, conn *sql.Conn, statement string) (string, error) {
	if len(statement) > gate.MaxStatement {
		return "", store.Refuse("it has %d bytes; %d are allowed", len(statement), gate.MaxStatement)
	}
	if why := gate.Parse(statement); why != "" {
		return "", &store.RefusedError{Why: why}
	}
	tree, err := parsed(ctx, conn, statement)
	if err != nil {
		return "", err
	}
	var written string
	if err := conn.QueryRowContext(ctx, "select json_deserialize_sql(?::json)", tree).Scan(&written); err != nil {
		return "", ended(ctx, err)
	}
	return written, nil
}

// parsed returns the tree of a statement that may be run.
func parsed(ctx context.Context, conn *sql.Conn, statement string) (string, error) {
	var tree string
	err := conn.QueryRowContext(ctx, "select json_serialize_sql(?::varchar)::varchar", statement).Scan(&tree)
	if err != nil {
		return "", ended(ctx, err)
	}
	switch refused, syntax := gate.Check([]byte(tree)); {
	case refused != "":
		return "", &store.RefusedError{Why: refused}
	case syntax != "":
		return "", &store.StatementError{Why: syntax}
	}
	return tree, nil
}

// Query implements store.Reader. While the engine is opened again it waits, and then begins again.
func (s *Store) Query(ctx context.Context, statement string, l store.Limits) (out *store.Result, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, l.Time,
		&store.LimitError{Limit: fmt.Sprintf("it took longer than %s", l.Time)})
	defer cancel()
	err = s.ask(ctx, func(db *sql.DB) (err error) {
		out, err = s.query(ctx, db, statement, l)
		return err
	})
	return out, err
}

// again is how long ask waits for an engine that is not open.
const again = 10 * time.Millisecond

// ask calls f with the engine, and again if the engine was closed before f ended, until ctx ends.
func (s *Store) ask(ctx context.Context, f func(*sql.DB) error) error {
	for {
		err := s.use(f)
		if !errors.Is(err, store.ErrAway) {
			return err
		}
		select {
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.Canceled) { // nobody waits for the answer
				return ctx.Err()
			}
			return err
		case <-time.After(again):
		}
	}
}

func (s *Store) query(ctx context.Context, db *sql.DB, statement string, l store.Limits) (_ *store.Result, err error) {
	ctx, done := s.watch.begin(ctx)
	defer done()
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, ended(ctx, err)
	}
	defer conn.Close()
	written, err := s.checked(ctx, conn, statement)
	if err != nil {
		return nil, err
	}
	// Also if it does not begin: the context may end just then.
	defer func() { end(context.WithoutCancel(ctx), conn, err != nil) }()
	// It runs the engine's form of the statement, not the text that came, and checks it once more as a whole.
	limited := fmt.Sprintf("select * from (%s\n) limit %d", written, l.Rows+1)
	if _, err := parsed(ctx, conn, limited); err != nil {
		return nil, err
	}
	if _, err := conn.ExecContext(ctx, "begin transaction read only"); err != nil {
		return nil, ended(ctx, err)
	}
	return runStatement(ctx, conn, limited, l)
}

func runStatement(ctx context.Context, conn *sql.Conn, statement string, l store.Limits) (*store.Result, error) {
	rows, err := conn.QueryContext(ctx, statement)
	if err != nil {
		return nil, ended(ctx, err)
	}
	defer rows.Close()
	return readResult(ctx, rows, l)
}

// end ends a read-only transaction. After a failure, such as an interrupt, it closes the connection, which may hold
// memory and an aborted transaction.
func end(ctx context.Context, conn *sql.Conn, failed bool) {
	if !failed {
		_, err := conn.ExecContext(ctx, "rollback")
		failed = err != nil
	}
	if failed {
		_ = conn.Raw(func(any) error { return driver.ErrBadConn }) // this closes it
	}
}

// ours are types of errors of the engine itself, not of the statement.
var ours = []duckdb.ErrorType{duckdb.ErrorTypeIO, duckdb.ErrorTypeInternal, duckdb.ErrorTypeFatal}

// ended returns why a statement ended.
func ended(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	var d *duckdb.Error
	switch is := errors.As(err, &d); {
	case is && d.Type == duckdb.ErrorTypeOutOfMemory:
		return &store.LimitError{Limit: "it needs more memory than there is for questions"}
	case is && slices.Contains(ours, d.Type):
		return fmt.Errorf("the engine failed: %w", err)
	}
	return &store.StatementError{Why: message(err)}
}

// message returns the engine's first line: the others repeat the statement.
func message(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

func readResult(ctx context.Context, rows *sql.Rows, l store.Limits) (*store.Result, error) {
	columns, err := rows.Columns()
	if err != nil {
		return nil, ended(ctx, err)
	}
	out := &store.Result{Columns: columns, Rows: [][]any{}}
	left := l.Bytes
	for rows.Next() {
		if len(out.Rows) == l.Rows {
			out.Cut = "rows"
			return out, nil
		}
		values := make([]any, len(columns))
		into := make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			return nil, ended(ctx, err)
		}
		for i := range values {
			values[i] = plain(values[i])
			left -= store.Size(values[i])
		}
		if left < 0 {
			out.Cut = "bytes"
			return out, nil
		}
		out.Rows = append(out.Rows, values)
	}
	if err := rows.Err(); err != nil {
		return nil, ended(ctx, err)
	}
	return out, nil
}

// plain converts a value to one of the types in store.Result.
func plain(v any) any {
	switch v := v.(type) {
	case nil, bool, int64, uint64, float64, string, *big.Int, time.Time:
		return v
	case int8:
		return int64(v)
	case int16:
		return int64(v)
	case int32:
		return int64(v)
	case uint8:
		return uint64(v)
	case uint16:
		return uint64(v)
	case uint32:
		return uint64(v)
	case float32:
		return float64(v)
	case []byte:
		return string(v)
	case duckdb.Decimal:
		return v.Float64()
	case duckdb.Interval:
		return interval(v)
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
		return v
	case map[string]any:
		for name := range v {
			v[name] = plain(v[name])
		}
		return v
	}
	return fmt.Sprint(v)
}

// interval formats an interval as ISO 8601.
func interval(v duckdb.Interval) string {
	return fmt.Sprintf("P%dM%dDT%gS", v.Months, v.Days, float64(v.Micros)/1e6)
}
