// Package rig runs the stand-in program with a known fault under the whole tracer, on the real
// kernel, and explains the recording. Demos, the accuracy benchmark and the end-to-end tests use
// it; each of them defines what it expects of the result.
package rig

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/agent"
	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/internal/cudastub"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
)

// Options say what to run and how to record it.
type Options struct {
	Args []string // of "victim loop" (victim/options.c)
	// Program prepares another program than "victim loop" to trace; Args are then its arguments. It
	// has to follow the rules of cudastub.StartTruthful. nil: "victim loop".
	Program func(ctx context.Context, args []string) (*exec.Cmd, error)
	Parse   func(printed []byte, t *cudastub.Truth) error // of Program; nil: a Truth as JSON
	// During runs beside the program, from its first call on, until ctx is done at the program's
	// end. The returned function adds to the truth what it did. nil: nothing.
	During func(ctx context.Context, pid int) (Tell, error)
	// Running lets the program begin before the tracer, which attaches when Running returns; it
	// must wait until the program uses CUDA. nil: the tracer is started first.
	Running func(ctx context.Context, pid int) error
	Beside  []string // of a second "victim loop" that runs meanwhile; nil: none
	Dir     string   // for the program and what it writes, on a disk (see Folder)
	DB      string   // where to record

	Everyone bool // trace every process that uses CUDA, not only the program and its children
	Backend  probe.Backend
	Node     string
	Version  string // of Ingero, for the recording
	Flags    string // likewise
	RawRate  int    // calls stored a second; 0: the store's default
	Stack    probe.StackPolicy
	Pauses   bool // measure Traced.Paused, which needs root

	Session func(*store.Session) // may change the recording's description of this machine
	Started func()               // called when everything is attached
	Sinks   []agent.Sink
}

// Tell adds to the truth what was done to a program from outside.
type Tell func(*cudastub.Truth)

// Traced is the outcome of a run.
type Traced struct {
	Truth   cudastub.Truth
	Summary agent.Summary
	Others  float64 // share of all CPUs' time used by programs outside the run
	// OtherTime is the CPU time used by programs outside the run, by /proc/stat.
	OtherTime time.Duration
	// Paused is the share of the time for which one CPU stood still without the kernel's knowledge,
	// which an emulator's do: the thread that ran there looks as if it had computed on.
	Paused float64
}

// Trace runs the program from before its first call to its end, and returns the truth that it
// reports.
func Trace(ctx context.Context, o *Options) (t Traced, err error) {
	files, err := cudastub.Extract(o.Dir)
	if err != nil {
		return t, fmt.Errorf("unpack the program to be traced: %w", err)
	}
	before, err := ReadUsage()
	if err != nil {
		return t, fmt.Errorf("read the machine's load: %w", err)
	}
	if o.Pauses {
		err = t.watched(ctx, files, o)
	} else {
		t.Truth, t.Summary, err = trace(ctx, files, o)
	}
	if err != nil {
		return t, err
	}
	after, err := ReadUsage()
	if err != nil {
		return t, fmt.Errorf("read the machine's load: %w", err)
	}
	t.Others, t.OtherTime = Others(before, after), OtherTime(before, after)
	return t, nil
}

func (t *Traced) watched(ctx context.Context, files cudastub.Files, o *Options) error {
	pauses, err := files.WatchPauses(ctx)
	if err != nil {
		return err
	}
	t.Truth, t.Summary, err = trace(ctx, files, o)
	var shareErr error
	t.Paused, shareErr = pauses.Share()
	return errors.Join(err, shareErr)
}

func trace(ctx context.Context, files cudastub.Files, o *Options) (truth cudastub.Truth, sum agent.Summary, err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if len(o.Beside) > 0 {
		end, err := beside(ctx, files, o)
		if err != nil {
			return truth, sum, err
		}
		defer end()
	}
	loop, err := o.start(ctx, files)
	if err != nil {
		return truth, sum, startError(o.Dir, err)
	}
	if o.Running != nil {
		if err := errors.Join(loop.Begin(), o.Running(ctx, loop.PID())); err != nil {
			_ = loop.Stop()    // it may have ended already
			_, _ = loop.Wait() // what it says of itself is of no interest
			return truth, sum, fmt.Errorf("let the program run before it is traced: %w", err)
		}
	}
	attached, ended := make(chan struct{}), make(chan struct{})
	var truthErr error
	go func() {
		defer close(ended)
		defer stop() // the recording ends with the program
		select {
		case <-attached:
		case <-ctx.Done():
			_ = loop.Stop() // it may have ended already
		}
		truth, truthErr = o.wait(ctx, loop)
	}()
	sum, err = agent.Run(ctx, o.agent(loop.PID(), func() { close(attached) }))
	if err != nil {
		_ = loop.Stop() // it may have ended already, too
	}
	stop()
	<-ended
	switch {
	case err != nil:
		return truth, sum, err
	case truthErr != nil:
		return truth, sum, fmt.Errorf("run the program to be traced: %w", truthErr)
	case sum.Calls == 0:
		return truth, sum, errors.New("the program was traced, but none of its calls was seen; please report this with " +
			"the output of ingero check --json")
	}
	return truth, sum, nil
}

// start starts the program, which does nothing until Begin.
func (o *Options) start(ctx context.Context, files cudastub.Files) (*cudastub.LoopRun, error) {
	if o.Program == nil {
		return files.StartLoop(ctx, cudastub.Options{}, append([]string{"--dir", o.Dir}, o.Args...)...)
	}
	cmd, err := o.Program(ctx, o.Args)
	if err != nil {
		return nil, err
	}
	return cudastub.StartTruthful(cmd, o.Parse)
}

// wait lets the program run to its end, with During beside it.
func (o *Options) wait(ctx context.Context, loop *cudastub.LoopRun) (cudastub.Truth, error) {
	if o.During == nil || ctx.Err() != nil {
		return loop.Wait()
	}
	beside, stop := context.WithCancel(ctx)
	defer stop()
	var tell Tell
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		tell, err = o.During(beside, loop.PID())
	}()
	truth, truthErr := loop.Wait()
	stop()
	<-done
	if tell != nil {
		tell(&truth)
	}
	return truth, errors.Join(truthErr, err)
}

func startError(dir string, err error) error {
	if !errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("start the program to be traced: %w", err)
	}
	return fmt.Errorf("start the program to be traced (is %s mounted noexec? set TMPDIR to another folder): %w", dir, err)
}

// agent are the options of the tracer for the program with the given PID.
func (o *Options) agent(pid int, attached func()) agent.Options {
	a := agent.Options{
		UID: agent.AnyUser, Backend: o.Backend, Stack: o.Stack, Sinks: o.Sinks,
		Record: &agent.Recording{
			Path: o.DB, Node: o.Node, Version: o.Version, Flags: o.Flags,
			Open: func(s store.Session) (store.Writer, error) {
				if o.Session != nil {
					o.Session(&s)
				}
				return sqlite.OpenWriter(o.DB, sqlite.Options{Session: s, RawRate: o.RawRate})
			},
		},
		Started: func(agent.Start) {
			if o.Started != nil {
				o.Started()
			}
			attached()
		},
	}
	if !o.Everyone {
		a.PIDs = []int{pid}
	}
	return a
}

// beside starts the second program. The returned function ends it.
func beside(ctx context.Context, files cudastub.Files, o *Options) (end func(), err error) {
	loop, err := files.StartLoop(ctx, cudastub.Options{}, append([]string{"--dir", o.Dir}, o.Beside...)...)
	if err != nil {
		return nil, startError(o.Dir, err)
	}
	end = func() {
		_ = loop.Stop()    // it may have ended already
		_, _ = loop.Wait() // what it says of itself is of no interest
	}
	if err := loop.Begin(); err != nil {
		end()
		return nil, fmt.Errorf("start the program that runs beside: %w", err)
	}
	return end, nil
}

// Folder makes a folder for the program and its files: on a disk, if there is one, because faults
// that wait for a disk need it. A container that may only be read has a folder in memory.
func Folder(prefix string) (string, error) {
	dir, err := os.MkdirTemp(place(os.TempDir(), "/var/tmp", "/dev/shm"), prefix)
	if err != nil {
		return "", fmt.Errorf("make a folder for the program to be traced: %w; set TMPDIR to one that can be written", err)
	}
	return dir, nil
}

// place is the first of some folders that can be written, if possible one on a disk; if none can, the first.
func place(folders ...string) string {
	written := folders[0]
	for _, f := range slices.Backward(folders) {
		if unix.Access(f, unix.W_OK) == nil {
			written = f
		}
	}
	for _, f := range folders {
		var st unix.Statfs_t
		if unix.Statfs(f, &st) == nil && st.Type != unix.TMPFS_MAGIC && unix.Access(f, unix.W_OK) == nil {
			return f
		}
	}
	return written
}

// remove deletes a recording and SQLite's files beside it.
func remove(db string) {
	files, err := filepath.Glob(db + "*")
	if err != nil {
		return // not a valid pattern: OpenWriter reports the file
	}
	for _, f := range files {
		_ = os.Remove(f)
	}
}
