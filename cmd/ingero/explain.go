package main

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	"github.com/ingero-io/ingero/explain/diagnose"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/lib/commands"
)

// explainFlags are the flags of explain.
type explainFlags struct {
	db         string
	window     windowFlags
	pids       []uint32
	perProcess bool
	verbose    bool
	chainsOnly bool
	asJSON     bool
	by         string
	fleet      nodeFlags
}

func explainCommand(c *console) *cobra.Command {
	var f explainFlags
	cmd := &cobra.Command{
		Use:   "explain [FILE]",
		Short: "Explain what made the GPU wait",
		Long: `Explain reads a recording and says which threads lost time, to what, and who
caused it: how much of it is proved, the chain from the slow call to the root, the
calls to look at, and what to do. It says so when nothing is wrong and when the
evidence is not enough. It never changes the recording.

With --by it sums up by what programs said they work on (ingero annotate): how long
each epoch took, for example, what its thread waited for, and what was lost in it.

With --nodes it queries many machines at once, where "ingero dashboard" serves their
recordings, and says on which of them the GPU waits, the worst first. If some do not
answer, it says what the others found, and the exit code is 3.`,
		Example: `  ingero explain                            the default recording; while it is being made, its last 5m
  ingero explain run.db --since 30m         the last half hour of a saved recording
  ingero explain --per-process --since 30s  with the statistics of every process
  ingero explain --pid 4821 --json          one process, for programs
  ingero explain run.db --by epoch          each epoch, and what was lost in it
  ingero explain --nodes gpu-node-01:8080,gpu-node-02:8080  which node, and why`,
		Args: commands.Arguments(0, 1, "at most one recording"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cmp.Or(oneRecording(&f.db, args), mutuallyExclusive(cmd, "chains", "per-process"),
				mutuallyExclusive(cmd, "by", "chains"), mutuallyExclusive(cmd, "by", "per-process"),
				mutuallyExclusive(cmd, "since", "from"), mutuallyExclusive(cmd, "since", "to")); err != nil {
				return err
			}
			fl, err := c.nodesClient(&f.fleet, cmd, f.db)
			if err != nil {
				return err
			}
			if fl == nil && f.by != "" {
				return c.explainBy(cmd.Context(), &f)
			}
			if fl == nil {
				return c.explain(cmd.Context(), &f)
			}
			for _, name := range []string{"pid", "per-process", "chains", "by"} {
				if cmd.Flags().Changed(name) {
					return usage("--%s cannot be used with --nodes; see ingero explain --help", name)
				}
			}
			return c.explainNodes(cmd.Context(), fl, &f)
		},
	}
	fl := cmd.Flags()
	addDatabase(cmd, &f.db)
	f.window.addFlags(fl)
	f.fleet.addFlags(cmd)
	fl.Var((*pidList)(&f.pids), "pid", "report only the lost time of these processes (4821,4822)")
	fl.BoolVar(&f.perProcess, "per-process", false, "add the statistics of every operation of every process")
	fl.BoolVar(&f.chainsOnly, "chains", false, "only the chains from effect to cause")
	fl.BoolVarP(&f.verbose, "verbose", "v", false,
		"all of it: stacks, events, the slow calls, steps, each kind of dropped record")
	fl.StringVar(&f.by, "by", "", "sum up by a label that programs set, such as step or epoch")
	fl.BoolVar(&f.asJSON, "json", false, "print one JSON object")
	return cmd
}

// addDatabase adds the flag that names the recording to read.
func addDatabase(cmd *cobra.Command, db *string) {
	cmd.Flags().StringVarP(db, "db", "d", "", "the recording (default $"+databaseEnv+
		", else that of ingero.yaml, else ~/.ingero/ingero.db)")
	_ = cmd.MarkFlagFilename("db", "db") // fails only for a flag that does not exist
}

func (c *console) explain(ctx context.Context, f *explainFlags) error {
	v, err := c.view(ctx, f.db, &f.window, f.pids...)
	if err != nil {
		return err
	}
	defer func() { _ = v.Close() }() // a reader has no data to lose
	rep, err := diagnose.Explain(ctx, v.Recording, v.Window, func(in *diagnose.Input) {
		in.DB, in.Note, in.PerProcess = v.path, v.Note, f.perProcess
		in.Only(f.pids)
	})
	if err != nil {
		return err
	}
	if f.chainsOnly {
		rep.NotExplained, rep.Idle, rep.QueueWaits = []report.NotExplained{}, nil, nil
	}
	if f.asJSON {
		return commands.WriteJSON(c.out, rep)
	}
	return c.writeReport(rep, !f.verbose)
}

func (c *console) writeReport(r *report.Report, brief bool) error {
	return report.WriteText(c.out, r, report.TextOptions{Width: c.width(c.out), Color: c.colour(c.out), Brief: brief})
}

// writeJSON prints one value as indented JSON.
