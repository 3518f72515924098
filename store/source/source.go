// Package source is a recording in a file that may be written to, replaced, missing or
// damaged while it is read by several who go on asking: AI agents, other nodes, a browser.
package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"

	"github.com/ingero-io/ingero/store/sqlite"
)

// Source gives read access to a recording. Its methods may be called by several
// goroutines. A file that is missing or damaged is an error of each call, not of
// making the source: it may be there the next time.
type Source interface {
	// Name says which recording it is, for people.
	Name() string
	// Read calls f with the recording as it is now. f must not keep it.
	Read(ctx context.Context, f func(sqlite.Recording) error) error
	// Query runs one reading SQL statement. Rows must be closed.
	Query(ctx context.Context, sql string, l sqlite.Limits) (*sqlite.Rows, error)
	// State changes when what Read would show may have changed; empty if unknown.
	State() string
	// Close ends the source once the reads in progress have ended. It is safe to
	// call twice.
	Close() error
}

// File is a recording in a file. It stays open between calls and is opened anew
// when the file, or the log of its writer, has changed.
func File(path string) Source { return &file{path: path} }

type file struct {
	path string

	mu     sync.Mutex // guards what follows
	opened *opened
	closed bool
}

// opened is a recording that is open, and who uses it.
type opened struct {
	rec   sqlite.Recording
	state string
	users int
	stale bool // to be closed by the last user
}

var errClosed = errors.New("the server is shutting down")

// Name implements Source.
func (f *file) Name() string { return f.path }

// State implements Source: what the file system says of the file and of the log
// beside it.
func (f *file) State() string {
	var s strings.Builder
	for _, suffix := range []string{"", "-wal", "-shm"} {
		info, err := os.Stat(f.path + suffix)
		switch {
		case err == nil && suffix == "-shm":
			s.WriteString("|shared") // its content changes with each reader
		case err == nil:
			fmt.Fprintf(&s, "|%d %d %v", info.Size(), info.ModTime().UnixNano(), inode(info))
		case suffix == "" && !errors.Is(err, fs.ErrNotExist):
			return ""
		}
	}
	return s.String()
}

// Read implements Source.
func (f *file) Read(ctx context.Context, use func(sqlite.Recording) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	o, err := f.acquire()
	if err != nil {
		return err
	}
	defer f.release(o)
	return use(o.rec)
}

func (f *file) acquire() (*opened, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, errClosed
	}
	state := f.State()
	if f.opened != nil && (state == "" || state != f.opened.state) {
		f.drop()
	}
	if f.opened == nil {
		rec, err := sqlite.Open(f.path)
		if err != nil {
			return nil, err
		}
		if r, ok := rec.(interface{ Remember() }); ok && state != "" {
			r.Remember() // it is opened anew when the file changes
		}
		f.opened = &opened{rec: rec, state: state}
	}
	f.opened.users++
	return f.opened, nil
}

func (f *file) release(o *opened) {
	f.mu.Lock()
	defer f.mu.Unlock()
	o.users--
	o.closeIfUnused()
}

// drop forgets the open recording; who uses it goes on with it.
func (f *file) drop() {
	f.opened.stale = true
	f.opened.closeIfUnused()
	f.opened = nil
}

func (o *opened) closeIfUnused() {
	if o.stale && o.users == 0 {
		_ = o.rec.Close() // a reader has nothing to lose
	}
}

// Query implements Source.
func (f *file) Query(ctx context.Context, sql string, l sqlite.Limits) (*sqlite.Rows, error) {
	return sqlite.Query(ctx, f.path, sql, l)
}

// Close implements Source.
func (f *file) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	if f.opened != nil {
		f.drop()
	}
	return nil
}
