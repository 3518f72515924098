package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ingero-io/ingero/explain/compare"
	"github.com/ingero-io/ingero/explain/recording"
	"github.com/ingero-io/ingero/explain/source"
	"github.com/ingero-io/ingero/lib/commands"
	"github.com/ingero-io/ingero/store/sqlite"
)

// compareFlags are the flags of compare.
type compareFlags struct {
	failAbove string
	asJSON    bool
	by        string
	fleet     nodeFlags
}

func compareCommand(c *console) *cobra.Command {
	var f compareFlags
	cmd := &cobra.Command{
		Use:   "compare A B",
		Short: "Say what changed between two recordings, or two parts of one",
		Long: `Compare pairs the threads of two recordings by what they do, and says which of
them take longer for a step, by how much, and what the difference is made of:
more calls, longer calls, more time between calls, each by what the thread did
meanwhile. The parts add up to the difference. Below them are the causes that
came or went. It says so when the difference is no more than the noise.

A and B are recordings, or parts of one: FILE@FROM-TO, FILE@pid=4821, FILE@rank=3,
FILE@epoch=7 (a label that the program set), or several of these with commas
between them. FROM and TO are times of day (local;
14:00Z is UTC), or durations since the recording began; either may be left out.
Parts begin and end at whole seconds. Warm-up is left out where it matters.

With --nodes it compares the recordings of two nodes, on which "ingero dashboard" runs;
A and B are then parts of these, and may be left out.`,
		Example: `  ingero compare yesterday.db today.db
  ingero compare run.db@14:00-14:05 run.db@14:30-14:35   when did it get slower?
  ingero compare run.db@0s-30s run.db@120s-              from its begin
  ingero compare job.db@rank=0 job.db@rank=3             why is rank 3 slower?
  ingero compare run.db@epoch=6 run.db@epoch=7           two epochs, see docs/labels.md
  ingero compare yesterday.db today.db --by epoch        each epoch of two runs
  ingero compare --nodes gpu-01:8080,gpu-02:8080         why is one node slower?
  ingero compare --nodes gpu-01:8080,gpu-02:8080 14:00Z-14:05Z 14:00Z-14:05Z
  ingero compare main.db branch.db --fail-above 5%       in CI: exit code 1 if a step takes 5 % longer`,
		Args: commands.Arguments(0, 2, "two recordings, or parts of recordings"),
		RunE: func(cmd *cobra.Command, args []string) error {
			limit, err := f.limit()
			if err != nil {
				return err
			}
			if f.by != "" {
				return c.compareBy(cmd, &f, args, limit)
			}
			sides, err := c.sides(cmd, &f, args)
			if err != nil {
				return err
			}
			r := compare.Compare(sides[0], sides[1])
			if f.asJSON {
				err = commands.WriteJSON(c.out, r)
			} else {
				err = compare.WriteText(c.out, r, c.width(c.out))
			}
			if err == nil && f.failAbove != "" && r.SlowerThan(limit) {
				return commands.ExitCode(commands.ExitFailure)
			}
			return err
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.failAbove, "fail-above", "",
		"exit with code 1 if a thread got slower by more than this and than the noise (5%)")
	fl.BoolVar(&f.asJSON, "json", false, "print one JSON object")
	fl.StringVar(&f.by, "by", "", "compare how long each value of a label took (step, epoch); see docs/labels.md")
	f.fleet.addFlags(cmd)
	return cmd
}

// limit is the slowdown from which the command fails, percent.
func (f *compareFlags) limit() (float64, error) {
	if f.failAbove == "" {
		return 0, nil
	}
	var limit float64
	if _, err := fmt.Sscanf(strings.TrimSuffix(f.failAbove, "%")+" ", "%g ", &limit); err != nil || limit < 0 {
		return 0, usage("--fail-above %q is not a percentage: write for example 5%%", f.failAbove)
	}
	return limit, nil
}

// sides reads what is to be compared: of two nodes, or of files.
func (c *console) sides(cmd *cobra.Command, f *compareFlags, args []string) (sides []*compare.Side, err error) {
	if cmd.Flags().Changed("nodes") {
		fl, err := c.nodesClient(&f.fleet, cmd, "")
		if err != nil {
			return nil, err
		}
		defer fl.Close()
		if n := len(fl.Nodes()); n != 2 {
			return nil, usage("compare takes two nodes, not %d; write for example --nodes gpu-01:8080,gpu-02:8080", n)
		}
		return fl.Sides(cmd.Context(), append(args, "", "")[:2])
	}
	if err := f.fleet.unused(cmd); err != nil {
		return nil, err
	}
	if len(args) != 2 {
		return nil, usage("compare takes two recordings, or parts of recordings, not %d arguments", len(args))
	}
	for _, arg := range args {
		s, err := c.side(cmd.Context(), arg)
		if err != nil {
			return nil, err
		}
		sides = append(sides, s)
	}
	return sides, nil
}

// side reads one side of a comparison.
func (c *console) side(ctx context.Context, arg string) (*compare.Side, error) {
	path, sel, err := c.part(arg)
	if err != nil {
		return nil, err
	}
	rec, err := sqlite.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rec.Close() }() // a reader has no data to lose
	s, err := compare.Read(ctx, rec, sel)
	switch {
	case recording.IsMistaken(err):
		return nil, usage("%s: %w", arg, err)
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	s.Name, s.Report.DB = arg, path
	return s, nil
}

// part splits FILE@PART.
func (c *console) part(arg string) (path string, sel recording.Selection, err error) {
	path, part, ok := strings.Cut(arg, "@")
	if _, err := os.Stat(arg); ok && err != nil {
		if sel, err = recording.ParseSelection(part); err != nil {
			return "", sel, commands.UsageError{Err: fmt.Errorf("%s: %w", arg, err)}
		}
	} else {
		path, sel = arg, recording.Selection{Rank: -1}
	}
	path, err = c.toRead(path)
	return path, sel, err
}

// addBaselines adds the flag for recordings that clients may compare the served one with.
func addBaselines(cmd *cobra.Command, files *[]string) {
	cmd.Flags().StringArrayVar(files, "baseline", nil,
		"a recording that clients may compare this one with; may be repeated")
}

// openBaselines opens those recordings. They have to be there, and to have different file names, by
// which clients ask for them.
func (c *console) openBaselines(files []string) (list []recording.Source, done func(), err error) {
	names := map[string]bool{}
	done = func() {
		for _, s := range list {
			_ = s.Close() // it was only read
		}
	}
	for _, f := range files {
		rec, err := sqlite.Open(f)
		if err != nil {
			done()
			return nil, nil, err
		}
		_ = rec.Close()
		if names[filepath.Base(f)] {
			done()
			return nil, nil, usage("two recordings for --baseline are called %s; give one another name", filepath.Base(f))
		}
		names[filepath.Base(f)] = true
		list = append(list, source.New(f))
	}
	return list, done, nil
}
