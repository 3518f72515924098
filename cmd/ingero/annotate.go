package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ingero-io/ingero/capture/host/proc"
	"github.com/ingero-io/ingero/capture/label"
	"github.com/ingero-io/ingero/capture/label/socket"
	"github.com/ingero-io/ingero/lib/commands"
)

// annotateFlags are the flags of annotate.
type annotateFlags struct {
	pid    uint32
	socket string
}

func annotateCommand(c *console) *cobra.Command {
	var f annotateFlags
	cmd := &cobra.Command{
		Use:   "annotate KEY=VALUE…",
		Short: "Label what a program works on: a step, an epoch, a phase",
		Long: `Annotate tells a running "ingero trace --annotate" what a process works on, from now
on until the same key is set again or the process ends. An empty value unsets a key.
Without --pid, it is the process that runs this command: a shell script labels itself.
Labels are the views labels and labelled_calls of "ingero query".

A program that sets labels often should send them itself: docs/labels.md has the
format, and python/ingero.py does it for Python.

Keys are up to 64 characters of A-Z, a-z, 0-9, _, . and -, values up to 256 bytes.`,
		Example: `  ingero annotate step=120 epoch=3          of the process that runs this
  ingero annotate --pid 4821 phase=warm-up  of another process of this user
  ingero annotate --pid 4821 phase=         it has none any more`,
		Args: commands.Arguments(1, label.MaxLabels, fmt.Sprintf("1 to %d labels KEY=VALUE", label.MaxLabels)),
		RunE: func(_ *cobra.Command, args []string) error {
			line, err := labelLine(args)
			if err != nil {
				return err
			}
			return c.annotate(&f, line)
		},
	}
	fl := cmd.Flags()
	fl.Uint32Var(&f.pid, "pid", 0, "label this process (default: the parent of this command)")
	fl.StringVar(&f.socket, "socket", "",
		"the tracer's socket (default $"+socket.PathEnv+", else "+socket.System+", else that of this user's tracer)")
	return cmd
}

// labelLine makes a line of KEY=VALUE arguments.
func labelLine(args []string) (*label.Line, error) {
	l := &label.Line{At: uint64(time.Now().UnixNano())}
	for _, a := range args {
		key, value, ok := strings.Cut(a, "=")
		switch {
		case !ok:
			return nil, usage("%q is not a label: write KEY=VALUE, for example step=120", a)
		case !label.IsKey(key):
			return nil, usage("%q: %w", a, label.ErrKey)
		case !label.IsValue(value):
			return nil, usage("%q: %w", a, label.ErrValue)
		}
		l.Pairs = append(l.Pairs, label.Pair{Key: key, Value: value})
	}
	return l, nil
}

func (c *console) annotate(f *annotateFlags, l *label.Line) error {
	if l.PID = f.pid; l.PID == 0 {
		l.PID = uint32(os.Getppid())
	}
	fs := proc.New("")
	uid, err := fs.UID(int(l.PID))
	if err != nil {
		return fmt.Errorf("there is no process %d; pass --pid of one that runs", l.PID)
	}
	if l.StartTime, err = fs.StartTime(int(l.PID)); err != nil {
		return fmt.Errorf("read when process %d started: %w", l.PID, err)
	}
	chosen := f.socket
	if chosen == "" {
		chosen = c.env(socket.PathEnv)
	}
	s, err := socket.Dial(socket.Paths(chosen, c.env("HOME")))
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }() // what was sent arrives
	if me := uint32(os.Geteuid()); me != 0 && me != uid && me != s.UID {
		return fmt.Errorf("process %d is of user %d: only that user, root and the tracer's user (%d) may label it", l.PID,
			uid, s.UID)
	}
	return s.Send(l)
}
