package apart

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
)

const (
	// Memory is what SQLite may take for a statement, in bytes.
	Memory = 128 << 20
	// mostData is a wall behind that, for what is not SQLite's: bytes that a process may have mapped for writing, of
	// which Go takes 100 MiB without using them.
	mostData = 640 << 20
	// goMemory is where Go's collector begins to work harder, in bytes.
	goMemory = 96 << 20
	// mostFile is how large the files may be that SQLite sorts in, in bytes.
	mostFile = 512 << 20
	// mostRow is how long a row of an answer may be, in bytes: the asking process holds one at a time.
	mostRow = 8 << 20
	// A batch of rows ends with whichever comes first.
	batchRows  = 256
	batchBytes = 256 << 10
	batchTime  = 20 * time.Millisecond
)

// Answer answers one statement that comes on in, and ends when in does. It is all that its process does: it gives up
// what it is allowed beyond reading, and may be ended at any time.
func Answer(in io.Reader, out io.Writer) error {
	if err := confine(); err != nil {
		return err
	}
	input := bufio.NewReader(in)
	req, err := readRequest(input)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	wants := make(chan byte)
	go func() {
		defer close(wants)
		defer cancel()
		for {
			b, err := input.ReadByte()
			if err != nil {
				return
			}
			select {
			case wants <- b:
			case <-ctx.Done():
				return
			}
		}
	}()
	w := newWriter(out)
	err = answer(ctx, req, wants, w)
	if err != nil && ctx.Err() == nil {
		return w.fail(err)
	}
	return nil
}

// confine bounds the process's memory, and makes it the first one to be ended when the machine's is short.
func confine() error {
	runtime.GOMAXPROCS(min(runtime.GOMAXPROCS(0), 2))
	debug.SetMemoryLimit(goMemory)
	debug.SetTraceback("none") // of what it says when it has no memory, the first line is of use
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
	// A service whose filter refuses this keeps the other wall, and its own limit of memory.
	_ = unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: mostData, Max: mostData})
	return sqlite.LimitMemory(Memory)
}

func answer(ctx context.Context, req *request, wants <-chan byte, w *writer) error {
	q, err := sqlite.OpenQueries(req.Path)
	if err != nil {
		return err
	}
	defer q.Close() //nolint:errcheck // it was only read
	if err := q.Prepare(); err != nil {
		return err
	}
	if err := renounce(); err != nil {
		return err
	}
	rows, err := q.Query(ctx, req.SQL, req.Limits)
	if err != nil {
		return err
	}
	defer rows.Close()
	if err := w.json(frameColumns, rows.Columns()); err != nil {
		return err
	}
	for want := range wants {
		switch want {
		case wantMore:
			err = w.batch(rows)
		case wantNotes:
			err = w.notes(rows.Notes())
		default:
			err = errFrame
		}
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// renounce gives up what is no longer needed once the recording is open: capabilities, which let a tracer read it, and
// large files.
func renounce() error {
	signal.Ignore(syscall.SIGXFSZ)                                                    // SQLite gets the error instead
	_ = unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: mostFile, Max: mostFile}) // as in confine
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var have [2]unix.CapUserData
	if err := unix.Capget(&header, &have[0]); err != nil {
		return fmt.Errorf("look at the capabilities: %w", err)
	}
	if have == ([2]unix.CapUserData{}) {
		return nil
	}
	return dropCapabilities(&header)
}

// batch writes some rows.
func (w *writer) batch(rows *sqlite.Rows) error {
	began, bytes := time.Now(), 0
	for n := 0; n < batchRows && bytes < batchBytes && time.Since(began) < batchTime; n++ {
		if !rows.Next() {
			if err := rows.Err(); err != nil {
				return err
			}
			end := []byte{0}
			if rows.Truncated() {
				end[0] = 1
			}
			return w.frame(frameEnd, end)
		}
		b, err := w.row(rows.Values())
		if err != nil {
			return err
		}
		bytes += b
	}
	return w.frame(frameBatch, nil)
}

// request is what a process is asked.
type request struct {
	Path, SQL string
	Limits    store.Limits
}

// mostRequest is how long a request may be, in bytes.
const mostRequest = 8 << 20

func writeRequest(w io.Writer, r *request) error {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return writeFrame(w, frameRequest, b)
}

func readRequest(r io.Reader) (*request, error) {
	kind, data, err := (&reader{r: r, most: mostRequest}).next()
	if err != nil {
		return nil, err
	}
	if kind != frameRequest {
		return nil, errFrame
	}
	req := &request{}
	return req, unmarshal(data, req)
}
