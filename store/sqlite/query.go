package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/ingero-io/ingero/store"
)

func withDefaults(l store.Limits) store.Limits {
	if l.Rows <= 0 {
		l.Rows = 100_000
	}
	if l.Bytes <= 0 {
		l.Bytes = 64 << 20
	}
	if l.Value <= 0 {
		l.Value = 8 << 20
	}
	if l.Time <= 0 {
		l.Time = 30 * time.Second
	}
	return l
}

// Rows is the answer to a query. It implements store.Rows.
type Rows struct {
	source    *source
	keep      func(*sqlite.Conn) bool // takes a connection that further queries can use
	done      func()                  // called after that, or nil
	conn      *sqlite.Conn
	stmt      *sqlite.Stmt
	cancel    context.CancelFunc
	ctx       context.Context // of the query, for the life of the rows
	parent    context.Context
	limits    store.Limits
	columns   []string
	notes     *asker
	values    []any
	rows      int
	bytes     int
	truncated bool
	err       error
}

var _ store.Rows = (*Rows)(nil)

// Query runs one reading SQL statement on any SQLite file. On a recording by an earlier Ingero the
// current views are there too, over its tables. The statement cannot change the file. Rows must be
// closed.
func Query(ctx context.Context, path, sql string, l store.Limits) (*Rows, error) {
	q, err := OpenQueries(path)
	if err != nil {
		return nil, err
	}
	q.most = 0
	r, err := q.Query(ctx, sql, l)
	if err != nil {
		_ = q.Close() // no connection is kept
		return nil, err
	}
	r.done = func() { _ = q.Close() } // likewise
	return r, nil
}

// withViews gives each connection the public views, whichever version recorded the file. A file that
// this version does not know is shown as it is.
func (s *source) withViews() error {
	l, err := s.legacy()
	switch {
	case errors.Is(err, store.ErrForeign):
	case err != nil:
		return err
	case l != nil:
		s.prepare = func(c *sqlite.Conn) error {
			if err := l.normalize(c); err != nil {
				return err
			}
			return publish(c)
		}
	default:
		s.prepare = s.ourViews
	}
	return nil
}

// ourViews gives a connection to a recording the views of this version, in which the file's own have no part.
func (s *source) ourViews(c *sqlite.Conn) error {
	id, err := pragmaInt(c, "application_id")
	if err != nil || id != applicationID {
		return err
	}
	version, err := pragmaInt(c, "user_version")
	if err != nil || version > schemaVersion {
		return err // a newer one's are shown as they are
	}
	if err := checkSchema(c, s.path, false); err != nil {
		return err
	}
	return upgradeViews(c)
}

func (r *Rows) prepare(sql string) error {
	r.conn.Limit(sqlite.LimitLength, int32(r.limits.Value))
	r.conn.Limit(sqlite.LimitColumn, int32(cmp.Or(max(r.limits.Columns, 0), mostColumns)))
	if n := r.limits.Statement; n > 0 && len(sql) > n {
		return fmt.Errorf("%w: the statement has %d bytes, more than %d", store.ErrRefused, len(sql), n)
	}
	r.conn.SetInterrupt(r.ctx.Done())
	guard := &guard{reads: newStatementReads(r.conn)}
	if err := r.conn.SetAuthorizer(guard); err != nil {
		return err
	}
	stmt, rest, err := r.conn.PrepareTransient(sql)
	if err != nil {
		return r.explain(sql, guard, err)
	}
	r.stmt = stmt
	if strings.Trim(stripComments(sql[len(sql)-rest:]), "; \t\r\n") != "" {
		return fmt.Errorf("%w: more than one statement; send them one by one", store.ErrRefused)
	}
	if stmt.ColumnCount() == 0 {
		return fmt.Errorf("%w: the statement returns nothing; write a select", store.ErrRefused)
	}
	if stmt.BindParamCount() > 0 {
		return fmt.Errorf("%w: %s has no value; write the value itself", store.ErrSyntax, cmp.Or(stmt.BindParamName(1), "?"))
	}
	r.columns = r.names(stmt, sql[:len(sql)-rest])
	r.notes = &asker{guard.reads, r.conn, sql[:len(sql)-rest], r.columns}
	guard.reads = statementReads{} // later statements are our own
	r.values = make([]any, len(r.columns))
	return nil
}

// names are those of the columns. Of columns with the same name the driver knows only the last;
// SQLite names them pid, pid:1 when the statement is read from.
func (r *Rows) names(stmt *sqlite.Stmt, sql string) []string {
	names := make([]string, stmt.ColumnCount())
	for i := range names {
		names[i] = stmt.ColumnName(i)
	}
	if !slices.Contains(names, "") {
		return names
	}
	outer, _, err := r.conn.PrepareTransient("select * from (" + strings.TrimRight(sql, "; \t\r\n") + "\n)")
	if err != nil {
		return names // of explain, which cannot be read from; its columns have distinct names
	}
	defer outer.Finalize() //nolint:errcheck // it was not run
	for i := range names {
		names[i] = outer.ColumnName(i)
	}
	return names
}

// stripComments removes comments from the text after the first statement.
func stripComments(s string) string {
	var b strings.Builder
	for s != "" {
		switch {
		case strings.HasPrefix(s, "--"):
			i := strings.IndexByte(s, '\n')
			if i < 0 {
				return b.String()
			}
			s = s[i:]
		case strings.HasPrefix(s, "/*"):
			i := strings.Index(s, "*/")
			if i < 0 {
				return b.String()
			}
			s = s[i+2:]
		default:
			b.WriteByte(s[0])
			s = s[1:]
		}
	}
	return b.String()
}

// Columns are the names of the columns.
func (r *Rows) Columns() []string { return r.columns }

// Notes say what the rows cover where they are easily misread: sums over views that show only a
// part, or that have calls within calls. They may query the recording again, for a second at most.
// Call it after the last row and before Close.
func (r *Rows) Notes() []store.Note {
	if r.conn == nil {
		return nil
	}
	return r.notes.notes(r.parent)
}

// Next advances to the next row. It returns false at the end, at a limit, and
// after an error.
func (r *Rows) Next() bool {
	if r.err != nil || r.truncated || r.stmt == nil {
		return false
	}
	more, err := r.stmt.Step()
	if err != nil {
		r.err = r.explainStep(err)
		return false
	}
	if !more {
		return false
	}
	if r.rows == r.limits.Rows {
		r.truncated = true
		return false
	}
	r.rows++
	for i := range r.values {
		r.values[i] = r.value(i)
	}
	if r.bytes > r.limits.Bytes && r.rows > 1 {
		r.truncated = true
		return false
	}
	return true
}

func (r *Rows) value(i int) any {
	switch r.stmt.ColumnType(i) {
	case sqlite.TypeInteger:
		r.bytes += 8
		return r.stmt.ColumnInt64(i)
	case sqlite.TypeFloat:
		r.bytes += 8
		return r.stmt.ColumnFloat(i)
	case sqlite.TypeText:
		r.bytes += r.stmt.ColumnLen(i)
		return r.stmt.ColumnText(i)
	case sqlite.TypeBlob:
		b := make([]byte, r.stmt.ColumnLen(i))
		r.stmt.ColumnBytes(i, b)
		r.bytes += len(b)
		return b
	}
	return nil
}

// Values is the current row: nil, int64, float64, string or []byte. The slice
// is reused.
func (r *Rows) Values() []any { return r.values }

// Truncated reports whether a limit cut the answer short.
func (r *Rows) Truncated() bool { return r.truncated }

// Err is the error that ended the rows, if any.
func (r *Rows) Err() error { return r.err }

// Close ends the query. It is safe to call twice.
func (r *Rows) Close() error {
	if r.conn == nil {
		return nil
	}
	if r.stmt != nil {
		_ = r.stmt.Finalize() // repeats the error of the last step
		r.stmt = nil
	}
	conn, whole := r.conn, r.columns != nil && r.err == nil && r.ctx.Err() == nil
	r.conn = nil
	r.cancel()
	var err error
	if !whole || !r.keep(conn) {
		err = conn.Close()
	}
	if r.done != nil {
		r.done()
	}
	return err
}

func (r *Rows) explainStep(err error) error {
	switch code := sqlite.ErrCode(err); {
	case r.parent.Err() != nil:
		return r.parent.Err()
	case r.ctx.Err() != nil || code == sqlite.ResultInterrupt:
		return fmt.Errorf("%w: more than %s; narrow it with a condition on timestamp, or use the op_seconds view",
			store.ErrTooLong, r.limits.Time)
	case code == sqlite.ResultNoMem:
		return fmt.Errorf("%w: add up less, or narrow it with a condition on timestamp", store.ErrTooMuch)
	case code == sqlite.ResultTooBig:
		return fmt.Errorf("%w: it is larger than %d bytes; take a part of it with substr, or of fewer rows",
			store.ErrTooLarge, r.limits.Value)
	case code.ToPrimary() == sqlite.ResultAuth, // of what a function asks for in turn, as a table of a pragma does
		code == sqlite.ResultError && message(err) == "not authorized": // from SQLite itself, as for extensions
		return fmt.Errorf("%w: a function is refused", store.ErrRefused)
	case code == sqlite.ResultError:
		return fmt.Errorf("%w: %s", store.ErrSyntax, message(err))
	}
	return r.source.explain(err)
}

// message is SQLite's own text of an error.
func message(err error) string {
	s := err.Error()
	for _, prefix := range []string{"sqlite: prepare: ", "sqlite: step: ", "sqlite: "} {
		s = strings.TrimPrefix(s, prefix)
	}
	return strings.TrimPrefix(s, "SQL logic error: ")
}
