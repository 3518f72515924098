package main

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/ingero-io/ingero/capture/privilege"
	"github.com/ingero-io/ingero/lib/commands"
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
		RunE: func(*cobra.Command, []string) error { return c.firstScreen() },

		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return takeCapabilities(cmd) },
	}
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
		benchCommand(),
	)
	commands.Prepare(root, build(), c.out, c.err)
	addKnownFlags(root)
	return root
}

// capable are the commands that load eBPF programs. All others give up capabilities for good.
var capable = []string{"trace", "check", "demo"}

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

// mutuallyExclusive refuses two flags that contradict each other.
func mutuallyExclusive(cmd *cobra.Command, a, b string) error {
	if cmd.Flags().Changed(a) && cmd.Flags().Changed(b) {
		return usage("--%s and --%s contradict each other; give one; see %s --help", a, b, cmd.CommandPath())
	}
	return nil
}
