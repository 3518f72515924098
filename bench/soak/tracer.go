package soak

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// tracer is the running `ingero trace` of the whole machine, and the next one after it was killed: they record to the
// same file.
type tracer struct {
	ingero, dir, recording string
	excuse                 func(from, to time.Time, why string)
	ended                  func(why string) // it ended, and nobody had asked it to

	mu      sync.Mutex
	cmd     *exec.Cmd
	life    int
	ready   bool
	stopped bool // SIGSTOP
	asked   bool // to end
	closing bool // it is not started any more
	gone    chan struct{}
	err     error // after gone
}

// grace is how long after its start, its death or a full disk the recording may lack rows: it attaches, flushes each
// second, and tries a full disk again each few seconds.
const grace = 10 * time.Second

// start starts it, and waits until it says that it has attached.
func (t *tracer) start(ctx context.Context) error {
	cmd := exec.Command(t.ingero, "trace", "--json", "--db", t.recording)
	cmd.Dir = t.dir
	cmd.Env = append(os.Environ(), "HOME="+t.dir)
	said := new(tail)
	cmd.Stderr = said
	lines, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	gone, started := make(chan struct{}), make(chan struct{})
	if err := t.begin(cmd, gone); err != nil {
		return err
	}
	go t.watch(cmd, lines, said, started, gone)
	select {
	case <-started:
		return nil
	case <-gone:
		return fmt.Errorf("the tracer ended at its start: %w: %s", t.err, said)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// errClosing says that the tracer is not started any more: the soak ends.
var errClosing = errors.New("the soak ends")

func (t *tracer) begin(cmd *exec.Cmd, gone chan struct{}) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closing {
		return errClosing
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the tracer: %w", err)
	}
	t.cmd, t.gone, t.ready, t.stopped, t.asked, t.err = cmd, gone, false, false, false, nil
	t.life++
	return nil
}

// watch reads what it prints until it ends.
func (t *tracer) watch(cmd *exec.Cmd, lines io.Reader, said *tail, started, gone chan struct{}) {
	in := bufio.NewReader(lines)
	begun := false
	for {
		line, err := in.ReadBytes('\n')
		if !begun {
			var of struct{ Type string }
			if json.Unmarshal(line, &of) == nil && of.Type == "start" {
				begun = true
				t.mu.Lock()
				t.ready = true
				t.mu.Unlock()
				close(started)
			}
		}
		if err != nil {
			break
		}
	}
	err := cmd.Wait()
	t.mu.Lock()
	t.err, t.ready = err, false
	asked := t.asked
	t.mu.Unlock()
	close(gone)
	if begun && !asked {
		t.ended(fmt.Sprintf("%v: %s", err, said))
	}
}

// running is its process and life, if it can be asked how it is.
func (t *tracer) running() (pid, life int, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cmd == nil || !t.ready || t.stopped {
		return 0, 0, false
	}
	return t.cmd.Process.Pid, t.life, true
}

// pause stops it for a while, as a debugger or a frozen machine does.
func (t *tracer) pause(ctx context.Context, d time.Duration) error {
	t.mu.Lock()
	cmd, ready := t.cmd, t.ready
	t.stopped = ready
	t.mu.Unlock()
	if !ready {
		return nil
	}
	defer func() {
		_ = cmd.Process.Signal(syscall.SIGCONT) // it may have been killed meanwhile
		t.mu.Lock()
		if t.cmd == cmd {
			t.stopped = false
		}
		t.mu.Unlock()
	}()
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	wait(ctx, d)
	return nil
}

// kill ends it without a chance to do anything, and starts it again.
func (t *tracer) kill(ctx context.Context) error {
	t.mu.Lock()
	cmd, gone := t.cmd, t.gone
	t.asked = true
	t.mu.Unlock()
	from := time.Now()
	if err := cmd.Process.Kill(); err != nil {
		return err
	}
	<-gone
	defer func() { t.excuse(from.Add(-grace), time.Now().Add(grace/2), "the tracer was killed") }()
	return t.start(ctx)
}

// stop asks it to end, and says how long that took.
func (t *tracer) stop() (time.Duration, error) {
	t.mu.Lock()
	cmd, gone := t.cmd, t.gone
	t.asked, t.closing = true, true
	t.mu.Unlock()
	begin := time.Now()
	_ = cmd.Process.Signal(os.Interrupt) // if it has ended, that was told
	const patience = 2 * time.Minute
	select {
	case <-gone:
	case <-time.After(patience):
		_ = cmd.Process.Kill()
		<-gone
		return time.Since(begin), fmt.Errorf("it did not end within %s", patience)
	}
	return time.Since(begin), t.err
}

// tail keeps the last line that was written to it.
type tail struct {
	mu   sync.Mutex
	last []byte
	next []byte // not a whole line yet
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.next = append(t.next, p...)
	if end := bytes.LastIndexByte(t.next, '\n'); end >= 0 {
		lines := bytes.TrimRight(t.next[:end], "\n")
		t.last = bytes.Clone(lines[bytes.LastIndexByte(lines, '\n')+1:])
		t.next = bytes.Clone(t.next[end+1:])
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.next) > 0 {
		return string(t.next)
	}
	return string(t.last)
}

// wait waits for a while, or until ctx is done.
func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
