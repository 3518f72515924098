package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/lib/commands"
	"github.com/ingero-io/ingero/store/sqlite"
)

// mergeFlags are the flags of merge.
type mergeFlags struct {
	output    string
	force     []string // NAME=FILE
	overwrite bool
}

func mergeCommand(c *console) *cobra.Command {
	var f mergeFlags
	cmd := &cobra.Command{
		Use:   "merge FILE FILE... -o FILE",
		Short: "Merge several recordings into one",
		Long: `Merge puts recordings of several machines, or of several tracers of one machine,
into a new one. Explain and query then use the records of all of them: explain
says which rank was late for a collective operation, and what delayed it on its
own machine. The recordings are only read. The new one appears when it is
complete, or not at all.

Events keep their ids, NODE:NUMBER. Stacks, arguments and control groups are
stored once. A recording that does not say which machine it is of, or says the
same as another machine's, gets a name with --force-node.

Recordings of Ingero 0.8 and 0.9 can be merged with each other, but not with newer
ones. The other commands read the result.`,
		Example: `  ingero merge node-01.db node-02.db -o cluster.db
  ingero explain cluster.db --since all
  ingero merge rank0.db rank1.db -o job.db                          two tracers of one machine
  ingero merge a.db b.db -o cluster.db --force-node gpu-02=b.db     both say "localhost"
  ingero merge a.db b.db -o cluster.db --force-node gpu-01=a.db --force-node gpu-02=b.db    of Ingero 0.8`,
		Args: commands.Arguments(2, 1<<20, "two or more recordings"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.output == "" {
				return usage("name the new recording: -o FILE; see ingero merge --help")
			}
			inputs, err := mergeInputs(args, f.force)
			if err != nil {
				return err
			}
			return c.merge(cmd.Context(), &f, inputs)
		},
	}
	fl := cmd.Flags()
	fl.StringVarP(&f.output, "output", "o", "", "the recording to make")
	fl.StringArrayVar(&f.force, "force-node", nil,
		"name of the machine that a recording is of, as NAME=FILE; may be repeated")
	fl.BoolVar(&f.overwrite, "overwrite", false, "replace the output if it exists")
	_ = cmd.MarkFlagFilename("output", "db") // fails only for a flag that does not exist
	return cmd
}

// mergeInputs are the recordings with the node names given for them.
func mergeInputs(files, force []string) ([]sqlite.MergeInput, error) {
	inputs := make([]sqlite.MergeInput, len(files))
	for i, f := range files {
		inputs[i].Path = f
	}
	for _, v := range force {
		name, file, ok := strings.Cut(v, "=")
		if !ok || name == "" || file == "" {
			return nil, usage("--force-node %s: say which recording it is for: --force-node NAME=FILE", v)
		}
		if strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == ':' || r == 0x7f }) {
			return nil, usage("--force-node %q: a name has no colon, which separates it from an event's number, and no "+
				"control characters", name)
		}
		found := false
		for i := range inputs {
			if filepath.Clean(inputs[i].Path) == filepath.Clean(file) {
				inputs[i].Node, found = name, true
			}
		}
		if !found {
			return nil, usage("--force-node %s: %s is not among the recordings to merge", v, file)
		}
	}
	return inputs, nil
}

func (c *console) merge(ctx context.Context, f *mergeFlags, inputs []sqlite.MergeInput) error {
	if err := c.boundMemory(); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	_, err := os.Lstat(f.output)
	out := recordingFile{path: f.output, fresh: f.overwrite || errors.Is(err, fs.ErrNotExist)}
	if o, err := c.owner(); err == nil {
		out.owner = o // on an error the file is owned by this user
	}
	o := sqlite.MergeOptions{Overwrite: f.overwrite}
	if c.isTerminal(c.err) {
		o.Progress = func(input string, done, total int64) {
			fmt.Fprintf(c.err, "\r\x1b[Kmerging %s, %d %%", filepath.Base(input), 100*done/max(total, 1))
		}
	}
	r, err := sqlite.Merge(ctx, f.output, inputs, o)
	if o.Progress != nil {
		fmt.Fprint(c.err, "\r\x1b[K")
	}
	switch {
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("stopped; %s was not made", f.output)
	case err != nil:
		return err
	}
	if err := out.handOver(); err != nil {
		return err
	}
	fmt.Fprintf(c.out, "%s: %s, %s, %s\n", f.output, withNoun(int64(len(inputs)), "recording"), listedNodes(r.Nodes),
		withNoun(r.Calls, "call"))
	if r.Moved > 0 {
		fmt.Fprintf(c.out, "  moved to the next free nanosecond, with a new id, because a recording before it in the list "+
			"has an event at its own: %s\n", withNoun(r.Moved, "event"))
	}
	if r.Skipped > 0 {
		fmt.Fprintf(c.out, "  left out, because another recording of the same machine has it too: %s\n",
			withNoun(r.Skipped, "row"))
	}
	fmt.Fprintf(c.out, "next: ingero explain %s --since all\n", f.output)
	return nil
}

func withNoun(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%s %ss", report.Count(uint64(n)), noun)
}

// listedNodes names the machines in a recording.
func listedNodes(names []string) string {
	if len(names) == 1 {
		return "node " + names[0]
	}
	return fmt.Sprintf("nodes %s", strings.Join(names, ", "))
}
