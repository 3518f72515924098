package commands

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/ingero-io/ingero/lib/plain"
)

// DebugEnv makes an internal error print its stack.
const DebugEnv = "INGERO_DEBUG"

// Program is what the user sees of a program that ends with an error.
type Program struct {
	Name string
	Err  io.Writer
	Env  func(string) string
	Hint func(error) string // advice that depends on the error; may be empty
}

// Run calls f, prints its error and returns the exit code.
func (p *Program) Run(f func() error) (code int) {
	defer func() {
		if e := recover(); e != nil {
			fmt.Fprintf(p.Err, "%s: internal error: %v; please report it with what you typed, and the output of %s=1\n",
				p.Name, e, DebugEnv)
			if p.Env(DebugEnv) != "" {
				fmt.Fprintf(p.Err, "%s", debug.Stack())
			}
			code = ExitFailure
		}
	}()
	return p.Report(f())
}

// Report prints an error and what to do about it, and returns the exit code.
func (p *Program) Report(err error) int {
	var code ExitCode
	switch {
	case err == nil, errors.Is(err, syscall.EPIPE): // the reader closed the output
		return 0
	case errors.As(err, &code):
		return int(code)
	}
	fmt.Fprintf(p.Err, "%s: %s\n", p.Name, plain.Lines(err.Error())) // it may quote names of files and input
	if h := p.Hint(err); h != "" {
		fmt.Fprintln(p.Err, h)
	}
	if errors.As(err, new(UsageError)) {
		return ExitUsage
	}
	return ExitFailure
}

// Prepare gives the root of a command tree what all have: its streams, its words for a wrong flag and a mistyped
// command, and the command version. The commands must have been added.
func Prepare(root *cobra.Command, b Build, out, errs io.Writer) {
	root.SilenceUsage, root.SilenceErrors = true, true
	root.Args = NoSuchCommand
	root.SetOut(out)
	root.SetErr(errs)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return Usage("%w; see %s --help", err, cmd.CommandPath())
	})
	Add(root, b, func(err error) error { return UsageError{Err: err} })
	root.InitDefaultHelpCmd()
	root.SuggestionsMinimumDistance = 2
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
}

// Beside is the path of another program of Ingero: in the folder of this one, else in the path; or where it should be.
func Beside(name string) string {
	should := name
	if self, err := os.Executable(); err == nil {
		should = filepath.Join(filepath.Dir(self), name)
		if _, err := os.Stat(should); err == nil {
			return should
		}
	}
	if found, err := exec.LookPath(name); err == nil {
		return found
	}
	return should
}
