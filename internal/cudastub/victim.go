package cudastub

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Options say how a victim is started. The zero value starts the linked program
// with the default libraries.
type Options struct {
	LibDir    string   // libraries to use instead of Files.LibDir
	Behaviour string   // initial behaviour of the functions, as in CUDASTUB
	Late      bool     // use the program that loads the libraries by the command "dlopen"
	Env       []string // further "KEY=value" settings
}

// Answer holds the values of one answer of a victim.
type Answer map[string]string

// Int is the number under key, or -1 if there is none.
func (a Answer) Int(key string) int64 {
	n, err := strconv.ParseInt(a[key], 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// Victim is a running "victim serve".
type Victim struct {
	mu     sync.Mutex // guards the conversation
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *bufio.Reader
	stderr *bytes.Buffer
	close  func() error
}

// Start starts a victim that serves commands until Close, or until ctx is done.
func (f Files) Start(ctx context.Context, o Options) (*Victim, error) {
	program := f.Victim
	if o.Late {
		program = f.VictimLate
	}
	v := &Victim{cmd: f.command(ctx, o, program, "serve"), stderr: new(bytes.Buffer)}
	v.cmd.Stderr = v.stderr
	v.close = sync.OnceValue(v.stop)
	var err error
	if v.stdin, err = v.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("start victim: %w", err)
	}
	out, err := v.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start victim: %w", err)
	}
	v.stdout = bufio.NewReader(out)
	if err := v.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start victim: %w", err)
	}
	return v, nil
}

// PID is the victim's process id.
func (v *Victim) PID() int { return v.cmd.Process.Pid }

// Do sends one command line and returns the values of its answer. The commands,
// OP being the name of an exported function:
//
//	call OP N [threads=T] [depth=D] [timed=0] [ARG=...]  N calls, on each of T fresh threads
//	rate OP PER_SECOND SECONDS                           paced calls
//	set SPEC                                             behaviour (stub/behave.h)
//	device N                                             one cudaSetDevice
//	spawn OP N                                           a forked child makes N calls
//	switches N [cpu=C]                                   N switches between two threads on one CPU
//	getppid N                                            N system calls
//	longjmp OP [at=FN]                                   jump out of the call, from inside FN
//	fork-in-call, exec-in-call OP [at=FN]                the same with fork and exec
//	exit-in-call OP [at=FN] [raw=1]                      a thread ends inside the call
//	hang OP on=lock|deadlock|read|spin [at=FN]           a thread's call does not return (victim/hang.c)
//	release                                              a hang on=lock or on=spin ends
//	dlopen, dlclose                                      for Options.Late
//	ops, pid, threads                                    names, ids
//
// ARG is one of bytes, kind, device, func, stream, ptr, grid, block, name (of a
// kernel, for the functions that look one up) and kernel, which sets func: softmax,
// add and gemm are kernels of the program's own, last is the one looked up last
// (victim/kernels.c). No command
// calls an exported function except those it is asked for.
func (v *Victim) Do(command string) (Answer, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if _, err := fmt.Fprintln(v.stdin, command); err != nil {
		return nil, fmt.Errorf("tell victim %q: %w", command, err)
	}
	line, err := v.stdout.ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("hear from victim after %q: %w", command, err)
	}
	return parseAnswer(command, strings.TrimSpace(line))
}

func parseAnswer(command, line string) (Answer, error) {
	words := strings.Fields(line)
	if len(words) == 0 || words[0] != "ok" {
		return nil, fmt.Errorf("victim %q: %s", command, strings.TrimPrefix(line, "err "))
	}
	a := Answer{}
	for _, w := range words[1:] {
		key, value, _ := strings.Cut(w, "=")
		a[key] = value
	}
	return a, nil
}

// Close ends the victim and waits for it. It may be called twice.
func (v *Victim) Close() error { return v.close() }

// stop closes the victim's input, at which it exits.
func (v *Victim) stop() error {
	_ = v.stdin.Close() // fails only if the victim is gone already, which Wait tells
	if err := v.cmd.Wait(); err != nil {
		return fmt.Errorf("end victim: %w%s", err, said(v.stderr))
	}
	return nil
}

// command prepares a program that finds the chosen libraries and is ended (SIGTERM) when ctx is done.
func (f Files) command(ctx context.Context, o Options, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	dir := o.LibDir
	if dir == "" {
		dir = f.LibDir
	}
	cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+dir, "CUDASTUB="+o.Behaviour)
	cmd.Env = append(cmd.Env, o.Env...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

func said(stderr *bytes.Buffer) string {
	if text := strings.TrimSpace(stderr.String()); text != "" {
		return ": " + text
	}
	return ""
}

// Exit statuses of the loop: for options it cannot understand, and for a fault
// this machine cannot produce.
const exitUsage, exitUnsupported = 2, 3

func exitError(err error, stderr *bytes.Buffer) error {
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		switch exit.ExitCode() {
		case exitUsage:
			return fmt.Errorf("%w%s", ErrUsage, said(stderr))
		case exitUnsupported:
			return fmt.Errorf("%w%s", ErrUnsupported, said(stderr))
		}
	}
	return fmt.Errorf("%w%s", err, said(stderr))
}
