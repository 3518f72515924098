// Package duckdb keeps rows in a DuckDB file, in this process: a store.Store. It is the only package that needs cgo.
//
// There is one writer, and a batch is a transaction: when Write returns, it is on disk, in the file or its
// write-ahead log. Each reader has its own connection, which cannot write.
package duckdb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/ingero-io/ingero/echo/seen"
	"github.com/ingero-io/ingero/echo/store"
)

// Each migration upgrades the tables from the version before; the first one creates them.
var (
	//go:embed sql/0001_initial.sql
	initial string
	//go:embed sql/0002_record.sql
	record string
	//go:embed sql/0003_series.sql
	series string

	migrations = []string{initial, record, series}
)

//go:embed sql/views.sql
var views string

// tables are the tables with rows: numbers, other points, and log records and spans.
var tables = []string{"point", "distribution", "record"}

// ofAll returns a query for columns of all rows that meet a condition.
func ofAll(columns, condition string) string {
	list := make([]string, len(tables))
	for i, t := range tables {
		list[i] = "select " + columns + " from " + t + " where " + condition
	}
	return strings.Join(list, " union all ")
}

// DefaultMemory is the engine's memory in bytes if nothing else is asked for.
const DefaultMemory = 160 << 20

// Options of a store.
type Options struct {
	// Memory bounds the engine's memory in bytes; 0: DefaultMemory. Questions end when the process has as much and
	// 352 MiB besides, and has grown by 256 MiB: see watch.go.
	Memory int64
	// Threads of the engine; 0: one for each CPU.
	Threads int
	// Keys is how many keys of rows are kept in memory, in 20 bytes each; 0: 2 million.
	Keys int
	// Series is how many series are kept in memory between batches, in 50 bytes each; 0: 500,000.
	Series int
	// Stuck is called if reopening the engine takes longer than Patience: the data on disk is intact, but only another
	// process can read it. nil: that is only logged.
	Stuck func(error)
	// Patience is how long reopening the engine may take; 0: two minutes. It reads the log of up to 64 MiB. It would never
	// return if something of the engine were left in this process: see connection.
	Patience time.Duration
	Logger   *slog.Logger // nil: silent
}

func (o Options) withDefaults() Options {
	if o.Memory == 0 {
		o.Memory = DefaultMemory
	}
	if o.Keys == 0 {
		o.Keys = 2_000_000
	}
	if o.Series == 0 {
		o.Series = 500_000
	}
	if o.Patience == 0 {
		o.Patience = 2 * time.Minute
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Stuck == nil {
		o.Stuck = func(error) {}
	}
	return o
}

// Store is an open file.
type Store struct {
	path    string
	options Options
	locked  *os.File
	watch   *watch

	connect func(path string) (driver.Connector, error)

	// open is read-locked while the engine is used, and locked while it is opened or closed.
	open   sync.RWMutex
	closed bool
	db     *sql.DB

	// writing is locked by the writer. It guards the rest.
	writing sync.Mutex
	conn    *sql.Conn // the writer's
	seen    *seen.Set
	numbers *numbers
	newest  int64 // the latest timestamp of all rows, 0 if there are none or it is not known
	held    int64 // bytes of the engine's memory that only reopening frees, about: see refresh
	values  []driver.Value
}

var _ store.Store = (*Store)(nil)

// Open opens a file, or creates it. Errors are *LockedError if another process has it open, and *NewerError.
func Open(ctx context.Context, path string, o Options) (*Store, error) {
	o = o.withDefaults()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("make the folder: %w", err)
	}
	locked, err := lock(path)
	if err != nil {
		return nil, err
	}
	s := &Store{
		path: path, options: o, locked: locked, seen: seen.New(o.Keys), numbers: newNumbers(o.Series),
		watch: newWatch(o.Memory + besides), connect: connect,
	}
	if err := s.start(ctx); err != nil {
		return nil, errors.Join(err, locked.Close())
	}
	return s, nil
}

// start opens the engine. The caller is Open, or has locked s.writing.
func (s *Store) start(ctx context.Context) error {
	if err := readable(s.path); err != nil {
		return err
	}
	connector, err := s.connect(s.path)
	if err != nil {
		return fmt.Errorf("open %s: %w", s.path, err)
	}
	db := sql.OpenDB(connector)
	conn, err := db.Conn(ctx)
	if err == nil {
		if err = s.prepare(ctx, conn); err != nil {
			err = errors.Join(err, conn.Close()) // otherwise the engine would not end, and could not be reopened
		}
	}
	if err != nil {
		return errors.Join(fmt.Errorf("open %s: %w", s.path, err), db.Close())
	}
	s.open.Lock()
	defer s.open.Unlock()
	s.db, s.conn = db, conn
	return nil
}

// spill bounds the engine's temporary files, in bytes.
const spill = 1 << 30

// settings returns the engine's settings, in order: the last one locks them.
func (s *Store) settings() []string {
	list := []string{
		// Rows that are not in the file yet can make room for questions; the bound keeps the disk from filling. These come
		// before the limit on memory, which may move rows of the log into the folder: it cannot be set then.
		fmt.Sprintf("set temp_directory = '%s'", strings.ReplaceAll(s.path+".tmp", "'", "''")),
		fmt.Sprintf("set max_temp_directory_size = '%d MiB'", spill>>20),
		fmt.Sprintf("set memory_limit = '%d MiB'", s.options.Memory>>20),
		"set autoinstall_known_extensions = false", "set autoload_known_extensions = false",
		"set allow_community_extensions = false",
		"set allocator_background_threads = true", "set allocator_flush_threshold = '1 MiB'", // give free memory back
		// A checkpoint rewrites the last row group. Rows since the last one are in memory, and take more space than in the
		// log.
		"set checkpoint_threshold = '64 MiB'",
		// Close makes it. Data in memory that may be wrong must not get into the file.
		"pragma disable_checkpoint_on_shutdown",
		"set enable_progress_bar = false", "set preserve_insertion_order = true",
	}
	if n := s.options.Threads; n > 0 {
		list = append(list, fmt.Sprintf("set threads = %d", n))
	}
	return append(list, "set enable_external_access = false", "set lock_configuration = true")
}

func (s *Store) prepare(ctx context.Context, conn *sql.Conn) error {
	for _, statement := range s.settings() {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	if err := s.migrate(ctx, conn); err != nil {
		return err
	}
	if _, err := conn.ExecContext(ctx, views); err != nil {
		return fmt.Errorf("make the views: %w", err)
	}
	s.held = 0
	if s.newest == 0 {
		var newest sql.NullInt64
		if err := conn.QueryRowContext(ctx, "select max(timestamp_ns) from ("+ofAll("timestamp_ns", "true")+")").
			Scan(&newest); err != nil {
			return fmt.Errorf("find the newest row: %w", err)
		}
		s.newest = newest.Int64
	}
	if s.numbers.stale {
		if err := s.numbers.load(ctx, conn); err != nil {
			return fmt.Errorf("read the series: %w", err)
		}
	}
	return nil
}

// migrate upgrades the tables, or refuses those of a newer version.
func (s *Store) migrate(ctx context.Context, conn *sql.Conn) error {
	if _, err := conn.ExecContext(ctx, "create table if not exists meta (version integer not null)"); err != nil {
		return fmt.Errorf("make the table of the version: %w", err)
	}
	var found sql.NullInt64
	if err := conn.QueryRowContext(ctx, "select max(version) from meta").Scan(&found); err != nil {
		return fmt.Errorf("read the version: %w", err)
	}
	if known := int64(len(migrations)); found.Int64 > known {
		return &NewerError{s.path, fmt.Sprintf("version %d of its tables; this one knows %d", found.Int64, known)}
	}
	for version := found.Int64; version < int64(len(migrations)); version++ {
		for _, statement := range []string{
			"begin transaction", migrations[version], fmt.Sprintf("insert into meta values (%d)", version+1), "commit",
		} {
			if _, err := conn.ExecContext(ctx, statement); err != nil {
				return fmt.Errorf("make the tables of version %d: %w", version+1, err)
			}
		}
	}
	return nil
}

// Close closes the engine, which writes its log into the file. It waits for running calls.
func (s *Store) Close() error {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.open.Lock()
	defer s.open.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	var err error
	if s.db != nil {
		_, err = s.conn.ExecContext(context.Background(), "checkpoint")
	}
	return errors.Join(err, s.stop(), s.locked.Close())
}

// stop closes the engine. Its log stays until it is reopened.
func (s *Store) stop() error {
	if s.db == nil {
		return nil
	}
	err := errors.Join(s.conn.Close(), s.db.Close())
	s.db, s.conn = nil, nil
	return err
}

// use calls f with the engine, which stays open meanwhile.
func (s *Store) use(f func(*sql.DB) error) error {
	s.open.RLock()
	defer s.open.RUnlock()
	if s.closed {
		return errors.New("the store is closed")
	}
	if s.db == nil {
		return fmt.Errorf("%w: it is being opened again", store.ErrAway)
	}
	return f(s.db)
}

// mend reopens the engine if it has shut itself down, as it does after some disk errors, or if its data in memory may
// be wrong. why is the error before; nil: it was not open. The caller has locked s.writing.
func (s *Store) mend(ctx context.Context, why error) {
	s.seen.DropAll()
	s.numbers.forgetNumbers()
	s.newest = 0
	if s.reopen(ctx, 0) {
		s.options.Logger.Warn("the store was opened again", "path", s.path, "why", why)
	}
}

// reopen closes the engine and opens it. What uses it for longer than grace ends with store.ErrAway, as does what comes
// before it is open; see ask. It reports whether it is open. The caller has locked s.writing.
func (s *Store) reopen(ctx context.Context, grace time.Duration) bool {
	stuck := time.AfterFunc(s.options.Patience, func() {
		err := fmt.Errorf("%s is not open again after %s", s.path, s.options.Patience)
		s.options.Logger.Error("the store is stuck", "err", err)
		s.options.Stuck(err)
	})
	defer stuck.Stop()
	alone := make(chan struct{})
	go func() {
		for wait := grace; ; wait = look {
			select {
			case <-alone:
				return
			case <-time.After(wait):
			}
			s.watch.endAll(store.ErrAway)
		}
	}()
	s.open.Lock()
	close(alone)
	closed, err := s.closed, s.stop()
	s.open.Unlock()
	if closed {
		return false
	}
	if err != nil {
		s.options.Logger.Warn("the store was closed with an error", "err", err)
	}
	if err := s.start(ctx); err != nil {
		s.options.Logger.Error("the store cannot be opened again", "err", err)
		return false
	}
	return true
}
