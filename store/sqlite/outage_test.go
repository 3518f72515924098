package sqlite

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// smallDisk mounts a file system of the given size.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); errors.Is(err, syscall.EPERM) {
		t.Skip("needs root to mount a small file system")
	} else if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fill writes a file until the disk is full, and returns its path.
func fill(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(dir, "fill")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for block := make([]byte, 4096); ; {
		if _, err := f.Write(block); errors.Is(err, syscall.ENOSPC) {
			return path
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// recorded writes a recording, a second at a time.
type recorded struct {
	t     *testing.T
	w     *Writer
	now   time.Time
	calls uint64 // given to the writer
	lives int
}

const callsPerSecond = 2000

// batch is what happened in the next second: calls, a process that begins, and a kernel that is new.
func (r *recorded) batch() *store.Batch {
	op, _ := event.ByName("cudaLaunchKernel")
	b := &store.Batch{}
	thread := event.Thread{PID: 7, TID: 7}
	for i := range uint64(callsPerSecond) {
		b.Calls = append(b.Calls, event.Call{
			Start: uint64(r.now.UnixNano()) + i*1000, Duration: 500, Thread: thread, Op: op.Op, GPU: event.NoGPU,
			Args: [event.NumArgs]uint64{r.calls + i}, // each has a row of its own in the dictionary
		})
	}
	r.lives++
	pid := uint32(1000 + r.lives)
	b.Lives = []event.Life{{
		At: uint64(r.now.UnixNano()), Kind: event.LifeFork, Thread: event.Thread{PID: pid, TID: pid}, Parent: thread,
	}}
	r.calls += callsPerSecond
	r.now = r.now.Add(time.Second)
	return b
}

// second writes a second.
func (r *recorded) second() error {
	if err := r.w.Write(r.batch()); err != nil {
		return err
	}
	return r.w.Flush(context.Background())
}

// While the disk is full nothing is written, what was written stays readable, and when there is room again the
// same session goes on: with all exact statistics and all that began or ended, and with the loss and its time.
func TestAFullDiskPausesARecording(t *testing.T) {
	t.Parallel()
	dir := smallDisk(t, "6m")
	path := filepath.Join(dir, "x.db")
	r := &recorded{t: t, now: time.Unix(1_700_000_000, 0)}
	w, err := OpenWriter(path, Options{RawRate: 100_000, Now: func() time.Time { return r.now }})
	if err != nil {
		t.Fatal(err)
	}
	r.w = w
	for range 3 {
		if err := r.second(); err != nil {
			t.Fatal(err)
		}
	}
	before, flushed := r.calls, r.now
	full := fill(t, dir)
	var unwritten *store.Unwritten
	for n := 0; unwritten == nil; n++ { // the log has some room left
		if err := r.second(); err == nil {
			before, flushed = r.calls, r.now
		} else if !errors.As(err, &unwritten) || n > 50 {
			t.Fatal(err)
		}
	}
	if unwritten.Why != diskFull || !errors.Is(unwritten, store.ErrFull) {
		t.Errorf("the error is %v (%s)", unwritten, unwritten.Why)
	}
	for range 5 {
		w.Skip(r.batch())
	}
	if err := r.second(); !errors.As(err, &unwritten) {
		t.Errorf("a try on a full disk: %v", err)
	}
	if s := summary(t, path); s.Calls != before || len(s.Sessions) != 1 {
		t.Errorf("while the disk is full the file has %d calls of %d", s.Calls, before)
	}
	ended := r.now
	if err := os.Remove(full); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := r.second(); err != nil {
			t.Fatal(err)
		}
	}
	lost := w.Lost()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r.check(path, lost, store.Pause{From: uint64(flushed.UnixNano()), To: uint64(ended.UnixNano()), Why: diskFull})
}

func summary(t *testing.T, path string) store.Summary {
	t.Helper()
	x, err := OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	s, err := x.Summary(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// check compares a recording with what was given to its writer.
func (r *recorded) check(path string, lost uint64, pause store.Pause) {
	t := r.t
	t.Helper()
	x, err := OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	s, err := x.Summary(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if s.Calls != r.calls || len(s.Sessions) != 1 || s.Sessions[0].Stopped == 0 {
		t.Errorf("%d calls of %d in %+v", s.Calls, r.calls, s.Sessions)
	}
	ops, err := store.List[store.OpStat](t.Context(), x, store.Window{})
	if err != nil || len(ops) != 1 || ops[0].Calls != r.calls {
		t.Errorf("statistics are of %+v (%v), not of %d calls", ops, err, r.calls)
	}
	if len(s.Losses) != 1 || s.Losses[0] != (event.Loss{Kind: event.LostStored, Count: lost}) || lost == 0 ||
		s.Stored+lost != r.calls {
		t.Errorf("%d of %d rows are stored, %d lost; losses are %+v", s.Stored, r.calls, lost, s.Losses)
	}
	if lives, err := store.List[event.Life](t.Context(), x, store.Window{}); err != nil || len(lives) != r.lives {
		t.Errorf("%d processes began of %d (%v)", len(lives), r.lives, err)
	}
	if p, err := store.List[store.Pause](t.Context(), x, store.Window{}); err != nil || len(p) != 1 || p[0] != pause {
		t.Errorf("pauses are %+v (%v), want %+v", p, err, pause)
	}
}

// What is kept in memory while nothing can be written has bounds.
func TestAPauseTakesBoundedMemory(t *testing.T) {
	t.Parallel()
	r := &recorded{t: t, now: time.Unix(1_700_000_000, 0)}
	w, err := OpenWriter(filepath.Join(t.TempDir(), "x.db"), Options{Now: func() time.Time { return r.now }})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	op, _ := event.ByName("cudaLaunchKernel")
	const each = 1000
	for n := range uint32(100) {
		b := &store.Batch{}
		for i := range uint32(each) {
			id := event.Thread{PID: n*each + i + 1, TID: n*each + i + 1}
			b.Calls = append(b.Calls, event.Call{Start: uint64(r.now.UnixNano()), Duration: 1, Thread: id, Op: op.Op})
			b.Gaps = append(b.Gaps, event.Gap{Start: uint64(r.now.UnixNano()), Duration: 1, Thread: id})
			b.Lives = append(b.Lives, event.Life{At: uint64(r.now.UnixNano()), Kind: event.LifeExit, Thread: id})
			b.Stacks = append(b.Stacks, event.Stack{ID: uint64(id.TID), PID: id.PID})
			stranger := event.Thread{PID: id.PID + 100*each, TID: id.PID + 100*each} // whose end nobody reports
			b.Threads = append(b.Threads, store.ThreadInfo{Thread: stranger, Comm: "stranger"})
			b.Processes = append(b.Processes, store.Process{PID: stranger.PID, Name: "stranger"})
		}
		w.Skip(b)
		r.now = r.now.Add(time.Second)
	}
	for what, n := range map[string][2]int{
		"sums of calls": {len(w.sums), maxSums}, "sums of gaps": {len(w.gapSums), maxSums},
		"threads": {len(w.threads.fresh), maxThreads + each}, "stacks": {len(w.queued), maxQueued}, "losses": {len(w.losses), 200},
		"pending calls": {len(w.pending), 0}, "threads that exist": {len(w.threads.now), maxThreads + each},
		"processes": {len(w.procs), maxThreads + each}, "ids of stacks": {len(w.stacks.ids), maxQueued},
	} {
		if n[0] > n[1] {
			t.Errorf("%d %s are kept, more than %d", n[0], what, n[1])
		}
	}
	if w.Lost() == 0 {
		t.Error("nothing is counted as lost")
	}
}

// A recording whose file was deleted cannot be read by anyone: it says so instead of filling a disk.
func TestADeletedRecordingIsNotWritten(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	r := &recorded{t: t, now: time.Unix(1_700_000_000, 0)}
	w, err := OpenWriter(path, Options{Now: func() time.Time { return r.now }})
	if err != nil {
		t.Fatal(err)
	}
	r.w = w
	if err := r.second(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	unwritten := new(store.Unwritten)
	if err := r.second(); !errors.As(err, &unwritten) || unwritten.Why != "the recording's file was deleted" {
		t.Errorf("%v (%s)", err, unwritten.Why)
	}
	if err := w.Close(); !errors.Is(err, errRemoved) {
		t.Errorf("closed with %v", err)
	}
}
