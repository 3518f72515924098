// Package clickhouse keeps rows in a database of ClickHouse: a store.Store. It needs no cgo.
//
// # What comes twice
//
// A row that comes twice is one row for those who ask, in two ways. Before rows are written, their keys are compared
// with those of the same seconds that are there already (package seen), so that most are not even sent, and callers are
// told how many came twice. That is not enough: an insert whose answer was lost may still go on while its rows are sent
// again, and another ingero-echo may write to the same database. So the engine is ReplacingMergeTree with the key at
// the end of the order, and all that may be asked reads with FINAL. Rows of one day are one partition, and what is the
// same has the same time, so that FINAL never has to compare parts of different days; and it has the same shard.
//
// # What is kept when Write returns
//
// An insert is in files that are synced, of all shards. If Write has an error, a part of the rows may be there. They
// are known when they are sent again.
package clickhouse

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
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
	// Password of the user, if the address has none.
	Password string
	// Cluster is the name of a cluster of the servers' configuration, over whose shards rows are spread; empty: one
	// server.
	Cluster string
	// Keep is for how long rows are kept by the engine itself, since they came; 0: it deletes none. See Retain, too.
	Keep time.Duration
	// Memory is how much a question may take on each server, in bytes; 0: 256 MiB.
	Memory int64
	// Keys is how many keys of rows are kept in memory, 20 bytes each; 0: 2 million.
	Keys   int
	Logger *slog.Logger // nil: silent

	// layout and migrations replace those of the package in tests.
	layout     *layout
	migrations []migration
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
	return o
}

// Store is a database that is open.
type Store struct {
	options  Options
	database string
	layout   layout
	conn     clickhouse.Conn

	// open is held for reading while the connection is used, and for writing while it is closed.
	open   sync.RWMutex
	closed bool

	// writing is held by the one that writes. It guards the rest.
	writing sync.Mutex
	seen    *seen.Set
	newest  int64 // no row has a greater timestamp; 0: there is none

	ages ages
}

var _ store.Store = (*Store)(nil)

const (
	dialTime = 5 * time.Second
	// readTime is for how long a server may say nothing while a statement runs.
	readTime = time.Minute
	// idleConns are connections that stay open.
	idleConns, maxConns = 4, 16
)

// Open opens a database by its address, such as clickhouse://HOST:9000/DATABASE or http://HOST:8123/DATABASE, and makes
// it and its tables. Of several hosts, with commas between, the first that answers is used. Errors are *NewerError, or
// say what is wrong with the address or the server.
func Open(ctx context.Context, address string, o Options) (*Store, error) {
	o = o.withDefaults()
	options, err := parse(address, o.Password)
	if err != nil {
		return nil, err
	}
	s := &Store{options: o, database: options.Auth.Database, seen: seen.New(o.Keys)}
	s.layout = newLayout(o.Cluster, s.database)
	if o.layout != nil {
		s.layout = *o.layout
	}
	if s.conn, err = connect(ctx, options, s.layout); err != nil {
		return nil, err
	}
	if err := s.prepare(ctx); err != nil {
		return nil, errors.Join(reachable(options, err), s.conn.Close())
	}
	return s, nil
}

// schemes are those of addresses: ClickHouse's own protocol, and HTTP.
var schemes = []string{"clickhouse", "tcp", "http", "https"}

// parse reads an address. The database is "default" if it has none.
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
	options.MaxIdleConns, options.MaxOpenConns = idleConns, maxConns
	options.ClientInfo.Products = append(options.ClientInfo.Products, struct{ Name, Version string }{"ingero-echo", "1"})
	if options.Protocol == clickhouse.Native && options.Compression == nil {
		options.Compression = &clickhouse.Compression{Method: clickhouse.CompressionLZ4}
	}
	return options, nil
}

// first is an address with the first of its hosts: several, with commas between, are no URL.
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

// Redacted is an address without its password, and with the first of its hosts.
func Redacted(address string) string {
	u, err := url.Parse(first(address))
	if err != nil {
		return "(which is no URL)"
	}
	q := u.Query()
	if q.Has("password") {
		q.Set("password", "xxxxx")
		u.RawQuery = q.Encode()
	}
	return u.Redacted()
}

// connect connects to a database. If there is none of its name, it is made.
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
	without.Auth.Database = "default" // there is one on every server
	conn, err := clickhouse.Open(&without)
	if err != nil {
		return err
	}
	err = conn.Exec(ctx, "create database if not exists "+quoted(options.Auth.Database)+l.OnCluster())
	if err != nil {
		err = fmt.Errorf("there is no database %s, and it cannot be made: %w", options.Auth.Database, err)
	}
	return errors.Join(err, conn.Close())
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
			return fmt.Errorf("say how long rows are kept: %w", err)
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

// use calls f while the connection is not closed.
func (s *Store) use(f func() error) error {
	s.open.RLock()
	defer s.open.RUnlock()
	if s.closed {
		return errors.New("the store is closed")
	}
	return f()
}

// hosts are the servers of an address.
func hosts(options *clickhouse.Options) string { return strings.Join(options.Addr, ", ") }
