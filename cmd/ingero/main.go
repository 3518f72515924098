// Command ingero explains why a GPU waits. This package is the command line:
// one file per command, each of which turns flags into a call of the package
// that does the work and words the result. It decides nothing itself.
package main

import (
	"context"
	"io"
	"os"
	"time"

	"github.com/ingero-io/ingero/capture/doctor"
	"github.com/ingero-io/ingero/capture/privilege"
	"github.com/ingero-io/ingero/lib/commands"
	"github.com/ingero-io/ingero/store/sqlite"
)

func main() {
	if code, ok := answered(os.Args[1:], os.Stdin, os.Stdout, os.Stderr); ok {
		os.Exit(code)
	}
	os.Exit(run(os.Args[1:]))
}

// run executes a command line and returns the exit code.
func run(args []string) int {
	c := &console{
		in: os.Stdin, out: os.Stdout, err: os.Stderr, env: os.Getenv, now: time.Now, limitSQLite: sqlite.LimitMemory,
	}
	return c.program().Run(func() (err error) {
		if c.scope, err = privilege.Lower(); err != nil { // before anything that the user chose is looked at
			return err
		}
		root := newRoot(c)
		root.SetArgs(knownArguments(args))
		return root.ExecuteContext(context.Background())
	})
}

// program is how errors are reported.
func (c *console) program() *commands.Program {
	return &commands.Program{
		Name: "ingero", Err: c.err, Env: c.env,
		Hint: func(err error) string { return doctor.Hint(err, os.Args) },
	}
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

func usage(format string, args ...any) error { return commands.Usage(format, args...) }
