package commands

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// The exit codes. A traced command's own code is passed through.
const (
	ExitFailure = 1
	ExitUsage   = 2
)

// ExitCode ends the program with a code and without a message.
type ExitCode int

func (e ExitCode) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// UsageError is an invalid command line.
type UsageError struct{ Err error }

func (e UsageError) Error() string { return e.Err.Error() }
func (e UsageError) Unwrap() error { return e.Err }

// Usage makes the error for an invalid command line.
func Usage(format string, args ...any) error { return UsageError{Err: fmt.Errorf(format, args...)} }

// Arguments makes the error for wrong positional arguments.
func Arguments(minimum, maximum int, want string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < minimum || len(args) > maximum {
			return Usage("%s takes %s, not %d arguments; see %[1]s --help", cmd.CommandPath(), want, len(args))
		}
		return nil
	}
}

// NoSuchCommand refuses a first word that is not a command.
func NoSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	msg := fmt.Sprintf("there is no command %q", args[0])
	if s := cmd.SuggestionsFor(args[0]); len(s) > 0 {
		msg += "; did you mean " + strings.Join(s, " or ") + "?"
	}
	return Usage("%s; see %s --help", msg, cmd.Root().CommandPath())
}
