package clickhouse

import (
	"context"
	"maps"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/ingero-io/ingero/echo/seen"
	"github.com/ingero-io/ingero/echo/store"
)

// OpenVersion opens a database as a program of an older version would have made it: without views.
func OpenVersion(ctx context.Context, address string, version uint32) (*Store, error) {
	all, err := migrations()
	if err != nil {
		return nil, err
	}
	return Open(ctx, address, Options{migrations: all[:version]})
}

// OpenImpatient opens a database whose Check waits for a short time.
func OpenImpatient(ctx context.Context, address string, checkTime time.Duration) (*Store, error) {
	return Open(ctx, address, Options{checkTime: checkTime})
}

// Connections returns how many connections to an address there may be.
func Connections(address string) (int, error) {
	options, err := parse(address, "")
	if err != nil {
		return 0, err
	}
	return options.MaxOpenConns, nil
}

// WhileAddingUp calls Retain, and f when it begins to add up minutes.
func (s *Store) WhileAddingUp(ctx context.Context, f func()) error {
	s.conn = addingUp{s.conn, f}
	_, err := s.Retain(ctx, 0, store.Retention{})
	return err
}

// addingUp is a connection that calls a function before minutes are added up.
type addingUp struct {
	driver.Conn
	before func()
}

// Exec runs a statement.
func (a addingUp) Exec(ctx context.Context, statement string, args ...any) error {
	if strings.HasPrefix(statement, "insert into minute") {
		a.before()
	}
	return a.Conn.Exec(ctx, statement, args...)
}

// Exec runs a test's statement.
func (s *Store) Exec(ctx context.Context, statement string) error { return s.exec(ctx, statement) }

// MinuteSettings are the settings of the statement that adds up minutes.
func MinuteSettings() map[string]any { return maps.Clone(minuteSettings) }

// Sent returns what is sent to the servers of a cluster, or to one server: the statements that make a database and all
// in it, set and remove how long rows are kept, add up minutes, and delete; and the questions meanwhile.
func Sent(ctx context.Context, cluster, database string) (statements, questions []string, err error) {
	r := &recorder{}
	s := &Store{
		options:  Options{Cluster: cluster, Keep: time.Hour}.withDefaults(),
		database: database, layout: newLayout(cluster, database), conn: r, seen: seen.New(1),
	}
	if err := r.Exec(ctx, createDatabase(database, s.layout)); err != nil {
		return nil, nil, err
	}
	if err := s.prepare(ctx); err != nil {
		return nil, nil, err
	}
	s.options.Keep, r.expires = 0, true
	if err := s.expire(ctx); err != nil {
		return nil, nil, err
	}
	if _, err := s.Retain(ctx, int64(2*time.Hour), store.Retention{Age: time.Hour, Bytes: 1}); err != nil {
		return nil, nil, err
	}
	return r.statements, r.questions, nil
}

// recorder is a connection to a server with a row and without tables. It keeps what is sent.
type recorder struct {
	driver.Conn
	statements, questions []string
	expires               bool // whether the tables' rows do
}

// Exec keeps a statement.
func (r *recorder) Exec(_ context.Context, statement string, _ ...any) error {
	r.statements = append(r.statements, statement)
	return nil
}

// QueryRow keeps a question.
func (r *recorder) QueryRow(_ context.Context, question string, _ ...any) driver.Row {
	r.questions = append(r.questions, question)
	return answer{question: question, expires: r.expires}
}

// Query keeps a question. The answer is 1, 1: minute 1, and when its first row came, or how many rows it has.
func (r *recorder) Query(_ context.Context, question string, _ ...any) (driver.Rows, error) {
	r.questions = append(r.questions, question)
	return &oneMinute{}, nil
}

type oneMinute struct {
	driver.Rows
	read bool
}

func (o *oneMinute) Next() bool   { defer func() { o.read = true }(); return !o.read }
func (o *oneMinute) Err() error   { return nil }
func (o *oneMinute) Close() error { return nil }

func (o *oneMinute) Scan(to ...any) error {
	for _, v := range to {
		switch n := v.(type) {
		case *int64:
			*n = 1
		case *uint64:
			*n = 1
		}
	}
	return nil
}

// answer is a row of zeros, except for the number of rows to be deleted, the size, and the definition of a table.
type answer struct {
	driver.Row
	question string
	expires  bool
}

// Scan returns what there is.
func (a answer) Scan(to ...any) error {
	switch v := to[0].(type) {
	case *uint64:
		if strings.HasPrefix(a.question, "select count() from point final") {
			*v = 1
		}
	case *int64:
		*v = 2
	case *string:
		if a.expires {
			*v = "ReplacingMergeTree TTL toDateTime(0)"
		}
	}
	return nil
}
