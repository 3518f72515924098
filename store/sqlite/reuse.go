package sqlite

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"zombiezen.com/go/sqlite"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// A recording may hold several processes or threads that had one id, one after the other: it may have several
// sessions, and the kernel gives ids again. This file is the only one that tells them apart. It gives each user of
// an id one of its own (event.ReusedID), by the rows of thread and process, and a Reader reads all tables through
// temporary views that have these ids. So all that is keyed by id is keyed by process or thread.

// endSlack is how far the recorded ends of one process may lie apart, ns: its threads end one by one, and two tracers
// see the end of one a little apart. The kernel gives no id again that soon: it gives all others first.
const endSlack = 1_000_000_000

// threadSlack is by how much a thread may end after its process, in recordings of versions that do not say that it
// ended with it, ns.
const threadSlack = 100_000_000

// user is a process, or a thread of one that is not its first, which had an id for a time. Its rows may be of
// several sessions.
type user struct {
	number  uint32 // the kernel's
	process *user  // itself if it is a process
	parts   []stay // by session
	last    int64  // highest row of thread, of processes and threads of equal age
	id      uint32
}

// stay is what one session has of a user.
type stay struct {
	session int // index
	ended   uint64
	born    uint64          // 0: not known
	names   map[string]bool // of a process
}

// end is when a part ended, in the order of time.
func (p *stay) end() uint64 {
	if p.ended == 0 {
		return math.MaxInt64
	}
	return p.ended
}

// threadRow is a row of thread.
type threadRow struct {
	id       int64
	session  int // index
	pid, tid uint32
	ended    uint64 // 0: not known to have ended; such a row is the last one
	born     uint64 // of its process, 0: not known
	comm     string
	user     *user
}

// reuse is who had the ids of a recording.
type reuse struct {
	source   *source
	err      error // what is wrong with the recording
	sessions []sessionTime
	ids      []int64 // of sessions
	index    map[int64]int
	threads  []threadRow
	users    map[uint32][]*user // by number

	// What is read later may be of users that came since: of a higher row of thread or process, or, as a process's row is
	// that of the last one with the id, of one that began at another time.
	lastThread, lastProcess int64
	births                  map[sessionPID]uint64
}

// sessionTime is the time of a session, Unix ns.
type sessionTime struct{ from, to uint64 }

func (s sessionTime) overlaps(o sessionTime) bool { return s.from < o.to && o.from < s.to }

// maxUsers is how many users an id may have. The kernel gives all other ids before it gives one again, so that there
// are no more than a few, even in months; a stranger's recording may claim any number.
const maxUsers = 10_000

// add adds a user of an id.
func (r *reuse) add(id uint32, u *user) {
	if len(r.users[id]) >= maxUsers {
		r.err = fmt.Errorf("%w: more than %d processes and threads had the id %d", store.ErrCorrupt, maxUsers, id)
		return
	}
	r.users[id] = append(r.users[id], u)
}

// findReuse finds the users of ids; nil if every id means the same in the whole recording.
func (s *source) findReuse(c *sqlite.Conn) (*reuse, error) {
	r := &reuse{source: s, index: map[int64]int{}, users: map[uint32][]*user{}}
	if err := exec(c, "begin"); err != nil { // all of one moment
		return nil, err
	}
	defer func() { _ = exec(c, "commit") }() // nothing was written
	for _, read := range []func(*sqlite.Conn) error{
		r.readSessions, r.readBirths, r.readThreads, r.readProcesses, r.readTracers,
	} {
		if err := cmp.Or(read(c), r.err); err != nil {
			return nil, err
		}
	}
	again := false
	for _, list := range r.users {
		again = again || r.ambiguous(list)
		slices.SortStableFunc(list, func(a, b *user) int {
			p, q := &a.parts[len(a.parts)-1], &b.parts[len(b.parts)-1]
			return cmp.Or(cmp.Compare(q.session, p.session), cmp.Compare(q.end(), p.end()), cmp.Compare(b.last, a.last))
		})
		for n, u := range list {
			u.id = event.ReusedID(u.number, uint32(n))
		}
	}
	if !again {
		return nil, nil
	}
	return r, nil
}

// ambiguous reports whether an id does not mean the same in all sessions: it had several users, or none in some.
func (r *reuse) ambiguous(list []*user) bool {
	return len(list) > 1 || len(list[0].parts) < len(r.ids)
}

func (r *reuse) readSessions(c *sqlite.Conn) error {
	const query = "select id, started_ns, max(started_ns, stopped_ns, flushed_ns, last_ns) from session order by id"
	return r.source.query(c, query, func(s *sqlite.Stmt) error {
		r.index[s.ColumnInt64(0)] = len(r.ids)
		r.ids = append(r.ids, s.ColumnInt64(0))
		r.sessions = append(r.sessions, sessionTime{number(s, 1), number(s, 2)})
		return nil
	})
}

// readThreads reads the rows of thread, and finds the users of their ids. Rows of processes come first: a thread is
// of one.
func (r *reuse) readThreads(c *sqlite.Conn) error {
	columns := []string{"id", "session", "pid", "tid", "comm"}
	for _, name := range []string{"ended", "born"} { // of later versions
		ok, err := hasColumn(c, "thread", name)
		if err != nil {
			return err
		}
		if !ok {
			name = "null"
		}
		columns = append(columns, name)
	}
	err := r.source.query(c, "select "+strings.Join(columns, ", ")+" from thread", func(s *sqlite.Stmt) error {
		r.lastThread = max(r.lastThread, s.ColumnInt64(0))
		n, ok := r.index[s.ColumnInt64(1)]
		if ok {
			r.threads = append(r.threads, threadRow{
				id: s.ColumnInt64(0), session: n, pid: uint32(s.ColumnInt64(2)), tid: uint32(s.ColumnInt64(3)),
				comm: s.ColumnText(4), ended: number(s, 5), born: number(s, 6),
			})
		}
		return nil
	})
	if err != nil {
		return err
	}
	// Not by SQLite: no row would come, and be counted, until all are sorted.
	slices.SortFunc(r.threads, func(a, b threadRow) int {
		return cmp.Or(cmp.Compare(a.session, b.session), cmp.Compare(a.ended-1, b.ended-1), cmp.Compare(a.id, b.id))
	})
	for i := range r.threads {
		if t := &r.threads[i]; t.pid == t.tid && r.err == nil {
			t.user = r.process(t.session, t.pid, stay{ended: t.ended, born: t.born}, t.comm)
			t.user.last = max(t.user.last, t.id)
		}
	}
	for i := range r.threads {
		t := &r.threads[i]
		if t.pid == t.tid || r.err != nil {
			continue
		}
		p := r.at(t.session, t.pid, t.ended, t.born)
		if p == nil {
			p = r.process(t.session, t.pid, stay{born: t.born}, "")
		}
		t.user = r.thread(p, t)
		t.user.last = max(t.user.last, t.id)
	}
	return nil
}

type sessionPID struct {
	session int // index
	pid     uint32
}

// readBirths reads when processes began, by the process that had an id last in a session.
func (r *reuse) readBirths(c *sqlite.Conn) error {
	r.births = map[sessionPID]uint64{}
	if ok, err := hasColumn(c, "process", "born"); err != nil || !ok {
		return err
	}
	const query = "select session, pid, born from process where born is not null order by id"
	return r.source.query(c, query, func(s *sqlite.Stmt) error {
		if n, ok := r.index[s.ColumnInt64(0)]; ok {
			r.births[sessionPID{n, uint32(s.ColumnInt64(1))}] = number(s, 2)
		}
		return nil
	})
}

// readProcesses adds the processes that have no row in thread.
func (r *reuse) readProcesses(c *sqlite.Conn) error {
	const query = "select session, pid, name, id from process order by session, id"
	return r.source.query(c, query, func(s *sqlite.Stmt) error {
		r.lastProcess = max(r.lastProcess, s.ColumnInt64(3))
		n, ok := r.index[s.ColumnInt64(0)]
		if pid := uint32(s.ColumnInt64(1)); ok && r.at(n, pid, 0, 0) == nil {
			r.process(n, pid, stay{}, s.ColumnText(2))
		}
		return nil
	})
}

// readTracers adds the tracers themselves.
func (r *reuse) readTracers(c *sqlite.Conn) error {
	const query = "select id, tracer from session where tracer <> 0 order by id"
	return r.source.query(c, query, func(s *sqlite.Stmt) error {
		n, pid := r.index[s.ColumnInt64(0)], uint32(s.ColumnInt64(1))
		if r.at(n, pid, 0, 0) == nil {
			r.process(n, pid, stay{}, "ingero")
		}
		return nil
	})
}

// process finds or adds the process that had an id in a session, up to the time when it ended. Processes come in the
// order of their ends, that which has not ended last.
func (r *reuse) process(session int, pid uint32, now stay, name string) *user {
	now.session, now.names = session, map[string]bool{}
	if name != "" {
		now.names[name] = true
	}
	if now.ended == 0 && now.born == 0 {
		now.born = r.births[sessionPID{session, pid}] // what is described is the last one
	}
	first := true // of this session
	list := r.users[pid]
	for _, u := range slices.Backward(list) {

		if u.process != u {
			continue
		}
		p := &u.parts[len(u.parts)-1]
		if p.session == session {
			if p.ended == now.ended && (p.born == 0 || now.born == 0 || p.born == now.born) {
				p.names[name] = p.names[name] || name != ""
				p.born = max(p.born, now.born)
				return u
			}
			first = false
			continue
		}
		if r.same(p, &now, first) {
			u.parts = append(u.parts, now)
			return u
		}
		if !r.sessions[p.session].overlaps(r.sessions[session]) {
			break // who had the id before that is gone
		}
	}
	u := &user{number: pid, parts: []stay{now}}
	u.process = u
	r.add(pid, u)
	return u
}

// same reports whether a process of an earlier session is that of a later one.
func (r *reuse) same(before, now *stay, first bool) bool {
	if before.born != 0 && now.born != 0 {
		return before.born == now.born
	}
	if r.sessions[before.session].overlaps(r.sessions[now.session]) { // two tracers saw one process
		return before.ended == 0 || now.ended == 0 || distance(before.ended, now.ended) <= endSlack
	}
	if before.ended != 0 || !first {
		return false
	}
	if len(before.names) == 0 || len(now.names) == 0 {
		return true
	}
	for n := range now.names {
		if before.names[n] {
			return true
		}
	}
	return false
}

func distance(a, b uint64) uint64 { return max(a, b) - min(a, b) }

// at returns the process that had an id in a session when one of its threads ended, 0: at the end; nil if none had.
// born is when it began, 0: not known.
func (r *reuse) at(session int, pid uint32, ended, born uint64) *user {
	var found *user
	var until uint64
	for _, u := range r.users[pid] {
		if u.process != u {
			continue
		}
		for i := range u.parts {
			p := &u.parts[i]
			if p.session != session || born != 0 && p.born != 0 && p.born != born {
				continue
			}
			if born != 0 && p.born == born || ended != 0 && p.ended == ended { // it ended with it: see threads.end
				return u
			}
			fits := ended != 0 && p.end()+threadSlack >= ended
			if found == nil || fits && p.end() < until || until+threadSlack < ended || ended == 0 && p.end() > until {
				found, until = u, p.end()
			}
		}
	}
	return found
}

// thread finds or adds a thread of a process.
func (r *reuse) thread(of *user, t *threadRow) *user {
	list := r.users[t.tid]
	for _, u := range slices.Backward(list) {

		if u.process != of || u == of {
			continue
		}
		p := &u.parts[len(u.parts)-1]
		switch {
		case p.session == t.session && p.ended == t.ended:
			return u
		case p.session != t.session && (p.ended == 0 || r.sessions[p.session].overlaps(r.sessions[t.session])):
			u.parts = append(u.parts, stay{session: t.session, ended: t.ended})
			return u
		}
	}
	u := &user{number: t.tid, process: of, parts: []stay{{session: t.session, ended: t.ended}}}
	r.add(t.tid, u)
	return u
}

// hasColumn reports whether a table has a column.
func hasColumn(c *sqlite.Conn, table, column string) (bool, error) {
	n, err := queryInt(c, fmt.Sprintf("select count(*) from pragma_table_info('%s') where name = '%s'", table, column))
	return n > 0, err
}
