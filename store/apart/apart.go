// Package apart answers SQL on recordings in processes of their own. What a statement takes of memory is taken from
// nobody else, is bounded twice, and is given back when the process ends; a statement that is no longer wanted is ended
// with its process. The process that records, or serves, is not touched by any of that. Package store/sqlite answers;
// this one only puts a process between. It is not for a command that does nothing but ask.
package apart

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"

	"github.com/ingero-io/ingero/store"
)

// Asker starts the processes. Its methods may be called by several goroutines.
type Asker struct {
	program func() *exec.Cmd // a program that calls Answer
	places  chan struct{}
}

// New makes an Asker that runs so many processes at a time. program makes the command of one, which calls Answer with
// its standard input and output.
func New(program func() *exec.Cmd, atOnce int) *Asker {
	return &Asker{program, make(chan struct{}, atOnce)}
}

const (
	// grace is how much longer than its statement a process may take: to start, and to open the recording.
	grace = 5 * time.Second
	// waitFor is how long a process that was told to end may take before it is killed: it holds nothing.
	waitFor = 100 * time.Millisecond
)

// Query runs one reading statement on the recording at path, as sqlite.Queries does. Rows must be closed.
func (a *Asker) Query(ctx context.Context, path, sql string, l store.Limits) (store.Rows, error) {
	if n := l.Statement; n > 0 && len(sql) > n {
		return nil, fmt.Errorf("%w: the statement has %d bytes, more than %d", store.ErrRefused, len(sql), n)
	}
	select {
	case a.places <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	r, err := a.start(ctx, path, sql, l)
	if err != nil {
		<-a.places
		return nil, err
	}
	r.left = func() { <-a.places }
	if err := r.open(); err != nil {
		_ = r.Close() // the error that matters is err
		return nil, err
	}
	return r, nil
}

func (a *Asker) start(ctx context.Context, path, sql string, l store.Limits) (*rows, error) {
	within, cancel := context.WithTimeout(ctx, l.Time+grace)
	base := a.program()
	cmd := exec.CommandContext(within, base.Path) //nolint:gosec // it is this program
	cmd.Args, cmd.Env = base.Args, base.Env
	cmd.WaitDelay = waitFor
	said := &tail{}
	cmd.Stderr = said
	in, err := cmd.StdinPipe()
	if err != nil {
		cancel()
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		cancel()
		return nil, fmt.Errorf("start a process that answers SQL: %w", err)
	}
	r := &rows{ctx: ctx, within: within, cancel: cancel, cmd: cmd, in: in, from: newReader(out), said: said, limits: l}
	if err := writeRequest(in, &request{Path: path, SQL: sql, Limits: l}); err != nil {
		_ = r.broken(err)
	}
	return r, nil
}

// tail keeps the beginning of what a process says before it breaks.
type tail struct{ text []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.text = append(t.text, p[:min(len(p), mostSaid-len(t.text))]...)
	return len(p), nil
}

// mostSaid is how much of that is kept, bytes.
const mostSaid = 512

// rows is the answer of a process. It implements store.Rows.
type rows struct {
	ctx       context.Context // of the caller, for the life of the rows
	within    context.Context // ends the process
	cancel    context.CancelFunc
	cmd       *exec.Cmd
	in        io.WriteCloser
	from      *reader
	said      *tail
	left      func()
	limits    store.Limits
	columns   []string
	values    []any
	batch     bool // rows of a batch are to come
	ended     bool // there are no more
	truncated bool
	err       error
	closed    bool
}

var _ store.Rows = (*rows)(nil)

// open waits for the columns.
func (r *rows) open() error {
	if r.err != nil {
		return r.err
	}
	kind, data, err := r.from.next()
	switch {
	case err != nil:
		return r.broken(err)
	case kind == frameError:
		return r.told(data)
	case kind != frameColumns:
		return r.broken(errFrame)
	}
	if err := unmarshal(data, &r.columns); err != nil {
		return r.broken(err)
	}
	r.values = make([]any, len(r.columns))
	return nil
}

// Columns implements store.Rows.
func (r *rows) Columns() []string { return r.columns }

// Next implements store.Rows. It asks for a batch of rows at a time, so that no more is computed than is read.
func (r *rows) Next() bool {
	if r.err != nil || r.ended || r.closed {
		return false
	}
	if !r.batch {
		if _, err := r.in.Write([]byte{wantMore}); err != nil {
			_ = r.broken(err)
			return false
		}
		r.batch = true
	}
	for {
		kind, data, err := r.from.next()
		switch {
		case err != nil:
			_ = r.broken(err)
			return false
		case kind == frameRow:
			if err := readRow(data, r.values); err != nil {
				_ = r.broken(err)
				return false
			}
			return true
		case kind == frameBatch:
			if _, err := r.in.Write([]byte{wantMore}); err != nil {
				_ = r.broken(err)
				return false
			}
		case kind == frameEnd:
			r.ended, r.truncated = true, len(data) > 0 && data[0] == 1
			return false
		case kind == frameError:
			_ = r.told(data)
			return false
		default:
			_ = r.broken(errFrame)
			return false
		}
	}
}

// Values implements store.Rows.
func (r *rows) Values() []any { return r.values }

// Truncated implements store.Rows.
func (r *rows) Truncated() bool { return r.truncated }

// Err implements store.Rows.
func (r *rows) Err() error { return r.err }

// Notes implements store.Rows.
func (r *rows) Notes() []store.Note {
	if r.closed || r.err != nil {
		return nil
	}
	if _, err := r.in.Write([]byte{wantNotes}); err != nil {
		return nil // the rows are right without them
	}
	for {
		kind, data, err := r.from.next()
		switch {
		case err != nil, kind == frameError:
			return nil // likewise
		case kind == frameNotes:
			notes, err := readNotes(data)
			if err != nil {
				return nil
			}
			return notes
		}
	}
}

// told takes over the error that the process answers with.
func (r *rows) told(data []byte) error {
	r.err = readError(data)
	return r.err
}

// broken finds out why a process answers no more.
func (r *rows) broken(err error) error {
	r.cancel()
	_ = r.cmd.Wait() // how it ended is what said and ProcessState tell
	switch {
	case r.ctx.Err() != nil:
		r.err = r.ctx.Err()
	case errors.Is(r.within.Err(), context.DeadlineExceeded):
		r.err = fmt.Errorf("%w: more than %s; narrow it with a condition on timestamp, or use the op_seconds view",
			store.ErrTooLong, r.limits.Time)
	case outOfMemory(r.said.text):
		r.err = tooMuch()
	default:
		r.err = fmt.Errorf("the process that answers SQL has ended: %w: %q", err, r.said.text)
	}
	return r.err
}

// Close implements store.Rows: it ends the process.
func (r *rows) Close() error {
	if r.closed {
		return nil
	}
	r.closed = true
	r.cancel()
	_ = r.in.Close()
	_ = r.cmd.Wait() // it was killed, or has ended
	r.left()
	return nil
}
