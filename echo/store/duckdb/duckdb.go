// Package duckdb keeps rows in one file of DuckDB, in this process: a store.Store. It is the only package that needs
// cgo.
//
// There is one writer, and a batch is a transaction: what Write has returned for is in the file or its write-ahead log,
// and on disk. Readers have a connection each, on which nothing can be written.
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

	"github.com/duckdb/duckdb-go/v2"

	"github.com/ingero-io/ingero/echo/seen"
	"github.com/ingero-io/ingero/echo/store"
)

// Each of the migrations makes a version of the tables from the one before, the first one from nothing.
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

// tables are those with rows: numbers, other points, and lines and spans.
var tables = []string{"point", "distribution", "record"}

// ofAll asks for columns of all rows of which a condition is true.
func ofAll(columns, condition string) string {
	list := make([]string, len(tables))
	for i, t := range tables {
		list[i] = "select " + columns + " from " + t + " where " + condition
	}
	return strings.Join(list, " union all ")
}

// Options of a store.
type Options struct {
	// Memory is how much the engine may take, in bytes; 0: 256 MiB. Questions end when the process has twice as
	// much, or comes to have as much more: see watch.go.
	Memory int64
	// Threads of the engine; 0: one for each CPU.
	Threads int
	// Keys is how many keys of rows are kept in memory, 20 bytes each; 0: 2 million.
	Keys int
	// Series is how many series are kept in memory between batches, 50 bytes each; 0: 500,000.
	Series int
	// Stuck is called if opening the engine again does not end: what is on disk is whole, but only another process can
	// read it. nil: only the log says so.
	Stuck  func(error)
	Logger *slog.Logger // nil: silent
}

// patience is how long opening the engine again may take. It reads the log, which has 64 MiB. Now and then it never
// ends, as the engine waits for what is left of itself in this process.
const patience = 2 * time.Minute

func (o Options) withDefaults() Options {
	if o.Memory == 0 {
		o.Memory = 256 << 20
	}
	if o.Keys == 0 {
		o.Keys = 2_000_000
	}
	if o.Series == 0 {
		o.Series = 500_000
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

	connect  func(path string) (driver.Connector, error)
	patience time.Duration

	// open is held for reading while the engine is used, and for writing while it is opened and closed.
	open   sync.RWMutex
	closed bool
	db     *sql.DB

	// writing is held by the one that writes. It guards the rest.
	writing sync.Mutex
	conn    *sql.Conn // the writer's
	seen    *seen.Set
	numbers *numbers
	newest  int64 // the greatest timestamp of all rows, 0 if there is none
	values  []driver.Value
}

var _ store.Store = (*Store)(nil)

// Open opens a file, or makes it. Errors are *LockedError if another process has it, and *NewerError.
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
		watch: newWatch(2 * o.Memory), connect: connect, patience: patience,
	}
	if err := s.start(ctx); err != nil {
		return nil, errors.Join(err, locked.Close())
	}
	return s, nil
}

func connect(path string) (driver.Connector, error) {
	return duckdb.NewConnector(path, nil)
}

// start opens the engine. The caller must have locked s.writing, or be Open.
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
			err = errors.Join(err, conn.Close()) // else the engine would not end, and could never be opened again
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

// spill is how many bytes the engine may write to temporary files beside the file.
const spill = 1 << 30

// settings are those of the engine, in order: after the last one none can be changed.
func (s *Store) settings() []string {
	list := []string{
		fmt.Sprintf("set memory_limit = '%d MiB'", s.options.Memory>>20),
		// Rows that are not in the file yet make room for questions; the size is bounded, so that the disk is not filled.
		fmt.Sprintf("set temp_directory = '%s'", strings.ReplaceAll(s.path+".tmp", "'", "''")),
		fmt.Sprintf("set max_temp_directory_size = '%d MiB'", spill>>20),
		"set autoinstall_known_extensions = false", "set autoload_known_extensions = false",
		"set allow_community_extensions = false",
		"set allocator_background_threads = true", "set allocator_flush_threshold = '1 MiB'", // free memory is given back
		// A checkpoint writes the last group of rows again. What came since the last one is in memory, and takes more
		// than in the log.
		"set checkpoint_threshold = '64 MiB'",
		// Close does it. What may be wrong in memory must not get into the file.
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
	var newest sql.NullInt64
	if err := conn.QueryRowContext(ctx, "select max(timestamp_ns) from ("+ofAll("timestamp_ns", "true")+")").
		Scan(&newest); err != nil {
		return fmt.Errorf("find the newest row: %w", err)
	}
	s.newest = newest.Int64
	if err := s.numbers.load(ctx, conn); err != nil {
		return fmt.Errorf("read the series: %w", err)
	}
	return nil
}

// migrate makes the tables, or refuses those of another version.
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

// Close ends the engine, which writes what is in its log into the file. It waits for running calls.
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

// stop ends the engine. What is in its log stays there until it is opened again.
func (s *Store) stop() error {
	if s.db == nil {
		return nil
	}
	err := errors.Join(s.conn.Close(), s.db.Close())
	s.db, s.conn = nil, nil
	return err
}

// use calls f with the engine, which is not closed meanwhile.
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

// mend opens the engine again if it has given itself up, as it does after some errors of the disk, or if what it has in
// memory may be wrong. why is the error that came before; nil: it was not open. Running questions end with
// store.ErrAway, and so do new ones until it is open. The caller must have locked s.writing.
func (s *Store) mend(ctx context.Context, why error) {
	stuck := time.AfterFunc(s.patience, func() {
		err := fmt.Errorf("%s is not open again after %s", s.path, s.patience)
		s.options.Logger.Error("the store is stuck", "err", err)
		s.options.Stuck(err)
	})
	defer stuck.Stop()
	alone := make(chan struct{})
	go func() {
		for {
			s.watch.endAll(store.ErrAway)
			select {
			case <-alone:
				return
			case <-time.After(look):
			}
		}
	}()
	s.open.Lock()
	close(alone)
	closed, err := s.closed, s.stop()
	s.open.Unlock()
	if closed {
		return
	}
	if err != nil {
		s.options.Logger.Warn("the store was closed with an error", "err", err)
	}
	s.seen.DropAll()
	if err := s.start(ctx); err != nil {
		s.options.Logger.Error("the store cannot be opened again", "err", err)
		return
	}
	s.options.Logger.Warn("the store was opened again", "path", s.path, "why", why)
}
