package agent

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/ingero-io/ingero/capture/host/cudalib"
)

// command is the program that a run starts. It is stopped before its first instruction, so that the
// probes are in place when it runs. All methods but exited must be called from the thread that
// started it, which is its tracer for the kernel (ptrace(2)).
type command struct {
	cmd    *exec.Cmd
	held   bool
	exited chan struct{} // closed when it ended
	err    error         // how, once exited is closed
}

// patience is how long a program may take to exit after it was asked to. Children that it leaves
// may keep its output open for as long.
const patience = 5 * time.Second

// startHeld starts o.Command and holds it. If ptrace is not permitted, the program runs at once and
// its first calls may be missed; held says which.
func startHeld(o *Options) (*command, error) {
	args := o.Command
	build := func(hold bool) *exec.Cmd {
		c := exec.Command(args[0], args[1:]...)
		c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
		if o.Stdin != nil {
			c.Stdin = o.Stdin
		}
		if o.Stdout != nil {
			c.Stdout = o.Stdout
		}
		if o.Stderr != nil {
			c.Stderr = o.Stderr
		}
		c.WaitDelay = patience // of no effect on files
		c.SysProcAttr = &syscall.SysProcAttr{Ptrace: hold}
		return c
	}
	c := &command{cmd: build(true), held: true, exited: make(chan struct{})}
	err := c.cmd.Start()
	if errors.Is(err, syscall.EPERM) {
		c.cmd, c.held = build(false), false
		err = c.cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", args[0], err)
	}
	if c.held {
		var status syscall.WaitStatus
		if _, err := syscall.Wait4(c.cmd.Process.Pid, &status, 0, nil); err != nil || !status.Stopped() {
			return nil, fmt.Errorf("start %s: it did not stop at its first instruction (%w)", args[0], err)
		}
	}
	return c, nil
}

// release lets the program run and begins to wait for its end.
func (c *command) release() error {
	if c.held {
		c.held = false
		if err := syscall.PtraceDetach(c.cmd.Process.Pid); err != nil {
			return fmt.Errorf("let %s run: %w", c.cmd.Path, err)
		}
	}
	go func() {
		c.err = c.cmd.Wait()
		close(c.exited)
	}()
	return nil
}

// libraryDirs are the folders that the program's loader searches before the system's
// (LD_LIBRARY_PATH, the program's own folder), and those from which Python loads the libraries of
// its packages. Calls made before a library is attached to are not recorded.
func (c *command) libraryDirs() []string {
	dirs := cudalib.SearchPath(os.Getenv("LD_LIBRARY_PATH"))
	if p, err := filepath.EvalSymlinks(c.cmd.Path); err == nil {
		dirs = append(dirs, filepath.Dir(p), filepath.Join(filepath.Dir(p), "lib"),
			filepath.Join(filepath.Dir(p), "..", "lib"))
	}
	return append(dirs, cudalib.PythonDirs(c.cmd.Path, os.Getenv)...)
}

// stop asks the program to exit, as Ctrl+C at its terminal would.
func (c *command) stop() {
	select {
	case <-c.exited:
	default:
		c.cmd.Process.Signal(syscall.SIGTERM)
	}
}

// kill ends a program that did not exit when asked.
func (c *command) kill() { c.cmd.Process.Kill() }

// exitCode is the program's exit code; 128 + n if signal n ended it.
func (c *command) exitCode() int {
	s := c.cmd.ProcessState
	if s == nil {
		return 0
	}
	if w, ok := s.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return 128 + int(w.Signal())
	}
	return s.ExitCode()
}
