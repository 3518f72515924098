package sqlite

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// OpenWriter starts a session in the file at path. The file is created if it does not exist, and
// migrated if an older Ingero of this schema wrote it.
func OpenWriter(path string, o Options) (*Writer, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Seed == 0 {
		o.Seed = rand.Uint64()
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, o.mode())
	if err == nil {
		// A file that did not exist has no locks.
		err = f.Close()
	} else if os.IsExist(err) {
		err = nil
	}
	if err != nil {
		return nil, openError(path, err)
	}
	file, err := acquire(path)
	if err != nil {
		return nil, err
	}
	w, err := openWriter(path, file, o)
	if err != nil {
		file.release()
		return nil, err
	}
	return w, nil
}

func openWriter(path string, file *inode, o Options) (*Writer, error) {
	if err := file.lockForWriting(path); err != nil {
		return nil, err
	}
	w := &Writer{path: path, file: file, opt: o, thin: newThinner(o.RawRate), rng: *rand.NewPCG(o.Seed, 1)}
	err := w.open()
	if err != nil {
		if w.conn != nil {
			w.conn.Close() // the error that matters is err
		}
		file.unlock()
		return nil, err
	}
	return w, nil
}

// pragmas of the writing connection; DESIGN.md says why.
var pragmas = []string{
	"pragma auto_vacuum = incremental",
	"pragma journal_mode = wal",
	"pragma synchronous = normal",
	"pragma journal_size_limit = 67108864",
	"pragma temp_store = memory",
}

func (w *Writer) open() (err error) {
	w.conn, err = sqlite.OpenConn(w.path, sqlite.OpenReadWrite)
	if err != nil {
		return wrap(w.path, err)
	}
	w.conn.SetBusyTimeout(busyTimeout)
	if err := checkOurs(w.conn, w.path, true); err != nil {
		return err
	}
	for _, p := range pragmas {
		if err := exec(w.conn, p); err != nil {
			return wrap(w.path, fmt.Errorf("%s: %w", p, err))
		}
	}
	for _, step := range []func() error{
		func() error { return migrate(w.conn, migrations()) },
		func() error { return describe(w.conn) },
		func() error { return w.ins.prepare(w.conn) },
		w.prepareKinds,
		w.load,
		w.startSession,
	} {
		if err := step(); err != nil {
			return wrap(w.path, err)
		}
	}
	return nil
}

// load continues the dictionaries of an existing file.
func (w *Writer) load() error {
	w.threads = newThreads(0)
	w.args = newDictionary[[event.NumArgs]uint64](0)
	w.cgroups = newDictionary[string](0)
	w.stacks = newDictionary[uint64](0)
	w.frames = newDictionary[event.Frame](0)
	w.framed = make(map[int64]bool)
	w.procs = make(map[uint32]*processRow)
	w.series = make(map[uint64]*series)
	w.sums = make(map[sumKey]*callSum)
	w.gapSums = make(map[gapKey]*gapSum)
	w.siteSums = make(map[siteKey]*siteSum)
	w.borders = make(map[uint32]borders)
	w.rowIDs = make(map[uint64]int64)
	w.losses = make(map[lossKey]*lossRow)
	for table, last := range map[string]*int64{
		"thread": &w.threads.last, "args": &w.args.last, "frame": &w.frames.last, "session": &w.session.id,
	} {
		n, err := queryInt(w.conn, "select max(id) from "+table)
		if err != nil {
			return err
		}
		*last = n
	}
	newest, err := queryInt(w.conn, "select max(ts) from call")
	if err != nil {
		return err
	}
	w.epochs = []argsEpoch{{w.args.last + 1, uint64(newest)}}
	w.pageSize, err = queryInt(w.conn, "pragma page_size")
	if err != nil {
		return err
	}
	err = loadIDs(w.conn, &w.cgroups, "select id, path from cgroup",
		func(s *sqlite.Stmt) string { return s.ColumnText(1) })
	if err != nil {
		return err
	}
	return loadIDs(w.conn, &w.stacks, "select id, hash from stack",
		func(s *sqlite.Stmt) uint64 { return uint64(s.ColumnInt64(1)) })
}

func (w *Writer) startSession() error {
	s := &w.opt.Session
	if s.Started == 0 {
		s.Started = uint64(w.opt.Now().UnixNano())
	}
	if s.Arch == "" {
		s.Arch = runtime.GOARCH
	}
	w.session.id++
	w.flushed = s.Started
	for i, cpus := range s.Nodes {
		if err := exec(w.conn, "insert into memory_node values (?, ?, ?)", w.session.id, i, cpus); err != nil {
			return err
		}
	}
	return exec(w.conn,
		`insert into session (id, node, host, kernel, arch, cpus, memory, version, backend, flags, tracer, started_ns, boot)
		values (`+values(13)+`)`, w.session.id, s.Node, s.Host, s.Kernel, s.Arch, s.CPUs, int64(s.Memory),
		s.Version, s.Backend, s.Flags, int64(s.PID), int64(s.Started), s.Boot)
}

// checkOurs refuses files that are not recordings of a schema known to this program. A file without
// tables may be filled if that is allowed.
func checkOurs(c *sqlite.Conn, path string, allowEmpty bool) error {
	tables, err := queryInt(c, "select count(*) from sqlite_schema")
	if err != nil {
		return wrap(path, err)
	}
	id, err := pragmaInt(c, "application_id")
	if err != nil {
		return wrap(path, err)
	}
	version, err := pragmaInt(c, "user_version")
	if err != nil {
		return wrap(path, err)
	}
	switch {
	case tables == 0 && allowEmpty:
		return nil
	case tables == 0:
		return fmt.Errorf("%s: %w: it has no tables; record one with ingero trace --db %s", path, store.ErrForeign, path)
	case id != applicationID:
		return foreign(c, path)
	case version < 1:
		return fmt.Errorf("%s: %w: it has schema %d, and the first one is 1", path, store.ErrForeign, version)
	case version > schemaVersion:
		return fmt.Errorf("%s: %w: it has schema %d, this one reads up to %d; update Ingero", path, store.ErrNewer, version,
			schemaVersion)
	}
	return checkSchema(c, path, allowEmpty)
}

// foreign is the error for a database that is not a recording.
func foreign(c *sqlite.Conn, path string) error {
	n, err := queryInt(c, "select count(*) from sqlite_schema where type = 'table' and name in ('events', 'schema_info')")
	if err != nil {
		return wrap(path, err)
	}
	if n == 2 {
		return fmt.Errorf("%s: %w of this version but of Ingero 0.x; read it with ingero explain or ingero query, or "+
			"record to another file", path, store.ErrForeign)
	}
	return fmt.Errorf("%s: %w but another SQLite file; pass the path of a recording", path, store.ErrForeign)
}
