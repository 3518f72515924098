package sqlite

import (
	"context"
	"errors"
	"sync"

	"zombiezen.com/go/sqlite"

	"github.com/ingero-io/ingero/store"
)

const (
	// mostColumns is SQLite's own limit (SQLITE_MAX_COLUMN, sqlite.org/limits.html).
	mostColumns = 2000
	// keptConnections are at most kept for further queries: a page of the dashboard asks several at
	// once.
	keptConnections = 2
)

// Queries runs SQL on one file. It keeps connections to a file that is not being written, because a
// new one has to parse the file's whole schema, which takes 15 ms. Its owner closes it when the file,
// or its write-ahead log, has changed: a kept connection may not notice. Its methods may be called by
// several goroutines.
type Queries struct {
	source *source
	most   int // connections that are kept

	mu     sync.Mutex // guards what follows
	idle   []*sqlite.Conn
	closed bool
}

// OpenQueries opens any SQLite file for queries.
func OpenQueries(path string) (*Queries, error) {
	s, err := openSource(path)
	if err != nil {
		return nil, err
	}
	if err := s.withViews(); err != nil {
		s.close()
		return nil, err
	}
	q := &Queries{source: s, most: keptConnections}
	if s.log { // it changes every second, and its writer could not make it one file at the end
		q.most = 0
	}
	return q, nil
}

// Query runs one reading statement, as the function Query does.
func (q *Queries) Query(ctx context.Context, sql string, l store.Limits) (*Rows, error) {
	c, err := q.take()
	if err != nil {
		return nil, err
	}
	r := &Rows{source: q.source, conn: c, keep: q.keep, limits: withDefaults(l), parent: ctx}
	r.ctx, r.cancel = context.WithTimeout(ctx, r.limits.Time)
	if err := r.prepare(sql); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// Prepare opens a connection that the next query uses: after that, nothing of the recording needs to be opened.
func (q *Queries) Prepare() error {
	c, err := q.take()
	if err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.idle = append(q.idle, c)
	return nil
}

// take returns a kept connection or a new one.
func (q *Queries) take() (*sqlite.Conn, error) {
	q.mu.Lock()
	if n := len(q.idle); n > 0 {
		c := q.idle[n-1]
		q.idle = q.idle[:n-1]
		q.mu.Unlock()
		return c, nil
	}
	q.mu.Unlock()
	c, err := q.source.connect()
	if err != nil {
		return nil, err
	}
	c.Limit(sqlite.LimitAttached, 0)
	if err := errors.Join(registerFunctions(c), exec(c, "pragma cache_size = -16384")); err != nil {
		c.Close() // the error that matters is err
		return nil, err
	}
	return c, nil
}

// keep takes a connection whose statement has ended without an error. It reports false if the
// caller has to close it.
func (q *Queries) keep(c *sqlite.Conn) bool {
	c.SetInterrupt(nil)
	if c.SetAuthorizer(nil) != nil || q.most == 0 {
		return false
	}
	if exec(c, "pragma shrink_memory") != nil { // of up to 16 MiB of pages
		return false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed || len(q.idle) >= q.most {
		return false
	}
	q.idle = append(q.idle, c)
	return true
}

// Close closes the file. Close all Rows first.
func (q *Queries) Close() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return nil
	}
	q.closed = true
	var errs []error
	for _, c := range q.idle {
		errs = append(errs, c.Close())
	}
	q.idle = nil
	q.source.close()
	return errors.Join(errs...)
}
