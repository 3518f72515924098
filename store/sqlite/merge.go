package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/ingero-io/ingero/store"
)

// MergeInput is a recording to be merged.
type MergeInput struct {
	Path string
	Node string // node name, if not the recorded one
}

// MergeOptions are options of a merge; the zero value has the defaults.
type MergeOptions struct {
	Overwrite bool // replace an existing output
	// Progress, if not nil, is called with the input being read and the number of bytes read so
	// far of all inputs. It is called from the goroutine of Merge.
	Progress func(input string, done, total int64)
}

// MergeResult is what was merged.
type MergeResult struct {
	Sessions int
	Nodes    []string // without duplicates, in order of the inputs
	Calls    int64    // exact, thinned ones included
	Moved    int64    // events moved to one of the next nanoseconds, as another recording has an event in theirs
	Skipped  int64    // rows that another recording of the same machine has, too
}

// ErrMerge is for recordings that can be read but not merged.
var ErrMerge = errors.New("cannot merge")

// Merge writes the recordings of several machines, or of several tracers of one, into a new
// recording. The inputs are not changed. The output appears only when it is complete: on an error,
// or when ctx ends, there is none.
func Merge(ctx context.Context, output string, inputs []MergeInput, o MergeOptions) (r MergeResult, err error) {
	if err := checkOutput(output, inputs, o.Overwrite); err != nil {
		return r, err
	}
	temp, err := os.MkdirTemp(filepath.Dir(output), ".ingero-merge-")
	if err != nil {
		return r, fmt.Errorf("merge into %s: %w", output, err)
	}
	defer os.RemoveAll(temp) // the result was moved out of it before
	m := &merger{ctx: ctx, options: o, output: output, temp: temp, file: filepath.Join(temp, "merged.db")}
	defer m.close()
	for _, in := range inputs {
		if err := m.add(in); err != nil {
			return r, err
		}
	}
	write, err := m.way()
	if err != nil {
		return r, err
	}
	if err := write(); err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return r, err
	}
	return m.result, m.publish()
}

// way chooses the format of the merged recording: the current one, or that of Ingero 0.8 and 0.9 if
// the inputs have it. They cannot be mixed.
func (m *merger) way() (func() error, error) {
	legacy := slices.IndexFunc(m.inputs, func(in *mergeInput) bool { return in.legacy != nil })
	today := slices.IndexFunc(m.inputs, func(in *mergeInput) bool { return in.legacy == nil })
	switch {
	case legacy < 0:
		return m.write, m.plan()
	case today < 0:
		return m.mergeLegacy, nil
	}
	old := m.inputs[legacy].path
	return nil,
		fmt.Errorf("%w: %s is of Ingero 0.x and %s is not: events of 0.x have no exact statistics and no ledgers, "+
			"which a recording of today is made of; merge those of 0.x by themselves, or explain each on its own: ingero "+
			"explain %s",
			ErrMerge, old, m.inputs[today].path, old)
}

// checkOutput refuses what can be refused before any work.
func checkOutput(output string, inputs []MergeInput, overwrite bool) error {
	if len(inputs) < 2 {
		return fmt.Errorf("%w: there is one recording only; pass two or more", ErrMerge)
	}
	var seen []os.FileInfo
	for _, in := range inputs {
		info, err := os.Stat(in.Path)
		if err != nil {
			return openError(in.Path, err)
		}
		if i := slices.IndexFunc(seen, func(s os.FileInfo) bool { return os.SameFile(s, info) }); i >= 0 {
			return fmt.Errorf("%w: %s and %s are the same file; pass each recording once", ErrMerge, inputs[i].Path, in.Path)
		}
		seen = append(seen, info)
	}
	info, err := os.Stat(output)
	switch {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return openError(output, err)
	case slices.ContainsFunc(seen, func(s os.FileInfo) bool { return os.SameFile(s, info) }):
		return fmt.Errorf("%w: %s is to be read and written; recordings are never changed: name another output", ErrMerge,
			output)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%w: %s is not a regular file; name another output", ErrMerge, output)
	case !overwrite:
		return fmt.Errorf("%w: %s exists; remove it, or name another output, or pass --overwrite", ErrMerge, output)
	}
	return nil
}

// merger is a merge in progress.
type merger struct {
	ctx     context.Context // of Merge; it ends with it
	options MergeOptions
	output  string
	temp    string // folder beside the output
	file    string // in it, the recording being written
	inputs  []*mergeInput
	conn    *sqlite.Conn
	total   int64 // bytes of all inputs
	done    int64 // of the inputs that are merged
	result  MergeResult
}

func (m *merger) close() {
	if m.conn != nil {
		m.conn.Close() // its error was reported by publish, or the file is deleted
		m.conn = nil
	}
	for _, in := range m.inputs {
		in.source.close()
	}
}

// publish gives the complete file its name.
func (m *merger) publish() error {
	conn := m.conn
	m.conn = nil
	if err := conn.Close(); err != nil {
		return wrap(m.output, err)
	}
	if err := syncFile(m.file); err != nil {
		return fmt.Errorf("write %s: %w", m.output, err)
	}
	if m.options.Overwrite {
		if old, err := os.Stat(m.output); err == nil { // who could read it still can
			if err := os.Chmod(m.file, old.Mode().Perm()); err != nil {
				return fmt.Errorf("write %s: %w", m.output, err)
			}
		}
		if err := os.Rename(m.file, m.output); err != nil {
			return fmt.Errorf("write %s: %w", m.output, err)
		}
		return nil
	}
	// A link, unlike a rename, does not replace a file created meanwhile.
	err := os.Link(m.file, m.output)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%w: %s has come into being meanwhile; name another output", ErrMerge, m.output)
	}
	if err != nil { // a file system without links
		err = os.Rename(m.file, m.output)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", m.output, err)
	}
	return nil
}

func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// mergePragmas are for a file that is deleted on any error.
var mergePragmas = []string{
	"pragma main.auto_vacuum = incremental",
	"pragma main.journal_mode = off",
	"pragma main.synchronous = off",
	"pragma main.locking_mode = exclusive",
	"pragma main.cache_size = -65536",
}

// create opens the file that the merged recording is written to.
func (m *merger) create() (err error) {
	f, err := os.OpenFile(m.file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, private)
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		return openError(m.output, err)
	}
	if m.conn, err = sqlite.OpenConn(m.file, sqlite.OpenReadWrite|sqlite.OpenURI); err != nil {
		return wrap(m.output, err)
	}
	m.conn.SetInterrupt(m.ctx.Done())
	for _, p := range mergePragmas {
		if err := exec(m.conn, p); err != nil {
			return wrap(m.output, fmt.Errorf("%s: %w", p, err))
		}
	}
	return nil
}

// write makes the merged recording.
func (m *merger) write() error {
	if err := m.create(); err != nil {
		return err
	}
	if err := migrate(m.conn, migrations()); err != nil {
		return wrap(m.output, err)
	}
	if err := describe(m.conn); err != nil {
		return wrap(m.output, err)
	}
	if err := sqlitex.ExecuteScript(m.conn, mergeTables, nil); err != nil {
		return wrap(m.output, err)
	}
	for _, in := range m.inputs {
		m.tell(in)
		if err := m.copy(in); err != nil {
			return m.explain(in, err)
		}
		m.done += in.size
	}
	heaviest, err := queryInt(m.conn, "select max(weight) from call")
	if err == nil {
		err = exec(m.conn, growTally, heaviest)
	}
	if err != nil {
		return wrap(m.output, err)
	}
	m.result.Calls, err = queryInt(m.conn, "select total(calls) from session")
	return wrap(m.output, err)
}

func (m *merger) tell(in *mergeInput) {
	if m.options.Progress != nil {
		m.options.Progress(in.path, m.done, m.total)
	}
}

// explain says which file an error is about: only inputs can be damaged.
func (m *merger) explain(in *mergeInput, err error) error {
	if wrapped := wrap(in.path, err); errors.Is(wrapped, store.ErrCorrupt) || errors.Is(wrapped, store.ErrForeign) {
		return in.source.explain(err)
	}
	return wrap(m.output, fmt.Errorf("merge %s: %w", in.path, err))
}
