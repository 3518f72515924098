package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ingero-io/ingero/capture/privilege"
	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/capture/probe/coverage"
	"github.com/ingero-io/ingero/internal/commands"
	"github.com/ingero-io/ingero/internal/doctor"
)

// newRoot builds the command tree. A new command is one file and one line here.
func newRoot(c *console) *cobra.Command {
	root := &cobra.Command{
		Use:   "ingero",
		Short: "Find out why a GPU waits",
		Long: `Ingero uses eBPF to record the CUDA calls of unmodified programs, and what Linux did
to the threads that made them. It explains which process, lock or disk made the GPU
wait. No data leaves this machine unless you export or serve it.

Start here:
  ingero demo incident       see it find the cause of a stall, without a GPU
  ingero check               see whether this machine can be traced
  sudo ingero trace          record; Ctrl+C stops
  ingero explain             explain what was recorded`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          noSuchCommand,
		RunE:          func(*cobra.Command, []string) error { return c.firstScreen() },

		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return takeCapabilities(cmd) },
	}
	root.SetOut(c.out)
	root.SetErr(c.err)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usage("%w; see %s --help", err, cmd.CommandPath())
	})
	root.AddCommand(
		checkCommand(c),
		traceCommand(c),
		annotateCommand(c),
		explainCommand(c),
		compareCommand(c),
		queryCommand(c),
		exportCommand(c),
		mergeCommand(c),
		fleetCommand(c),
		fleetPushCommand(c),
		mcpCommand(c),
		dashboardCommand(c),
		demoCommand(c),
		benchCommand(c),
	)
	commands.Add(root, build(), func(err error) error { return usageError{err} })
	addKnownFlags(root)
	root.InitDefaultHelpCmd()
	root.SuggestionsMinimumDistance = 2
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	return root
}

// capable are the commands that load eBPF programs. All others give up capabilities for good.
var capable = []string{"trace", "check", "demo", "bench"}

// takeCapabilities keeps the capabilities of a command that traces.
func takeCapabilities(cmd *cobra.Command) error {
	for cmd.HasParent() && cmd.Parent().HasParent() {
		cmd = cmd.Parent()
	}
	if slices.Contains(capable, cmd.Name()) {
		return privilege.Raise()
	}
	return privilege.Drop()
}

// noSuchCommand refuses a first word that is not a command.
func noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	msg := fmt.Sprintf("there is no command %q", args[0])
	if s := cmd.SuggestionsFor(args[0]); len(s) > 0 {
		msg += "; did you mean " + strings.Join(s, " or ") + "?"
	}
	return usage("%s; see ingero --help", msg)
}

// arguments makes the error for wrong positional arguments.
func arguments(minimum, maximum int, want string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < minimum || len(args) > maximum {
			return usage("%s takes %s, not %d arguments; see %[1]s --help", cmd.CommandPath(), want, len(args))
		}
		return nil
	}
}

// mutuallyExclusive refuses two flags that contradict each other.
func mutuallyExclusive(cmd *cobra.Command, a, b string) error {
	if cmd.Flags().Changed(a) && cmd.Flags().Changed(b) {
		return usage("--%s and --%s contradict each other; give one; see %s --help", a, b, cmd.CommandPath())
	}
	return nil
}

// refused says why even a privileged process may not trace, empty if only privileges are missing.
func refused(reasons []coverage.Reason) string {
	for _, r := range reasons {
		if r.What == doctor.Everything && r.Code != "capabilities" {
			return "why: " + r.Why + "\nnext: " + r.Next + "\n  details: ingero check"
		}
	}
	return ""
}

// hint returns advice for errors whose solution depends on the command line.
func hint(err error) string {
	switch {
	case errors.Is(err, probe.ErrPermission):
		if why := refused(doctor.Why(doctor.Options{})); why != "" {
			return why
		}
		self, e := os.Executable()
		if e != nil {
			self = "ingero"
		}
		return "next: sudo " + strings.Join(os.Args, " ") +
			"\n  or, once, to trace without root as a member of a group: " + doctor.GiveCapabilities(self)
	case errors.Is(err, probe.ErrLockedDown):
		return "next: boot with lockdown=integrity, or without secure boot"
	case errors.Is(err, probe.ErrNoBTF), errors.Is(err, probe.ErrUnsupported):
		return "next: ingero check"
	}
	return ""
}
