package sqlite

import (
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/ingero-io/ingero/event"
)

// dictionary gives values small ids. New values stay listed as fresh until the
// transaction that wrote them is committed, so that a rolled-back one loses no
// row that later rows refer to.
type dictionary[K comparable] struct {
	ids   map[K]int64
	last  int64 // highest id in use
	fresh []entry[K]
}

type entry[K comparable] struct {
	id  int64
	key K
}

func newDictionary[K comparable](last int64) dictionary[K] {
	return dictionary[K]{ids: make(map[K]int64), last: last}
}

func (d *dictionary[K]) id(k K) int64 {
	if id, ok := d.ids[k]; ok {
		return id
	}
	d.last++
	d.ids[k] = d.last
	d.fresh = append(d.fresh, entry[K]{d.last, k})
	return d.last
}

// forget drops the values but keeps counting ids.
func (d *dictionary[K]) forget() { clear(d.ids) }

// thread is a row of the thread table. A thread that changes its name gets
// another row.
type thread struct {
	id int64
	event.Thread
	comm     string
	dispatch bool
	ended    uint64 // Unix ns, 0 if it is not known to have ended
	used     uint64 // the commit before which it was last used
	fresh    bool   // listed in threads.fresh
}

// threads is the dictionary of threads of this session.
type threads struct {
	latest map[event.Thread]*thread
	named  map[event.Thread]map[string]*thread // all rows of a thread
	last   int64
	fresh  []*thread
	over   []*thread // those that ended and may still be in records, in the order of their ends

	commits uint64
	trimAt  int // number of threads from which those that are not used are forgotten
}

// The ends of threads that are not traced are not reported. From keptThreads on, those that were in no record for
// unusedCommits, about a minute, are forgotten. One that is in a record again gets another row, which says the same.
const (
	keptThreads   = 8192
	unusedCommits = 60
)

// committed forgets threads that are not used any more. fresh ones are on disk.
func (d *threads) committed() {
	for _, t := range d.fresh {
		t.fresh = false
	}
	d.fresh = d.fresh[:0]
	if d.commits++; len(d.latest) < max(d.trimAt, keptThreads) {
		return
	}
	for id, t := range d.latest {
		if !t.dispatch && t.used+unusedCommits < d.commits {
			d.forget(id)
		}
	}
	d.trimAt = 2 * len(d.latest)
}

// lateTime is for how long after the end of a thread records of it are written, ns: ends are read before calls, and
// what others say of it comes when their own waits end.
const lateTime = 10_000_000_000

func newThreads(last int64) threads {
	return threads{
		latest: make(map[event.Thread]*thread), named: make(map[event.Thread]map[string]*thread), last: last,
	}
}

// get finds a thread by its ids and, unless it is empty, its name.
func (d *threads) get(id event.Thread, comm string) *thread {
	t := d.latest[id]
	switch {
	case t == nil:
		t = d.add(id, comm)
	case comm == "" || comm == t.comm:
		t.used = d.commits
		return t
	case t.comm == "":
		t.comm = comm
		d.touch(t)
	case d.named[id][comm] != nil:
		t = d.named[id][comm]
	default:
		if t.ended != 0 { // another one has the ids by now, whose start nobody reported
			d.forget(id)
		}
		t = d.add(id, comm)
	}
	d.latest[id], t.used = t, d.commits
	if t.comm != "" {
		if d.named[id] == nil {
			d.named[id] = make(map[string]*thread)
		}
		d.named[id][t.comm] = t
	}
	return t
}

func (d *threads) add(id event.Thread, comm string) *thread {
	d.last++
	t := &thread{id: d.last, Thread: id, comm: comm}
	d.touch(t)
	return t
}

// touch makes the next transaction write the row again.
func (d *threads) touch(t *thread) {
	if !t.fresh {
		t.fresh = true
		d.fresh = append(d.fresh, t)
	}
}

// end ends a thread. Records of it may still come; the next thread with its ids gets rows of its own.
func (d *threads) end(id event.Thread, at uint64) {
	for len(d.over) > 0 && d.over[0].ended+lateTime < at {
		if o := d.over[0]; d.latest[o.Thread] == o {
			d.forget(o.Thread)
		}
		d.over = d.over[1:]
	}
	t := d.latest[id]
	if t == nil || t.ended != 0 {
		return
	}
	t.ended = at
	d.touch(t)
	for _, t := range d.named[id] {
		t.ended = at
		d.touch(t)
	}
	d.over = append(d.over, t)
}

// of returns the threads of a process that have not ended.
func (d *threads) of(pid uint32) (ids []event.Thread) {
	for id, t := range d.latest {
		if id.PID == pid && t.ended == 0 {
			ids = append(ids, id)
		}
	}
	return ids
}

// begin says that a thread begins. Its ids may have been those of one that has ended.
func (d *threads) begin(id event.Thread) {
	if t := d.latest[id]; t != nil && t.ended != 0 {
		d.forget(id)
	}
}

func (d *threads) forget(id event.Thread) {
	delete(d.latest, id)
	delete(d.named, id)
}

// loadIDs fills a dictionary from an existing file.
func loadIDs[K comparable](c *sqlite.Conn, d *dictionary[K], query string, key func(*sqlite.Stmt) K) error {
	return sqlitex.ExecuteTransient(c, query, &sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
		d.ids[key(s)] = s.ColumnInt64(0)
		d.last = max(d.last, s.ColumnInt64(0))
		return nil
	}})
}
