package load

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Process is a server that was started for a measurement. Its methods may be called by several goroutines.
type Process struct {
	cmd   *exec.Cmd
	ended chan struct{}
	said  io.Writer

	mu   sync.Mutex // guards the rest
	line []byte     // incomplete so far
	heap int64
	tail []string // of its last output, for errors
}

// ticks is the unit of the kernel's CPU times, per second (USER_HZ of Linux, on all architectures).
const ticks = 100

// tailLines is how many lines of a server's output are in an error.
const tailLines = 5

// readyTime is how long a server may take to start.
const readyTime = time.Minute

// StartReady calls Start and waits until the server answers at an HTTP address.
func StartReady(ctx context.Context, command []string, address string, said io.Writer) (*Process, error) {
	p, err := Start(command, said)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, readyTime)
	defer cancel()
	if err := p.Ready(ctx, address); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// Start starts a Go program, and reads from its standard error what its garbage collector reports. Its other output
// goes to said. Close ends it.
func Start(command []string, said io.Writer) (*Process, error) {
	p := &Process{ended: make(chan struct{}), said: said}
	p.cmd = exec.Command(command[0], command[1:]...)
	p.cmd.Env = append(os.Environ(), "GODEBUG=gctrace=1")
	p.cmd.Stdout, p.cmd.Stderr = io.Discard, p
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the server: %w", err)
	}
	go func() {
		_ = p.cmd.Wait() // Ready and Close check how it ended
		close(p.ended)
	}()
	return p, nil
}

// collected matches a line of the garbage collector, with megabytes at its begin, at its end, and in use.
var collected = regexp.MustCompile(`^gc \d+ @.* (\d+)->(\d+)->(\d+) MB, `)

// Write implements io.Writer.
func (p *Process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.line = append(p.line, b...)
	for {
		line, rest, whole := bytes.Cut(p.line, []byte("\n"))
		if !whole {
			return len(b), nil
		}
		if m := collected.FindSubmatch(line); m != nil {
			n, _ := strconv.ParseInt(string(m[3]), 10, 32) // digits
			p.heap = n << 20
		} else {
			if p.tail = append(p.tail, string(line)); len(p.tail) > tailLines {
				p.tail = p.tail[1:]
			}
			fmt.Fprintf(p.said, "%s\n", line)
		}
		p.line = append(p.line[:0], rest...)
	}
}

// Ready waits until the server answers at an HTTP address.
func (p *Process) Ready(ctx context.Context, address string) error {
	for {
		c, err := dial(ctx, address, "")
		if err == nil {
			c.close()
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the server: %w", err)
		case <-p.ended:
			p.mu.Lock()
			defer p.mu.Unlock()
			return fmt.Errorf("the server ended: %s", strings.Join(p.tail, "\n"))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Close ends the server, and waits until it has ended.
func (p *Process) Close() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	select {
	case <-p.ended:
	case <-time.After(10 * time.Second):
		_ = p.cmd.Process.Kill()
		<-p.ended
	}
}

// Heap implements Server.
func (p *Process) Heap() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.heap
}

// CPU implements Server: user and system time, in hundredths of a second.
func (p *Process) CPU() (time.Duration, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0, fmt.Errorf("read the server's CPU time: %w", err)
	}
	// The name is in parentheses and may have spaces. User and system time are the 12th and 13th fields after it.
	f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if len(f) < 13 {
		return 0, errors.New("read the server's CPU time: the line is too short")
	}
	var sum time.Duration
	for _, text := range f[11:13] {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read the server's CPU time: %w", err)
		}
		sum += time.Duration(n) * (time.Second / ticks)
	}
	return sum, nil
}

// Memory implements Server: the resident set.
func (p *Process) Memory() (int64, error) { return p.status("VmRSS:") }

// Peak returns the maximum of the resident set, in bytes.
func (p *Process) Peak() (int64, error) { return p.status("VmHWM:") }

// status returns a field of /proc/PID/status in bytes; the file has kilobytes.
func (p *Process) status(field string) (int64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, fmt.Errorf("read the server's memory: %w", err)
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, field); ok {
			n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return n << 10, err
		}
	}
	return 0, errors.New("read the server's memory: it has ended")
}
