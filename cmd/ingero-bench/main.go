// Command ingero-bench measures Ingero: what tracing and recordings cost, and how often explanations are right. "ingero
// bench" runs it. It is a program of its own because it has what a program that runs as root on every machine should
// not have: stand-ins of libraries, and what fetches and compiles other people's programs. It decides nothing itself.
package main

import (
	"context"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/ingero-io/ingero/bench"
	"github.com/ingero-io/ingero/capture/doctor"
	"github.com/ingero-io/ingero/capture/privilege"
	"github.com/ingero-io/ingero/lib/commands"
)

// version and commit are set by the linker (see the Makefile).
var version, commit = commands.Unset, ""

func main() { os.Exit(run(os.Args[1:])) }

// console is the environment of a command.
type console struct {
	out, err io.Writer // results; progress and errors
	env      func(string) string
}

// run executes a command line and returns the exit code.
func run(args []string) int {
	c := &console{out: os.Stdout, err: os.Stderr, env: os.Getenv}
	p := commands.Program{
		Name: "ingero-bench", Err: c.err, Env: c.env,
		Hint: func(err error) string { return doctor.Hint(err, os.Args) },
	}
	return p.Run(func() error {
		if _, err := privilege.Lower(); err != nil { // before anything that the user chose is looked at
			return err
		}
		root := newRoot(c)
		root.SetArgs(args)
		return root.ExecuteContext(context.Background())
	})
}

// newRoot builds the command tree. It is shown as "ingero bench", as users call it.
func newRoot(c *console) *cobra.Command {
	root := &cobra.Command{
		Use:         "ingero-bench",
		Annotations: map[string]string{cobra.CommandDisplayNameAnnotation: "ingero bench"},
		Short:       "Measure the overhead and the accuracy of Ingero on this machine",
		Long: `Bench measures what tracing costs the traced program, the programs beside it, and
the machine, and what recordings cost, each figure next to its target; and how often
explanations are right. It runs the real tracer on a program that uses stand-ins for
the CUDA libraries, so no GPU is needed. The quieter the machine, the truer the figures.

Without a name it lists what can be measured. "ingero bench" runs the program ingero-bench,
which has an archive of its own in the release and is in no package: copy it to where ingero is.`,
		Example: "  ingero bench\n  sudo ingero bench overhead --quick\n  sudo ingero bench overhead --only call,loop " +
			"--json\n  ingero bench store\n  sudo ingero bench diagnosis --quick",
		RunE: func(*cobra.Command, []string) error { return c.listMeasurements() },

		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if slices.Contains(capable, cmd.Name()) {
				return privilege.Raise()
			}
			return privilege.Drop()
		},
	}
	root.AddCommand(
		c.groupCommand(bench.Overhead, "Measure what tracing costs, and whether it is exact (needs root)"),
		c.groupCommand(bench.Store, "Measure writing and reading recordings"),
		c.diagnosisCommand(),
		c.compareCommand(),
		c.fleetCommand(),
	)
	root.CompletionOptions.HiddenDefaultCmd = true // people complete "ingero bench"
	commands.Prepare(root, commands.Of(version, commit), c.out, c.err)
	return root
}

// capable are the commands that load eBPF programs.
var capable = []string{string(bench.Overhead), "diagnosis", "compare", "fleet"}
