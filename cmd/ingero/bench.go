package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/ingero-io/ingero/lib/commands"
)

// benchProgram has the measurements. They need stand-ins of libraries, compilers and other people's programs, which do
// not belong in a program that runs as root on every machine.
const benchProgram = "ingero-bench"

func benchCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "bench",
		Short: "Measure the overhead and the accuracy of Ingero on this machine",
		Long: `Bench runs the program ingero-bench, which measures what tracing costs, what recordings
cost, and how often explanations are right: overhead, store, diagnosis, compare, fleet.
It has an archive of its own in the release, and has to be beside this program or in the path.`,
		Example:            "  ingero bench\n  sudo ingero bench overhead\n  ingero bench store",
		ValidArgs:          []string{"overhead", "store", "diagnosis", "compare", "fleet"},
		DisableFlagParsing: true,
		RunE:               bench,
	}
}

// bench becomes the other program. It returns only if that fails.
func bench(cmd *cobra.Command, args []string) error {
	path := commands.Beside(benchProgram)
	err := syscall.Exec(path, append([]string{path}, args...), os.Environ())
	switch {
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("run %s: %w; see that it is a program for this machine that you may execute", path, err)
	case slices.Contains(args, "--help"), slices.Contains(args, "-h"):
		return cmd.Help()
	}
	return fmt.Errorf("run %s: it is neither beside this program nor in the path; copy it to %s from the archive "+
		"ingero-bench_VERSION_linux_ARCH.tar.gz of the release, or build it from the source: make bench-program",
		benchProgram, path)
}
