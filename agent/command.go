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

// Command is the program that a run starts. It is stopped before its first instruction, so that the
// probes are in place when it runs. From then on nothing but the user's wish ends it: whatever
// happens to the run, the program goes on, and this process stays its parent.
type Command struct {
	cmd    *exec.Cmd
	held   bool          // release, on the thread that started it (ptrace(2)), lets it run
	exited chan struct{} // closed when it ended
}

// lingering is how long children that a program leaves may keep its output open.
const lingering = 5 * time.Second

// startHeld starts o.Command and holds it. If ptrace is not permitted, the program runs at once and
// its first calls may be missed; held says which.
func startHeld(o *Options) (*Command, error) {
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
		c.WaitDelay = lingering // of no effect on files
		c.SysProcAttr = &syscall.SysProcAttr{Ptrace: hold}
		return c
	}
	c := &Command{cmd: build(true), held: true, exited: make(chan struct{})}
	err := c.cmd.Start()
	if errors.Is(err, syscall.EPERM) {
		c.cmd, c.held = build(false), false
		err = c.cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", args[0], err)
	}
	if !c.held {
		c.wait()
	} else {
		var status syscall.WaitStatus
		if _, err := syscall.Wait4(c.cmd.Process.Pid, &status, 0, nil); err != nil || !status.Stopped() {
			c.kill()
			return nil, fmt.Errorf("start %s: it did not stop at its first instruction (%w)", args[0], err)
		}
	}
	return c, nil
}

// release lets the program run and begins to wait for its end.
func (c *Command) release() error {
	if c.held {
		if err := syscall.PtraceDetach(c.cmd.Process.Pid); err != nil {
			return fmt.Errorf("let %s run: %w", c.cmd.Path, err)
		}
		c.held = false
		c.wait()
	}
	return nil
}

// wait waits for the end of a program that runs.
func (c *Command) wait() {
	go func() {
		_ = c.cmd.Wait() // how it ended is in its state
		close(c.exited)
	}()
}

// kill ends a program of which not one instruction has run.
func (c *Command) kill() {
	_ = c.cmd.Process.Kill() // it may have ended
	_ = c.cmd.Wait()         // so that nothing is left of it
}

// libraryDirs are the folders that the program's loader searches before the system's
// (LD_LIBRARY_PATH, the program's own folder), and those from which Python loads the libraries of
// its packages. Calls made before a library is attached to are not recorded.
func (c *Command) libraryDirs() []string {
	dirs := cudalib.SearchPath(os.Getenv("LD_LIBRARY_PATH"))
	if p, err := filepath.EvalSymlinks(c.cmd.Path); err == nil {
		dirs = append(dirs, filepath.Dir(p), filepath.Join(filepath.Dir(p), "lib"),
			filepath.Join(filepath.Dir(p), "..", "lib"))
	}
	return append(dirs, cudalib.PythonDirs(c.cmd.Path, os.Getenv)...)
}

// Name is the program's file, as it was given.
func (c *Command) Name() string { return c.cmd.Args[0] }

// PID is the program's process.
func (c *Command) PID() int { return c.cmd.Process.Pid }

// Exited is closed when the program has ended.
func (c *Command) Exited() <-chan struct{} { return c.exited }

// Stop asks the program to exit, as Ctrl+C at its terminal would. It takes the time it needs, as to
// write a checkpoint.
func (c *Command) Stop() {
	select {
	case <-c.exited:
	default:
		_ = c.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	}
}

// ExitCode is the exit code of a program that has ended; 128 + n if signal n ended it.
func (c *Command) ExitCode() int {
	s := c.cmd.ProcessState
	if s == nil {
		return 0
	}
	if w, ok := s.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return 128 + int(w.Signal())
	}
	return s.ExitCode()
}
