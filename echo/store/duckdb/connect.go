package duckdb

import (
	"context"
	"database/sql/driver"

	"github.com/duckdb/duckdb-go/v2"
)

// connector makes connections that leave nothing of the engine in this process.
type connector struct{ *duckdb.Connector }

func connect(path string) (driver.Connector, error) {
	c, err := duckdb.NewConnector(path, nil)
	if err != nil {
		return nil, err
	}
	return connector{c}, nil
}

// Connect implements driver.Connector.
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	one, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return connection{one.(*duckdb.Conn)}, nil
}

// connection is a connection to the engine.
type connection struct{ *duckdb.Conn }

// Close implements driver.Conn. If a question ended when the engine had prepared its result, but had not begun to run
// it, the connection and the result hold each other, also after the connection is closed (DuckDB 1.5). The engine would
// never end then, and opening it again would wait for that forever. The next statement of the connection drops the
// result.
func (c connection) Close() error {
	_, _ = c.ExecContext(context.Background(), "rollback", nil) // fails if there is no transaction
	return c.Conn.Close()
}

// raw returns the engine's connection behind one that sql.Conn.Raw passes.
func raw(c any) driver.Conn { return c.(connection).Conn }
