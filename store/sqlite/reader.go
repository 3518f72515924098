package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"

	"zombiezen.com/go/sqlite"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// Reader reads a recording. It implements store.Recording, may be used by several
// goroutines, and its methods may be called from inside a visitor.
type Reader struct {
	source    *source
	sessions  []int64 // those that are read; nil: all
	recent    *recent // nil: all threads and processes are read
	callCache callCache

	mu     sync.Mutex // guards what follows
	idle   []*sqlite.Conn
	all    int
	closed bool
	names  map[int64]store.ThreadInfo // rows of thread seen so far
	stacks map[int64]stackRow         // rows of stack seen so far
}

type stackRow struct {
	hash  uint64
	addrs []uint64 // loaded on demand, innermost first
	known bool     // addrs is loaded
}

var _ store.Recording = (*Reader)(nil)

// OpenReader opens a recording for reading. It changes nothing: no file is created, migrated or
// recovered. The file may be in use by a writer, left behind by a killed one, or on a read-only
// file system.
//
// Open also reads recordings of earlier versions.
func OpenReader(path string) (*Reader, error) {
	s, err := openSource(path)
	if err != nil {
		return nil, err
	}
	return newTables(s, nil)
}

// OpenReaderWithin is OpenReader for a program that has other things to do, such as one that records, and asks for
// short windows: rows are read as long as Go's part of the program is not larger than it is now by so many bytes,
// and of threads and processes only those that matter in the window (recent.go). It is for one goroutine.
func OpenReaderWithin(path string, bytes uint64) (*Reader, error) {
	r, err := OpenReader(path)
	if err == nil {
		r.source.most, r.recent = memory()+bytes, &recent{}
	}
	return r, err
}

// newReader takes over a source whose content must pass check.
func newReader(s *source, check func(*sqlite.Conn) error) (*Reader, error) {
	r := &Reader{source: s, names: make(map[int64]store.ThreadInfo), stacks: make(map[int64]stackRow)}
	c, err := s.connect()
	if err != nil {
		s.close()
		return nil, err
	}
	if err := check(c); err != nil {
		c.Close() // the error that matters is err
		s.close()
		return nil, err
	}
	r.idle, r.all = append(r.idle, c), 1
	return r, nil
}

var errReaderClosed = errors.New("read from a closed recording")

// take borrows a connection that stops when ctx ends, until put.
func (r *Reader) take(ctx context.Context) (*sqlite.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, errReaderClosed
	}
	var c *sqlite.Conn
	if n := len(r.idle); n > 0 {
		c, r.idle = r.idle[n-1], r.idle[:n-1]
	} else {
		var err error
		if c, err = r.source.connect(); err != nil {
			return nil, err
		}
		r.all++
	}
	if ctx.Done() != nil {
		c.SetInterrupt(ctx.Done())
	}
	return c, nil
}

func (r *Reader) put(c *sqlite.Conn) {
	c.SetInterrupt(nil)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		r.discard(c)
		return
	}
	r.idle = append(r.idle, c)
}

// discard closes a connection; the last one ends the source.
func (r *Reader) discard(c *sqlite.Conn) {
	c.Close() // nothing was written
	if r.all--; r.all == 0 {
		r.source.close()
	}
}

// Close implements store.Reader. It is safe to call twice. Reads in progress end first.
func (r *Reader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	r.closed = true
	for _, c := range r.idle {
		r.discard(c)
	}
	r.idle = nil
	return nil
}

// errStop ends a query early without an error.
var errStop = errors.New("stop")

// rows runs a cached query and calls f for each row; f may return errStop.
func (r *Reader) rows(ctx context.Context, query string, args []int64, f func(*sqlite.Stmt) error) error {
	b, within := r.source.begin(ctx)
	defer b.end()
	c, err := r.take(within)
	if err != nil {
		return cmp.Or(ctx.Err(), err)
	}
	defer r.put(c)
	err = each(c, query, args, func(s *sqlite.Stmt) error {
		if err := b.row(); err != nil {
			return err
		}
		defer b.used()
		return f(s)
	})
	switch {
	case err == nil || errors.Is(err, errStop):
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case b.late.Load():
		return fmt.Errorf("%s: %w: no row in %s", r.source.path, store.ErrTooLong, longestStep)
	case b.err != nil:
		return b.err
	case strings.HasPrefix(err.Error(), r.source.path+": "):
		return err // of a read within this one
	}
	return r.source.explain(err)
}

func each(c *sqlite.Conn, query string, args []int64, f func(*sqlite.Stmt) error) (err error) {
	s, err := c.Prepare(query)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Reset()) }()
	for i, a := range args {
		s.BindInt64(i+1, a)
	}
	for {
		more, err := s.Step()
		if err != nil || !more {
			return err
		}
		if err := f(s); err != nil {
			return err
		}
	}
}

// has reports whether the recording has a table. Those of an older schema lack some, whose data was
// not recorded.
func (r *Reader) has(ctx context.Context, table string) (found bool, err error) {
	err = r.rows(ctx, "select 1 from sqlite_schema where type = 'table' and name = '"+table+"'", nil,
		func(*sqlite.Stmt) error {
			found = true
			return nil
		})
	return found, err
}

// optional is rows for a table that recordings of older schemas lack: there it has no rows.
func (r *Reader) optional(ctx context.Context, table, query string, args []int64, f func(*sqlite.Stmt) error) error {
	there := false
	err := r.rows(ctx, "select 1 from sqlite_schema where type = 'table' and name = '"+table+"'", nil,
		func(*sqlite.Stmt) error {
			there = true
			return nil
		})
	if err != nil || !there {
		return err
	}
	return r.rows(ctx, query, args, f)
}

// hasColumn reports whether a table of the recording has a column.
func (r *Reader) hasColumn(ctx context.Context, table, column string) (found bool, err error) {
	query := fmt.Sprintf("select 1 from pragma_table_info('%s') where name = '%s'", table, column)
	err = r.rows(ctx, query, nil, func(*sqlite.Stmt) error {
		found = true
		return nil
	})
	return found, err
}

// bounds are the inclusive keys of a window.
func bounds(w store.Window) []int64 {
	to := int64(math.MaxInt64)
	if w.To != 0 && w.To <= math.MaxInt64 {
		to = int64(w.To) - 1
	}
	return []int64{int64(min(w.From, math.MaxInt64)), to}
}

// seconds are the inclusive keys of the roll-ups whose second overlaps a window.
func seconds(w store.Window) []int64 {
	b := bounds(w)
	const last = math.MaxInt64 >> 20
	return []int64{b[0] / second << 20, min(b[1]/second, last)<<20 | (1<<20 - 1)}
}

// thread resolves a row of the thread table.
func (r *Reader) thread(ctx context.Context, id int64) (store.ThreadInfo, error) {
	r.mu.Lock()
	t, ok := r.names[id]
	r.mu.Unlock()
	if ok || id == 0 {
		return t, nil
	}
	if r.recent != nil {
		one, err := r.oneThread(ctx, id)
		if err == nil {
			r.askedFor(&one)
		}
		return one.ThreadInfo, err
	}
	err := r.loadThreads(ctx, store.Window{}, nil)
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.names[id], err
}

// loadThreads reads the thread table, which is small, in order; of a Reader for short windows what matters in one.
func (r *Reader) loadThreads(ctx context.Context, w store.Window, visit func(t *threadOfID)) error {
	if r.recent != nil {
		list, err := r.recentThreads(ctx, w)
		for i := range list {
			visit(&list[i])
		}
		return err
	}
	return r.rows(ctx, threadColumns+" order by id", nil, func(s *sqlite.Stmt) error {
		t := threadRowOf(s)
		r.mu.Lock()
		r.names[t.id] = t.ThreadInfo
		r.mu.Unlock()
		if visit != nil {
			visit(&t)
		}
		return nil
	})
}

// stackHash resolves a row of the stack table.
func (r *Reader) stackHash(ctx context.Context, id int64) (uint64, error) {
	if id == 0 {
		return 0, nil
	}
	r.mu.Lock()
	k, ok := r.stacks[id]
	r.mu.Unlock()
	if ok {
		return k.hash, nil
	}
	err := r.rows(ctx, "select hash from stack where id = ?", []int64{id}, func(s *sqlite.Stmt) error {
		k.hash = uint64(s.ColumnInt64(0))
		return nil
	})
	if err != nil {
		return 0, err
	}
	r.mu.Lock()
	r.stacks[id] = k
	r.mu.Unlock()
	return k.hash, nil
}

// stackAddrs returns the addresses of a stack, innermost first.
func (r *Reader) stackAddrs(ctx context.Context, id int64) ([]uint64, error) {
	hash, err := r.stackHash(ctx, id)
	if err != nil || id == 0 {
		return nil, err
	}
	r.mu.Lock()
	k := r.stacks[id]
	r.mu.Unlock()
	if k.known {
		return k.addrs, nil
	}
	k = stackRow{hash: hash, known: true}
	err = r.rows(ctx, "select f.addr from stack_entry e join frame f on f.id = e.frame where e.stack = ? order by e.depth",
		[]int64{id}, func(s *sqlite.Stmt) error {
			k.addrs = append(k.addrs, uint64(s.ColumnInt64(0)))
			return nil
		})
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	r.stacks[id] = k
	r.mu.Unlock()
	return k.addrs, nil
}

// Stack implements store.Reader.
func (r *Reader) Stack(ctx context.Context, id uint64) (event.Stack, error) {
	stack := event.Stack{ID: id}
	found := false
	more := "null, 0" // recordings before schema 5
	if ok, err := r.has(ctx, "frame_build"); err != nil {
		return stack, err
	} else if ok {
		more = "(select build_id from frame_build where frame = f.id), exists (select 1 from stack_cut where stack = k.id)"
	}
	err := r.rows(ctx, "select k.pid, f.kind, f.addr, f.symbol, f.file, f.line, f.module, f.offset, "+more+`
		from stack k left join stack_entry e on e.stack = k.id left join frame f on f.id = e.frame
		where k.hash = ? order by e.depth`, []int64{int64(id)}, func(s *sqlite.Stmt) error {
		found = true
		stack.PID, stack.Cut = uint32(s.ColumnInt64(0)), s.ColumnBool(9)
		if s.ColumnIsNull(1) {
			return nil
		}
		stack.Frames = append(stack.Frames, event.Frame{
			Kind: event.StackKind(s.ColumnInt64(1)), Addr: uint64(s.ColumnInt64(2)),
			Symbol: s.ColumnText(3), File: s.ColumnText(4), Line: uint32(s.ColumnInt64(5)),
			Module: s.ColumnText(6), Offset: uint64(s.ColumnInt64(7)), BuildID: s.ColumnText(8),
		})
		return nil
	})
	if err == nil && !found {
		err = fmt.Errorf("%s: stack %d: %w", r.source.path, int64(id), ErrNoStack)
	}
	return stack, err
}

// ErrNoStack is returned for a stack id that the recording does not hold.
var ErrNoStack = errors.New("no such stack")
