package sqlite

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// mergeInput is a recording to be merged, and what is known of it before.
type mergeInput struct {
	path     string
	force    string // name of its node, empty: as recorded
	source   *source
	uri      string // of the file that is read: the input, or a copy with the current tables
	size     int64
	sessions []*mergeSession
	legacy   *layout  // table layout, for a recording of Ingero 0.8 or 0.9
	nodes    []string // nodes of such a recording, as it names them
	covered  []covered
}

// mergeSession is a session of an input.
type mergeSession struct {
	in         *mergeInput
	id         int64
	node, host string
	recorded   [2]string // recorded node and boot id, whatever the node is called now
	boot       string
	tracer     int64
	started    int64
	ended      int64
	called     map[int64]period // by process id: when it made traced calls
	threads    map[int64]threadKnown
}

// threadKnown is what a session has of a thread id.
type threadKnown struct {
	pid   int64
	calls bool // it made traced calls
	rows  int64
}

type period struct{ from, to int64 }

func (s period) meets(t period) bool { return s.from <= t.to && t.from <= s.to }

// add opens an input.
func (m *merger) add(i MergeInput) error {
	s, err := openSource(i.Path)
	if err != nil {
		return err
	}
	in := &mergeInput{path: i.Path, force: i.Node, source: s, uri: s.uri, size: max(fileSize(i.Path), 1)}
	m.inputs = append(m.inputs, in)
	m.total += in.size
	if l, err := s.legacy(); err != nil {
		return err
	} else if l != nil {
		in.legacy = l
		return in.readLegacy(m)
	}
	c, err := s.connect()
	if err != nil {
		return err
	}
	defer c.Close() // nothing was written
	c.SetInterrupt(m.ctx.Done())
	if err := checkOurs(c, i.Path, false); err != nil {
		return err
	}
	if err := m.upgrade(in, c); err != nil {
		return err
	}
	return in.readSessions(m)
}

// upgrade makes a copy of a recording of an older schema, with the current tables.
func (m *merger) upgrade(in *mergeInput, c *sqlite.Conn) error {
	version, err := pragmaInt(c, "user_version")
	if err != nil {
		return in.source.explain(err)
	}
	if version == schemaVersion {
		return nil
	}
	file := filepath.Join(m.temp, fmt.Sprintf("input-%d.db", len(m.inputs)))
	if err := exec(c, "pragma query_only = off"); err != nil { // the file stays read-only; the copy is another one
		return in.source.explain(err)
	}
	if err := exec(c, "vacuum into ?", file); err != nil {
		return m.explain(in, err)
	}
	to, err := sqlite.OpenConn(file, sqlite.OpenReadWrite)
	if err != nil {
		return wrap(m.output, err)
	}
	defer to.Close() // the error that matters is that of migrate
	in.uri = "file:" + strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(file)
	return m.explainNil(in, migrate(to, migrations()))
}

func (m *merger) explainNil(in *mergeInput, err error) error {
	if err == nil {
		return nil
	}
	return m.explain(in, err)
}

// readSessions reads the sessions of an input.
func (in *mergeInput) readSessions(m *merger) error {
	c, err := sqlite.OpenConn(in.uri, sqlite.OpenReadOnly, sqlite.OpenURI)
	if err != nil {
		return m.explain(in, err)
	}
	defer c.Close() // nothing was written
	c.SetInterrupt(m.ctx.Done())
	by := map[int64]*mergeSession{}
	err = sqlitex.ExecuteTransient(c,
		`select id, node, host, boot, tracer, started_ns, max(started_ns, stopped_ns, flushed_ns, last_ns) from session
			order by id`,
		&sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
			x := &mergeSession{
				in: in, id: s.ColumnInt64(0), node: cmp.Or(in.force, s.ColumnText(1)), host: s.ColumnText(2), boot: s.ColumnText(3),
				tracer: s.ColumnInt64(4), started: s.ColumnInt64(5), ended: s.ColumnInt64(6),
				called: map[int64]period{}, threads: map[int64]threadKnown{},
			}
			x.recorded = [2]string{s.ColumnText(1), x.boot}
			by[x.id] = x
			in.sessions = append(in.sessions, x)
			return nil
		}})
	if err != nil {
		return m.explain(in, err)
	}
	for _, s := range in.sessions {
		if s.node == "" {
			return fmt.Errorf("%w: %s does not say which machine it is of; name it: --force-node NAME=%s", ErrMerge, in.path,
				in.path)
		}
		if in.force != "" && s.recorded != in.sessions[0].recorded {
			return fmt.Errorf("%w: %s is of several machines, so that it cannot be called %s; leave out --force-node for it",
				ErrMerge, in.path, in.force)
		}
	}
	err = sqlitex.ExecuteTransient(c,
		`select t.session, t.pid, t.tid, min(r.first), max(r.last) from thread t left
			join call_second r on r.thread = t.id group by 1, 2, 3`,
		&sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
			x := by[s.ColumnInt64(0)]
			if x == nil {
				return nil
			}
			pid := s.ColumnInt64(1)
			x.threads[s.ColumnInt64(2)] = threadKnown{pid: pid, calls: !s.ColumnIsNull(3)}
			if !s.ColumnIsNull(3) {
				v, ok := x.called[pid]
				if !ok {
					v = period{s.ColumnInt64(3), s.ColumnInt64(4)}
				}
				x.called[pid] = period{min(v.from, s.ColumnInt64(3)), max(v.to, s.ColumnInt64(4))}
			}
			return nil
		}})
	return m.explainNil(in, err)
}

// machine identifies what process ids are unique on, as far as a recording says.
func (s *mergeSession) machine() [2]string { return [2]string{s.node, s.boot} }

func (s *mergeSession) period() period { return period{s.started, s.ended} }

// plan compares the sessions with each other: it refuses what would be counted twice, and finds
// what several sessions recorded of one machine at the same time.
func (m *merger) plan() error {
	var all []*mergeSession
	for _, in := range m.inputs {
		for _, s := range in.sessions {
			for _, o := range all {
				if err := clash(o, s); err != nil {
					return err
				}
			}
			if !slices.Contains(m.result.Nodes, s.node) {
				m.result.Nodes = append(m.result.Nodes, s.node)
			}
			all = append(all, s)
		}
	}
	m.result.Sessions = len(all)
	if len(all) == 0 {
		return fmt.Errorf("%w: nothing was recorded in any of them", ErrMerge)
	}
	return m.share(all)
}

// clash says why two sessions of two inputs cannot be in one recording.
func clash(a, b *mergeSession) error {
	if a.in == b.in {
		return nil
	}
	at := time.Unix(0, b.started).UTC().Format("2006-01-02 15:04:05")
	if a.host == b.host && a.started == b.started && a.tracer == b.tracer {
		return fmt.Errorf("%w: %s and %s hold the same recording, of %s since %s; "+
			"pass it once, the longer one if they differ", ErrMerge, a.in.path, b.in.path, b.node, at)
	}
	if a.machine() != b.machine() {
		return nil
	}
	for pid, t := range b.called {
		if u, ok := a.called[pid]; ok && u.meets(t) {
			why := "its calls would count twice; pass one of the recordings only"
			if a.boot == "" {
				why = fmt.Sprintf("if these are two machines, give them names: --force-node NAME=%s; else its calls would count "+
					"twice: pass one of the recordings only", b.in.path)
			}
			return fmt.Errorf("%w: %s and %s both recorded the calls of process %d on %s at the same time, %s; %s", ErrMerge,
				a.in.path, b.in.path, pid, b.node, at, why)
		}
	}
	return nil
}

// covered says that another session has better data about a thread in a period, or about the
// machine itself if the thread is 0.
type covered struct {
	session, tid int64
	period
}

// share decides, of several sessions on one machine at the same time, whose data on the machine and
// on each thread is kept: the session that traced the thread's calls, else the one with most data
// on it. Each tracer also follows threads of processes that it does not trace.
func (m *merger) share(all []*mergeSession) error {
	counted := map[*mergeInput]bool{}
	for i, a := range all {
		for _, b := range all[i+1:] {
			if a.in == b.in || a.machine() != b.machine() || !a.period().meets(b.period()) {
				continue
			}
			for _, in := range []*mergeInput{a.in, b.in} {
				if !counted[in] {
					counted[in] = true
					if err := in.countRows(m); err != nil {
						return err
					}
				}
			}
			b.in.covered = append(b.in.covered, covered{b.id, 0, a.period()})
			for tid, t := range b.threads {
				u, ok := a.threads[tid]
				switch {
				case !ok || u.pid != t.pid:
				case b.calls(t) && !a.calls(u), b.calls(t) == a.calls(u) && t.rows > u.rows:
					a.in.covered = append(a.in.covered, covered{a.id, tid, b.period()})
				default:
					b.in.covered = append(b.in.covered, covered{b.id, tid, a.period()})
				}
			}
		}
	}
	return nil
}

// calls reports whether a thread is of a process whose calls the session traced.
func (s *mergeSession) calls(t threadKnown) bool {
	_, ok := s.called[t.pid]
	return ok
}

// countRows counts an input's rows about each thread.
func (in *mergeInput) countRows(m *merger) error {
	c, err := sqlite.OpenConn(in.uri, sqlite.OpenReadOnly, sqlite.OpenURI)
	if err != nil {
		return m.explain(in, err)
	}
	defer c.Close() // nothing was written
	c.SetInterrupt(m.ctx.Done())
	for _, s := range in.sessions {
		err := sqlitex.ExecuteTransient(c,
			`select t.tid, count(*) from (select thread from interval union all select thread from thread_time) x
			join thread t on t.id = x.thread where t.session = ? group by 1`,
			&sqlitex.ExecOptions{Args: []any{s.id}, ResultFunc: func(q *sqlite.Stmt) error {
				t := s.threads[q.ColumnInt64(0)]
				t.rows = q.ColumnInt64(1)
				s.threads[q.ColumnInt64(0)] = t
				return nil
			}})
		if err != nil {
			return m.explain(in, err)
		}
	}
	return nil
}
