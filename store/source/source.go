// Package source opens a recording in a file that may be written to, replaced, missing or damaged
// while several clients read it: AI agents, other nodes, a browser.
package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"

	"github.com/ingero-io/ingero/explain/recording"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
)

// File is a recording in a file. It stays open between calls and is opened again when the file, or
// its write-ahead log, has changed. It implements recording.Source: its methods may be called by
// several goroutines. A missing or damaged file is an error of each call, not of New.
type File struct {
	path string

	mu     sync.Mutex // guards what follows
	opened *opened
	closed bool
}

// New makes the source of a file, which need not exist yet.
func New(path string) *File { return &File{path: path} }

// opened is an open recording with the number of its users.
type opened struct {
	rec   store.Recording
	state string
	users int
	stale bool // to be closed by the last user
}

var _ recording.Source = (*File)(nil)

var errClosed = errors.New("the server is shutting down")

// Name implements recording.Source.
func (f *File) Name() string { return f.path }

// State implements recording.Source. It describes the file and its log as the file system reports
// them.
func (f *File) State() string {
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

// Read implements recording.Source.
func (f *File) Read(ctx context.Context, use func(store.Recording) error) error {
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

func (f *File) acquire() (*opened, error) {
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
			r.Remember() // it is opened again when the file changes
		}
		f.opened = &opened{rec: rec, state: state}
	}
	f.opened.users++
	return f.opened, nil
}

func (f *File) release(o *opened) {
	f.mu.Lock()
	defer f.mu.Unlock()
	o.users--
	o.closeIfUnused()
}

// drop forgets the open recording. Its current users continue with it.
func (f *File) drop() {
	f.opened.stale = true
	f.opened.closeIfUnused()
	f.opened = nil
}

func (o *opened) closeIfUnused() {
	if o.stale && o.users == 0 {
		_ = o.rec.Close() // a reader has no data to lose
	}
}

// Query implements recording.Source.
func (f *File) Query(ctx context.Context, sql string, l store.Limits) (store.Rows, error) {
	rows, err := sqlite.Query(ctx, f.path, sql, l)
	if err != nil {
		return nil, err // a nil *sqlite.Rows would not be nil as store.Rows
	}
	return rows, nil
}

// Close implements recording.Source.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	if f.opened != nil {
		f.drop()
	}
	return nil
}
