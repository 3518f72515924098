// Package source opens a recording in a file that may be written to, replaced, missing or damaged
// while several clients read it: AI agents, other nodes, a browser.
package source

import (
	"context"
	"errors"
	"fmt"
	"io"
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
	asks Asker // of SQL; nil: this process

	mu      sync.Mutex // guards what follows
	rec     kept[store.Recording]
	queries kept[*sqlite.Queries]
	closed  bool
}

// New makes the source of a file, which need not exist yet.
func New(path string) *File {
	f := &File{path: path}
	f.rec.open = func() (store.Recording, error) {
		rec, err := sqlite.Open(path)
		if err != nil {
			return nil, err
		}
		if r, ok := rec.(interface{ Remember() }); ok {
			r.Remember() // it is opened again when the file changes
		}
		return rec, nil
	}
	f.queries.open = func() (*sqlite.Queries, error) { return sqlite.OpenQueries(path) }
	return f
}

// Asker answers SQL on recordings elsewhere than in this process.
type Asker interface {
	Query(ctx context.Context, path, sql string, l store.Limits) (store.Rows, error)
}

// NewAsking makes the source of a file like New, of which SQL is asked elsewhere.
func NewAsking(path string, a Asker) *File {
	f := New(path)
	f.asks = a
	return f
}

// kept is something open, to be opened again when the file has changed.
type kept[T io.Closer] struct {
	open func() (T, error)
	last *opened[T]
}

// opened is what was opened with the number of its users.
type opened[T io.Closer] struct {
	it    T
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
	rec, release, err := acquire(f, &f.rec)
	if err != nil {
		return err
	}
	defer release()
	return use(rec)
}

// acquire returns what is kept, opened again if the file has changed. The caller releases it once.
func acquire[T io.Closer](f *File, k *kept[T]) (it T, release func(), err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return it, nil, errClosed
	}
	state := f.State()
	if k.last != nil && (state == "" || state != k.last.state) {
		k.drop()
	}
	if k.last == nil {
		it, err := k.open()
		if err != nil {
			return it, nil, err
		}
		k.last = &opened[T]{it: it, state: state}
	}
	o := k.last
	o.users++
	return o.it, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		o.users--
		o.closeIfUnused()
	}, nil
}

// drop forgets what is open. Its current users continue with it.
func (k *kept[T]) drop() {
	if k.last != nil {
		k.last.stale = true
		k.last.closeIfUnused()
		k.last = nil
	}
}

func (o *opened[T]) closeIfUnused() {
	if o.stale && o.users == 0 {
		_ = o.it.Close() // a reader has no data to lose
	}
}

// rows release the file when they are closed.
type rows struct {
	*sqlite.Rows
	release func()
}

func (r rows) Close() error {
	defer r.release()
	return r.Rows.Close()
}

// Query implements recording.Source.
func (f *File) Query(ctx context.Context, sql string, l store.Limits) (store.Rows, error) {
	if f.asks != nil {
		return f.asks.Query(ctx, f.path, sql, l)
	}
	q, release, err := acquire(f, &f.queries)
	if err != nil {
		return nil, err
	}
	r, err := q.Query(ctx, sql, l)
	if err != nil {
		release()
		return nil, err // a nil *sqlite.Rows would not be nil as store.Rows
	}
	return rows{r, sync.OnceFunc(release)}, nil
}

// Close implements recording.Source.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	f.rec.drop()
	f.queries.drop()
	return nil
}
