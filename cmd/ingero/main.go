// Command ingero explains why a GPU waits. This package is the command line:
// one file per command, each of which turns flags into a call of the package
// that does the work and words the result. It decides nothing itself.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/ingero-io/ingero/capture/privilege"
	"github.com/ingero-io/ingero/internal/plain"
	"github.com/ingero-io/ingero/store/sqlite"
)

func main() {
	if code, ok := answered(os.Args[1:], os.Stdin, os.Stdout, os.Stderr); ok {
		os.Exit(code)
	}
	os.Exit(run(os.Args[1:]))
}

// debugEnv makes an internal error print its stack.
const debugEnv = "INGERO_DEBUG"

// run executes a command line and returns the exit code.
func run(args []string) (code int) {
	c := &console{
		in: os.Stdin, out: os.Stdout, err: os.Stderr, env: os.Getenv, now: time.Now, limitSQLite: sqlite.LimitMemory,
	}
	defer func() {
		if p := recover(); p != nil {
			fmt.Fprintf(c.err, "ingero: internal error: %v; please report it with what you typed, and the output of %s=1\n", p,
				debugEnv)
			if c.env(debugEnv) != "" {
				fmt.Fprintf(c.err, "%s", debug.Stack())
			}
			code = exitFailure
		}
	}()
	var err error
	if c.scope, err = privilege.Lower(); err != nil { // before anything that the user chose is looked at
		return c.report(err)
	}
	root := newRoot(c)
	root.SetArgs(knownArguments(args))
	return c.report(root.ExecuteContext(context.Background()))
}

// console is the environment of a command.
type console struct {
	in       io.Reader
	out, err io.Writer // results; progress and errors
	env      func(string) string
	now      func() time.Time // current time, to judge the age of recordings
	// limitSQLite bounds what SQLite takes in this process, in bytes; nil: it is not bounded, or it is already.
	limitSQLite func(int64) error

	config string          // the configuration that --config names
	scope  privilege.Scope // whose processes the user may trace
}

// The exit codes. A traced command's own code is passed through.
const (
	exitFailure = 1
	exitUsage   = 2
)

// exitCode ends the program with a code and without a message.
type exitCode int

func (e exitCode) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// usageError is an invalid command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usage(format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...)}
}

// report prints an error and what to do about it, and returns the exit code.
func (c *console) report(err error) int {
	var code exitCode
	switch {
	case err == nil, errors.Is(err, syscall.EPIPE): // the reader closed the output
		return 0
	case errors.As(err, &code):
		return int(code)
	}
	fmt.Fprintf(c.err, "ingero: %s\n", plain.Lines(err.Error())) // it may quote names of files and input
	if h := hint(err); h != "" {
		fmt.Fprintln(c.err, h)
	}
	if errors.As(err, new(usageError)) {
		return exitUsage
	}
	return exitFailure
}
