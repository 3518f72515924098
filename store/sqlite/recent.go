package sqlite

import (
	"context"
	"maps"
	"slices"

	"zombiezen.com/go/sqlite"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// A tracer of a machine sees hundreds of thousands of threads in an hour, and explains the last seconds again and
// again.
// A Reader for that reads few rows of threads and processes: those of what made calls in the window, those that it was
// asked for lately, and the newest. An id that was used again within seconds is that of its latest user.

// recent is what such a Reader knows; nil: it reads all rows.
type recent struct {
	window store.Window // for which rows were read last
	rows   []threadOfID
}

// threadOfID is a row of thread.
type threadOfID struct {
	id int64
	store.ThreadInfo
}

const (
	newestThreads = 1024 // rows of thread that were added last, whatever they did
	askedThreads  = 2048 // rows that are remembered as asked for
	idsAtOnce     = 64   // that one statement asks for
)

// someIDs is a list of places for ids.
var someIDs = " in (" + values(idsAtOnce) + ")"

// rowsOf executes a query with someIDs for a list of ids.
func (r *Reader) rowsOf(ctx context.Context, ids []int64, query string, f func(*sqlite.Stmt) error) error {
	args := make([]int64, idsAtOnce)
	for some := range slices.Chunk(ids, idsAtOnce) {
		for i := range args {
			args[i] = some[min(i, len(some)-1)] // the last one again: a place is not left empty
		}
		if err := r.rows(ctx, query, args, f); err != nil {
			return err
		}
	}
	return nil
}

const threadColumns = "select id, pid, tid, comm, dispatch from thread"

func threadRowOf(s *sqlite.Stmt) threadOfID {
	return threadOfID{s.ColumnInt64(0), store.ThreadInfo{
		Thread: event.Thread{PID: uint32(s.ColumnInt64(1)), TID: uint32(s.ColumnInt64(2))},
		Comm:   s.ColumnText(3), Dispatch: s.ColumnInt64(4) != 0,
	}}
}

// oneThread reads a row of thread.
func (r *Reader) oneThread(ctx context.Context, id int64) (t threadOfID, err error) {
	err = r.rows(ctx, threadColumns+" where id = ?", []int64{id}, func(s *sqlite.Stmt) error {
		t = threadRowOf(s)
		return nil
	})
	return t, err
}

// askedFor remembers a row of thread that was asked for.
func (r *Reader) askedFor(t *threadOfID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.names) >= askedThreads {
		clear(r.names)
	}
	r.names[t.id] = t.ThreadInfo
}

// recentThreads returns the rows that matter in a window, in order.
func (r *Reader) recentThreads(ctx context.Context, w store.Window) ([]threadOfID, error) {
	if r.recent.rows != nil && r.recent.window == w {
		return r.recent.rows, nil
	}
	r.mu.Lock()
	ids := map[int64]bool{}
	for id := range r.names {
		ids[id] = true
	}
	r.mu.Unlock()
	for _, table := range []string{"call_second", "gap_second"} {
		err := r.rows(ctx, "select distinct thread from "+table+" where id between ? and ?", seconds(w),
			func(s *sqlite.Stmt) error {
				ids[s.ColumnInt64(0)] = true
				return nil
			})
		if err != nil {
			return nil, err
		}
	}
	rows := []threadOfID{}
	err := r.rows(ctx, threadColumns+" where id > (select max(id) from thread) - ? order by id", []int64{newestThreads},
		func(s *sqlite.Stmt) error {
			rows = append(rows, threadRowOf(s))
			delete(ids, s.ColumnInt64(0))
			return nil
		})
	if err != nil {
		return nil, err
	}
	older := make([]threadOfID, 0, len(ids))
	err = r.rowsOf(ctx, slices.Sorted(maps.Keys(ids)), threadColumns+" where id"+someIDs+" order by id",
		func(s *sqlite.Stmt) error {
			older = append(older, threadRowOf(s))
			return nil
		})
	if err != nil {
		return nil, err
	}
	r.recent.window, r.recent.rows = w, append(older, rows...)
	return r.recent.rows, nil
}

// eachProcess executes a query of processes, as p, for those of a window: of each in the order of its rows.
func (r *Reader) eachProcess(ctx context.Context, w store.Window, query string, f func(*sqlite.Stmt) error) error {
	if r.recent == nil {
		return r.rows(ctx, query+" order by p.id", nil, f)
	}
	pids, err := r.recentProcesses(ctx, w)
	if err != nil {
		return err
	}
	return r.rowsOf(ctx, pids, query+" where p.pid"+someIDs+" order by p.id", f)
}

// recentProcesses lists the processes of recentThreads, each once, and 0, the machine.
func (r *Reader) recentProcesses(ctx context.Context, w store.Window) ([]int64, error) {
	threads, err := r.recentThreads(ctx, w)
	pids := []int64{0}
	asked := map[uint32]bool{0: true}
	for i := range threads {
		if pid := threads[i].PID; !asked[pid] {
			asked[pid] = true
			pids = append(pids, int64(pid))
		}
	}
	return pids, err
}
