package soak

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/internal/cudastub"
)

// world is what the churners share.
type world struct {
	dir   string // in memory, of the soak's own mount namespace
	disk  string // of the recording, which can be filled
	files cudastub.Files
	churn string // a file system for libraries that come and go
	keep  string // see Options

	tracer *tracer
	steady *steady
	told   *told
	rounds rounds

	skipped []string

	reused atomic.Int64 // the process id that is used again

	mu       sync.Mutex
	numbers  map[string]int64
	spans    []span
	harmed   []string // programs that did not end as they would have without a tracer
	ended    []string // what the tracer said when it ended by itself
	kept     []string // file systems that could not be unmounted
	unread   []string // questions that were not answered
	wrong    []string // findings
	reports  int      // that were read
	findings int      // in them
	found    int      // reports that have any
	full     bool     // the disk, now
}

// The sizes of the file systems in memory, in MiB.
const (
	worldMiB = 256
	churnMiB = 64
	diskMiB  = 128
	hourMiB  = 2048 // of recording
)

// newWorld mounts what is needed. It goes with the mount namespace.
func newWorld(dir string, length time.Duration) (*world, error) {
	w := &world{dir: dir, disk: filepath.Join(dir, "disk"), churn: filepath.Join(dir, "libraries")}
	w.rounds.done, w.numbers = map[string]int{}, map[string]int64{}
	recording := diskMiB + int(length.Hours()*hourMiB)
	for _, m := range []struct {
		dir string
		mib int
	}{{dir, worldMiB}, {w.disk, recording}, {w.churn, churnMiB}} {
		if err := mountMemory(m.dir, m.mib); err != nil {
			return nil, err
		}
	}
	var err error
	w.files, err = cudastub.Extract(filepath.Join(dir, "stub"))
	return w, err
}

// mountMemory makes a folder a file system in memory of its own.
func mountMemory(dir string, mib int) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := unix.Mount("ingero-soak", dir, "tmpfs", 0, fmt.Sprintf("size=%dm", mib)); err != nil {
		return fmt.Errorf("mount a file system in memory on %s: %w", dir, err)
	}
	return nil
}

// used is how many bytes of a file system hold something.
func used(dir string) (int64, error) {
	var st unix.Statfs_t
	err := unix.Statfs(dir, &st)
	return int64(st.Blocks-st.Bfree) * st.Bsize, err
}

// next counts what is made, so that each has a name of its own.
func (w *world) next(what string) int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.numbers[what]++
	return w.numbers[what]
}

func (w *world) excuse(from, to time.Time, why string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.spans = append(w.spans, span{float64(from.UnixNano()) / 1e9, float64(to.UnixNano()) / 1e9, why})
}

// note adds to one of the lists, with the time.
func (w *world) note(list *[]string, format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	*list = append(*list, time.Now().UTC().Format("15:04:05 ")+fmt.Sprintf(format, args...))
}

// tracerEnded starts it again, as a service manager does. What was lost meanwhile is not excused.
func (w *world) tracerEnded(ctx context.Context, why string) {
	w.note(&w.ended, "%s", why)
	for ctx.Err() == nil {
		if err := w.tracer.start(ctx); err == nil || errors.Is(err, errClosing) {
			return
		}
		wait(ctx, time.Second)
	}
}

// serve starts a program that makes the calls that it is asked for.
func (w *world) serve(ctx context.Context, o cudastub.Options, commands ...string) (*cudastub.Victim, error) {
	v, err := w.files.Start(ctx, o)
	if err != nil {
		return nil, err
	}
	for _, c := range commands {
		if _, err := v.Do(c); err != nil {
			return v, w.cut(ctx, v, err)
		}
	}
	return v, nil
}

// seen waits for as long as a tracer needs to find a program's libraries.
func seen(ctx context.Context) {
	const long = 500 * time.Millisecond
	wait(ctx, long)
}

// cut ends a program that did not answer. Unless the run is over, it was harmed.
func (w *world) cut(ctx context.Context, v *cudastub.Victim, err error) error {
	closed := v.Close()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	w.note(&w.harmed, "a program (%d) did not answer: %v; %v", v.PID(), err, closed)
	return nil
}

// end ends a program, which has to end well.
func (w *world) end(ctx context.Context, v *cudastub.Victim) {
	if err := v.Close(); err != nil && ctx.Err() == nil {
		w.note(&w.harmed, "a program (%d): %v", v.PID(), err)
	}
}
