package nodes

import (
	"context"
	"fmt"
	"strings"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// maxValue bounds a value that is computed from answers, in bytes.
const maxValue = 1 << 20

// combine lets SQLite compute an answer from the rows of all nodes, with the final statement of a
// plan or a similar one. The rows have the node first, then columns, and columns only for sorting
// at the end. Rows that are not grouped keep this form.
func combine(ctx context.Context, p *plan, sql string, columns int, rows [][]any) (out [][]any, err error) {
	c, err := sqlite.OpenConn(":memory:", sqlite.OpenReadWrite|sqlite.OpenCreate|sqlite.OpenMemory)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	names := []string{nodeColumn}
	for i := range columns {
		names = append(names, fmt.Sprintf("c%d", i))
	}
	for i := range p.hidden {
		names = append(names, fmt.Sprintf("h%d", i))
	}
	// Columns without a type keep values as they are.
	if err := sqlitex.ExecuteTransient(c, "create table t ("+strings.Join(names, ", ")+")", nil); err != nil {
		return nil, err
	}
	if err := insert(c, len(names), rows); err != nil {
		return nil, err
	}
	c.Limit(sqlite.LimitLength, maxValue)
	c.SetInterrupt(ctx.Done())
	out = [][]any{}
	err = sqlitex.ExecuteTransient(c, sql, &sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
		line := make([]any, s.ColumnCount())
		for i := range line {
			line[i] = value(s, i)
		}
		out = append(out, line)
		return nil
	}})
	return out, err
}

func insert(c *sqlite.Conn, columns int, rows [][]any) (err error) {
	defer sqlitex.Save(c)(&err)
	s, err := c.Prepare("insert into t values (?" + strings.Repeat(", ?", columns-1) + ")")
	if err != nil {
		return err
	}
	for _, line := range rows {
		for i, v := range line {
			switch v := v.(type) {
			case int64:
				s.BindInt64(i+1, v)
			case float64:
				s.BindFloat(i+1, v)
			case string:
				s.BindText(i+1, v)
			default:
				s.BindNull(i + 1)
			}
		}
		if _, err := s.Step(); err != nil {
			return err
		}
		if err := s.Reset(); err != nil {
			return err
		}
	}
	return nil
}

func value(s *sqlite.Stmt, i int) any {
	switch s.ColumnType(i) {
	case sqlite.TypeInteger:
		return s.ColumnInt64(i)
	case sqlite.TypeFloat:
		return s.ColumnFloat(i)
	case sqlite.TypeText:
		return s.ColumnText(i)
	}
	return nil
}
