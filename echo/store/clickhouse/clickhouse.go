// Package clickhouse keeps rows in a ClickHouse database: a store.Store. It needs no cgo.
//
// # Rows that come twice
//
// A row that comes twice is one row to readers, for two reasons. First, before rows are written, their keys are
// compared with those in the same seconds (package seen), so that most duplicates are not even sent, and callers
// learn how many there were. That is not enough: an insert whose answer was lost may still run while its rows are
// sent again, and another ingero-echo may write to the same database. So, second, the engine is ReplacingMergeTree
// with the key at the end of the order, and questions read with FINAL. Rows of an hour are a partition, and equal rows
// have the same time, so FINAL never has to compare parts of different hours, and none of an hour that is one part.
// Equal rows also have the same shard.
//
// # When Write returns
//
// An insert is in synced files on all shards. If Write returns an error, some of the rows may be there. They are
// recognised when they are sent again.
package clickhouse

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"

	"github.com/ingero-io/ingero/echo/seen"
	"github.com/ingero-io/ingero/echo/store"
)

// Options of a store.
type Options struct {
	// Password of the user, if it is not in the address.
	Password string
	// Cluster is a cluster in the servers' configuration, whose shards the rows are spread over; empty: one server.
	Cluster string
	// Keep is how long the engine keeps rows after their arrival; 0: it deletes none. See Retain too.
	Keep time.Duration
	// Memory bounds the memory of a question on each server, in bytes; 0: 256 MiB.
	Memory int64
	// Keys is how many keys of rows are kept in memory, in 20 bytes each; 0: 2 million.
	Keys   int
	Logger *slog.Logger // nil: silent

	// The others replace what the package has, in tests.
	migrations []migration
	// checkTime bounds Check; 0: 10 s, as in DuckDB.
	checkTime time.Duration
}

func (o Options) withDefaults() Options {
	if o.Memory == 0 {
		o.Memory = 256 << 20
	}
	if o.Keys == 0 {
		o.Keys = 2_000_000
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.checkTime == 0 {
		o.checkTime = 10 * time.Second
	}
	return o
}

// Store is an open database.
type Store struct {
	options  Options
	database string
	layout   layout
	conn     clickhouse.Conn

	// open is read-locked while the connection is used, and locked while it is closed.
	open   sync.RWMutex
	closed bool

	retaining sync.Mutex // of calls of Retain

	// writing is locked by the writer. It guards the rest.
	writing sync.Mutex
	seen    *seen.Set
	newest  int64 // no row has a later timestamp; 0: there are no rows

	ages ages
}

var _ store.Store = (*Store)(nil)

const (
	dialTime = 5 * time.Second
	// readTime is how long a server may be silent while a statement runs.
	readTime = time.Minute
	// idleConns connections stay open.
	idleConns = 4
	// besides is how many connections there may be besides those of questions: writing takes three, Retain and Stats one
	// each.
	besides = 16
)

// maxConns is how many connections there may be. As many questions run at a time as there are CPUs, but two at least:
// see package api. Writing must not wait for them.
func maxConns() int { return max(2, runtime.GOMAXPROCS(0)) + besides }

// Open opens a database by its address, such as clickhouse://HOST:9000/DATABASE or http://HOST:8123/DATABASE, and
// creates the database and its tables if needed. Of several hosts, separated by commas, it uses the first that
// answers. Errors are *NewerError, or say what is wrong with the address or the server.
func Open(ctx context.Context, address string, o Options) (*Store, error) {
	o = o.withDefaults()
	options, err := parse(address, o.Password)
	if err != nil {
		return nil, err
	}
	s := &Store{
		options: o, database: options.Auth.Database, layout: newLayout(o.Cluster, options.Auth.Database),
		seen: seen.New(o.Keys),
	}
	if s.conn, err = connect(ctx, options, s.layout); err != nil {
		return nil, err
	}
	if err := s.prepare(ctx); err != nil {
		return nil, errors.Join(reachable(options, err), s.conn.Close())
	}
	return s, nil
}

// schemes of addresses: ClickHouse's own protocol, and HTTP.
var schemes = []string{"clickhouse", "tcp", "http", "https"}

// parse parses an address. Without a database it is "default".
func parse(address, password string) (*clickhouse.Options, error) {
	u, err := url.Parse(first(address))
	if err != nil || u.Host == "" || !slices.Contains(schemes, u.Scheme) {
		return nil, fmt.Errorf("the address %s cannot be read; it must be like clickhouse://HOST:9000/DATABASE or "+
			"http://HOST:8123/DATABASE", Redacted(address))
	}
	options, err := clickhouse.ParseDSN(address)
	if err != nil {
		return nil, fmt.Errorf("the address %s cannot be read: %w", Redacted(address), err)
	}
	if options.Auth.Database == "" {
		options.Auth.Database = "default"
	}
	if _, given := u.User.Password(); !given {
		options.Auth.Password = password
	}
	options.DialTimeout, options.ReadTimeout = dialTime, readTime
	options.MaxIdleConns, options.MaxOpenConns = idleConns, maxConns()
	options.ClientInfo.Products = append(options.ClientInfo.Products, struct{ Name, Version string }{"ingero-echo", "1"})
	if options.Protocol == clickhouse.Native && options.Compression == nil {
		options.Compression = &clickhouse.Compression{Method: clickhouse.CompressionLZ4}
	}
	return options, nil
}

// first returns an address with its first host only: several, separated by commas, are not a URL.
func first(address string) string {
	scheme, rest, _ := strings.Cut(address, "://")
	end := len(rest)
	if i := strings.IndexAny(rest, "/?"); i >= 0 {
		end = i
	}
	hosts := strings.LastIndex(rest[:end], "@") + 1
	if i := strings.Index(rest[hosts:end], ","); i >= 0 {
		return scheme + "://" + rest[:hosts+i] + rest[end:]
	}
	return address
}

// Redacted returns an address without its password, and with its first host only.
func Redacted(address string) string {
	u, err := url.Parse(first(address))
	if err != nil {
		return "(not a URL)"
	}
	q := u.Query()
	if q.Has("password") {
		q.Set("password", "xxxxx")
		u.RawQuery = q.Encode()
	}
	return u.Redacted()
}

// connect connects to a database, and creates it if it does not exist.
func connect(ctx context.Context, options *clickhouse.Options, l layout) (clickhouse.Conn, error) {
	conn, err := clickhouse.Open(options)
	if err == nil {
		err = conn.Exec(ctx, "select 1")
	}
	if code(err) == unknownDatabase {
		err = makeDatabase(ctx, options, l)
	}
	if err == nil {
		return conn, nil
	}
	err = reachable(options, err)
	if conn != nil {
		err = errors.Join(err, conn.Close())
	}
	return nil, err
}

func makeDatabase(ctx context.Context, options *clickhouse.Options, l layout) error {
	without := *options
	without.Auth.Database = "default" // it exists on every server
	conn, err := clickhouse.Open(&without)
	if err != nil {
		return err
	}
	err = conn.Exec(ctx, createDatabase(options.Auth.Database, l))
	if err != nil {
		err = fmt.Errorf("there is no database %s, and it cannot be made: %w", options.Auth.Database, err)
	}
	return errors.Join(err, conn.Close())
}

func createDatabase(name string, l layout) string {
	return "create database if not exists " + quoted(name) + l.OnCluster()
}

func (s *Store) prepare(ctx context.Context) error {
	list := s.options.migrations
	if list == nil {
		var err error
		if list, err = migrations(); err != nil {
			return err
		}
	}
	if err := s.migrate(ctx, list); err != nil {
		return err
	}
	if s.options.migrations == nil {
		if err := s.execFile(ctx, "views.sql"); err != nil {
			return fmt.Errorf("make the views: %w", err)
		}
		if err := s.expire(ctx); err != nil {
			return fmt.Errorf("set how long rows are kept: %w", err)
		}
	}
	var newest sql.NullInt64
	if err := s.conn.QueryRow(ctx, "select maxOrNull(timestamp_ns) from point").Scan(&newest); err != nil {
		return fmt.Errorf("find the newest row: %w", err)
	}
	s.newest = newest.Int64
	return nil
}

// Close closes the connections. It waits for running calls.
func (s *Store) Close() error {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.open.Lock()
	defer s.open.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	return s.conn.Close()
}

// use calls f unless the store is closed, which waits for f.
func (s *Store) use(f func() error) error {
	s.open.RLock()
	defer s.open.RUnlock()
	if s.closed {
		return errors.New("the store is closed")
	}
	return f()
}

// hosts returns the servers of an address.
func hosts(options *clickhouse.Options) string { return strings.Join(options.Addr, ", ") }
