package sqlite

import (
	"context"
	"strings"

	"zombiezen.com/go/sqlite"

	"github.com/ingero-io/ingero/store"
)

// kinds are the kinds of records that come at low rates, in the order in which those of a batch are
// inserted. Calls come at high rates and are handled in calls.go.
var kinds = []recordKind{
	gapKind,
	offCPUKind,
	threadTimeKind,
	lifeKind,
	throttleKind,
	limitKind,
	schedulingKind,
	settingKind,
	libraryKind,
	kernelKind,
	reclaimKind,
	stallKind,
	snapshotKind,
	gpuKind,
	gpuClockKind,
	gpuDeviceKind,
	gpuProcessKind,
	xidKind,
	collectiveKind,
	inFlightKind,
	requestKind,
	requestSumKind,
	connectionKind,
	hostMemoryKind,
	pageKind,
	deviceKind,
	fileKind,
	memoryKind,
	memorySiteKind,
	markKind,
	labelKind,
	rankEventKind,
	rankStepKind,
	pauseKind,
	codeSampleKind,
}

// kind is all that the store knows of a kind of record: its tables, and how its rows are written
// and read. Its tables are created by a migration.
type kind[T any] struct {
	tables []table                  // the first one has the rows
	rows   func(*store.Tables) *[]T // where they are; nil: the Writer makes them itself

	// hold adds a row to those that are held until they are committed, so that it survives a transaction
	// that fails, and a full disk: for rows that come only when something begins, ends or changes, as
	// readers need each of them. Nil: rows are not held.
	hold func(held []T, v *T) []T

	// A Writer prepares the statements once. insert gets them in this order; it may execute
	// others of its own.
	statements []string
	insert     func(w *Writer, s []*boundStmt, v *T) error

	view string // the statement that makes a view of the rows for SQL; empty: views.sql has it

	// How rows are read, one by one by query and scan, or all by list. Kinds without either are for SQL only, or have
	// visitors.
	query string // with the bounds of the window, if rows have a time
	scan  func(ctx context.Context, r *Reader, s *sqlite.Stmt) (T, error)
	list  func(*Reader, context.Context, store.Window) ([]T, error)
	// ofProcesses says that rows have no time, but the session and the process (0: the machine): a Reader for short
	// windows reads those of few processes.
	ofProcesses bool
	alone       bool // they are not read with all of store.Tables: a diagnosis needs none
}

// table is a table of a kind.
type table struct {
	name    string
	initial bool // recordings of every schema have it
	machine bool // its rows are about the machine and no process
	unsaid  bool // its rows may lack the session; so may rows about the machine

	// prune is the time of a row in SQL, used to delete the oldest rows when a recording is too
	// large. Empty: rows are kept.
	prune string

	// parent is the table whose rows those of this one belong to, and key its column that has
	// the other's key; empty if there is none.
	parent, key string

	// refs are the columns that refer to rows of another table (empty: to none), where the
	// column's name does not say so: see target.
	refs map[string]string
}

// recordKind is a kind, whatever its rows are.
type recordKind interface {
	in() []table
	sql() string // of its view
	count(b *store.Batch) int
	initial() bool // recordings of every schema have its table
	filler[*Reader]
	// prepare returns what writes rows of this kind.
	prepare(w *Writer) (rowWriter, error)
}

func (k *kind[T]) in() []table { return k.tables }

func (k *kind[T]) sql() string { return k.view }

func (k *kind[T]) initial() bool { return k.tables[0].initial }

func (k *kind[T]) count(b *store.Batch) int { return len(k.of(b)) }

// of are the rows of a batch.
func (k *kind[T]) of(b *store.Batch) []T {
	if k.rows == nil {
		return nil
	}
	return *k.rows(&b.Tables)
}

func (k *kind[T]) prepare(w *Writer) (rowWriter, error) {
	kw := &kindWriter[T]{w: w, kind: k}
	for _, query := range k.statements {
		b, err := newBinder(w.conn, query)
		if err != nil {
			return nil, err
		}
		kw.statements = append(kw.statements, b)
	}
	return kw, nil
}

func (k *kind[T]) fill(ctx context.Context, r *Reader, w store.Window, list any) (bool, error) {
	of := listOf[*Reader, T]{rows: k.rows, list: k.list}
	if k.alone {
		of.rows = nil
	}
	if k.query != "" {
		of.list = k.read
	}
	return of.fill(ctx, r, w, list)
}

// read returns the rows that the query finds in the window.
func (k *kind[T]) read(r *Reader, ctx context.Context, w store.Window) ([]T, error) {
	var args []int64
	if strings.Contains(k.query, "?") {
		args = bounds(w)
	}
	var out []T
	scan := func(s *sqlite.Stmt) error {
		v, err := k.scan(ctx, r, s)
		out = append(out, v)
		return err
	}
	if t := &k.tables[0]; !t.initial {
		if ok, err := r.has(ctx, t.name); err != nil || !ok {
			return nil, err
		}
	}
	if r.recent == nil || !k.ofProcesses {
		err := r.rows(ctx, k.query, args, scan)
		return out, err
	}
	pids, err := r.recentProcesses(ctx, w)
	if err != nil {
		return nil, err
	}
	where := " where session = (select max(id) from session) and pid" + someIDs + " order by"
	err = r.rowsOf(ctx, pids, strings.Replace(k.query, " order by", where, 1), scan)
	return out, err
}

// number is a column's number as the unsigned one that was stored.
func number(s *sqlite.Stmt, column int) uint64 { return uint64(s.ColumnInt64(column)) }

// prepareKinds prepares the statements of all kinds.
func (w *Writer) prepareKinds() error {
	for _, k := range kinds {
		rows, err := k.prepare(w)
		if err != nil {
			return err
		}
		w.kinds = append(w.kinds, rows)
	}
	return nil
}

// insertKinds inserts what comes at low rates.
func (w *Writer) insertKinds(b *store.Batch) error {
	for i, k := range w.kinds {
		if err := k.insert(b); err != nil {
			for _, k := range w.kinds[i+1:] {
				w.txRows += k.skip(b)
			}
			return err
		}
	}
	return nil
}

// hasKinds reports whether there is any such record in a batch.
func hasKinds(b *store.Batch) bool {
	for _, k := range kinds {
		if k.count(b) > 0 {
			return true
		}
	}
	return false
}

// kindTables calls f for each table of each kind.
func kindTables(f func(*table)) {
	for _, k := range kinds {
		for i := range k.in() {
			f(&k.in()[i])
		}
	}
}

// kindViews is the script that makes the views of kinds that have one.
func kindViews() string {
	var views []string
	for _, k := range kinds {
		if v := k.sql(); v != "" {
			views = append(views, v)
		}
	}
	return strings.Join(views, "\n\n")
}
