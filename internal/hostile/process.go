package hostile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// wall is the memory, in bytes, at which a program is ended, so that a failure does not take the machine with it.
const wall = 3 << 30

// process is a program that is attacked while it runs.
type process struct {
	cmd    *exec.Cmd
	said   tail
	ended  chan struct{}
	err    error // how it ended, once ended is closed
	memory *memory
}

// start starts a program. dir is its home.
func start(ctx context.Context, dir, program string, args ...string) (*process, error) {
	p := &process{cmd: exec.CommandContext(ctx, program, args...), ended: make(chan struct{})}
	p.cmd.Dir = dir
	p.cmd.Env = append(environment(dir), "INGERO_FLEET_TOKEN=", "INGERO_MCP_TOKEN=", "INGERO_NODE_TOKEN=")
	p.cmd.Stdout, p.cmd.Stderr = &p.said, &p.said
	p.cmd.WaitDelay = time.Second
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", filepath.Base(program), err)
	}
	p.memory = watch(p.cmd.Process.Pid)
	go func() {
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	return p, nil
}

// environment is this process's, with a home of the program's own.
func environment(home string) []string {
	env := []string{"HOME=" + home, "SUDO_UID=", "SUDO_GID="}
	for _, e := range os.Environ() {
		if name, _, _ := strings.Cut(e, "="); name == "HOME" || strings.HasPrefix(name, "INGERO_") ||
			strings.HasPrefix(name, "SUDO_") {
			continue
		}
		env = append(env, e)
	}
	return env
}

// alive returns an error if it has ended.
func (p *process) alive() error {
	select {
	case <-p.ended:
		return fmt.Errorf("the program has ended: %w; it said %s", cause(p.err), shown(p.said.String()))
	default:
		return nil
	}
}

func cause(err error) error {
	if err == nil {
		return errors.New("exit code 0")
	}
	return err
}

// close asks the program to end, and waits.
func (p *process) close() (peak uint64, printed string, err error) {
	if err = p.alive(); err == nil {
		err = p.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-p.ended:
		case <-time.After(time.Minute):
			err = errors.New("it did not end within a minute; killed")
			_ = p.cmd.Process.Kill()
			<-p.ended
		}
	}
	return p.memory.stop(), p.said.String(), err
}

// tail keeps the last of what a program says; it may be written and read at the same time.
type tail struct {
	mu sync.Mutex
	b  []byte
}

const maxTail = 1 << 20

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, p...)
	if n := len(t.b) - maxTail; n > 0 {
		t.b = append(t.b[:0], t.b[n:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.b)
}

// memory watches how much memory a program and its children have resident.
type memory struct {
	pid  int
	quit chan struct{}
	done chan struct{}

	mu     sync.Mutex
	peak   uint64
	recent uint64 // the peak since it was last asked for
}

func watch(pid int) *memory {
	m := &memory{pid: pid, quit: make(chan struct{}), done: make(chan struct{})}
	go m.loop()
	return m
}

// stop ends the watch and returns the most memory seen at a time, in bytes.
func (m *memory) stop() uint64 {
	close(m.quit)
	<-m.done
	return m.peak
}

// since returns the most memory seen since it was last asked for, in bytes.
func (m *memory) since() uint64 {
	m.look()
	m.mu.Lock()
	defer m.mu.Unlock()
	// The kernel's own count begins anew, too. Where it does not, the peak of the first process is that of its life.
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", m.pid), []byte("5"), 0)
	peak := m.recent
	m.recent = 0
	return peak
}

// look notes the memory of now.
func (m *memory) look() {
	m.mu.Lock()
	defer m.mu.Unlock()
	own, high := resident(m.pid)
	sum := own
	for _, pid := range descendants(m.pid) {
		r, _ := resident(pid)
		sum += r
	}
	m.recent = max(m.recent, high, sum)
	m.peak = max(m.peak, m.recent)
	if sum > wall {
		_ = syscall.Kill(m.pid, syscall.SIGKILL)
	}
}

// step is the time between two looks. The first process's peak is the kernel's own count, whatever falls between.
const step = 10 * time.Millisecond

func (m *memory) loop() {
	defer close(m.done)
	tick := time.NewTicker(step)
	defer tick.Stop()
	for {
		m.look()
		select {
		case <-m.quit:
			return
		case <-tick.C:
		}
	}
}

// resident is the memory that a process has resident, and the most that it had, in bytes; 0 if it has ended.
func resident(pid int) (now, high uint64) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0
	}
	return field(b, "VmRSS:"), field(b, "VmHWM:")
}

// field is a size in kB of /proc/PID/status, in bytes.
func field(status []byte, name string) uint64 {
	_, rest, ok := bytes.Cut(status, []byte("\n"+name))
	if !ok {
		return 0
	}
	words := bytes.Fields(rest[:min(len(rest), 64)])
	if len(words) == 0 {
		return 0
	}
	n, err := strconv.ParseUint(string(words[0]), 10, 64)
	if err != nil {
		return 0
	}
	return n << 10
}

// descendants are the processes that a process started, and those that they started.
func descendants(pid int) []int {
	var list []int
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		return nil
	}
	for _, file := range tasks {
		b, err := os.ReadFile(file)
		if err != nil {
			continue // the thread has ended
		}
		for w := range strings.FieldsSeq(string(b)) {
			child, err := strconv.Atoi(w)
			if err != nil {
				continue
			}
			list = append(append(list, child), descendants(child)...)
		}
	}
	return list
}

// oneShot runs a program to its end. It returns the most memory that it and its children had, in bytes, and what it
// printed.
func oneShot(ctx context.Context, dir, program string, args ...string) (peak uint64, said string, err error) {
	p, err := start(ctx, dir, program, args...)
	if err != nil {
		return 0, "", err
	}
	<-p.ended
	peak = p.memory.stop() // what wait4(2) counts begins with this process's own, of which it was forked
	if ctx.Err() != nil {
		return peak, p.said.String(), fmt.Errorf("it did not end within %s", tryTime)
	}
	return peak, p.said.String(), p.err
}

// freeAddress is an address of this machine at which nothing listens.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("look for a free port: %w", err)
	}
	defer func() { _ = l.Close() }() // nothing was accepted
	return l.Addr().String(), nil
}

// until waits for a condition, for a minute at most.
func until(ctx context.Context, p *process, what string, ok func() bool) error {
	ctx, stop := context.WithTimeout(ctx, time.Minute)
	defer stop()
	for !ok() {
		if p != nil {
			if err := p.alive(); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w", what, ctx.Err())
		case <-time.After(step):
		}
	}
	return nil
}
