// Command ingero-fleet finds the rank that the others of a job wait for. This package is its command
// line: flags in, text or JSON out. It decides nothing itself.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/ingero-io/ingero/lib/commands"
	"github.com/ingero-io/ingero/lib/plain"
)

// version and commit are set by the linker (see the Makefile).
var version, commit = commands.Unset, ""

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr, os.Getenv))
}

// The exit codes.
const (
	exitFailure = 1
	exitUsage   = 2
)

// usageError is an invalid command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usage(format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...)}
}

// run executes a command line and returns the exit code.
func run(ctx context.Context, args []string, out, errs io.Writer, env func(string) string) int {
	root := &cobra.Command{
		Use:           "ingero-fleet",
		Short:         "Find the rank that the others wait for",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage("there is no command %q; see ingero-fleet --help", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetOut(out)
	root.SetErr(errs)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usage("%w; see %s --help", err, cmd.CommandPath())
	})
	root.AddCommand(serveCommand(out, errs, env), simulateCommand(out, errs), loadCommand(out, errs, env))
	commands.Add(root, commands.Of(version, commit), func(err error) error { return usageError{err} })
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	fmt.Fprintf(errs, "ingero-fleet: %s\n", plain.Lines(err.Error()))
	if errors.As(err, new(usageError)) {
		return exitUsage
	}
	return exitFailure
}
