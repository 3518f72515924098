package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ingero-io/ingero/cluster/simulate"
)

// simulateFlags are the flags of simulate.
type simulateFlags struct {
	ranks  []int
	quick  bool
	seed   uint64
	json   bool
	replay string
	inject string // "20%"
	rank   int32
	atS    float64
	byWork bool
}

func simulateCommand(out, errs io.Writer) *cobra.Command {
	var f simulateFlags
	cmd := &cobra.Command{
		Use:   "simulate",
		Short: "Run simulated jobs through the detection, and score it",
		Long: `Simulate runs jobs in virtual time through the code that judges real ones: stragglers
at several steps and noises, jobs without any but with everything else that happens to
jobs, special cases, and outages of one of several fleets. It prints how many stragglers
were found, how soon, and how many alarms were false, and fails if a target is missed. The
same seed gives the same result.

With --replay it takes the own work of a job's ranks from a file with rows of: pipeline
stage, rank, step, micro-batch, model chunk, seconds of own work in the micro-batch, seconds
of the step. It prints the alarms of the job as recorded, and how often a straggler that is
added to it is found; with --inject, the alarms for the one you add. If the file has two
stages or more, the amount of work in a micro-batch is taken from the other stages.`,
		Example: `  ingero-fleet simulate                     all: 10 minutes
  ingero-fleet simulate --quick             few of all: seconds
  ingero-fleet simulate --n 8,64 --json
  ingero-fleet simulate --replay own.csv
  ingero-fleet simulate --replay own.csv --inject 20% --rank 5 --at 120`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage("simulate takes no arguments; see ingero-fleet simulate --help")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.replay == "" {
				for _, name := range []string{"inject", "rank", "at", "by-work"} {
					if cmd.Flags().Changed(name) {
						return usage("--%s needs --replay", name)
					}
				}
				return simulated(f, out, errs)
			}
			if f.inject == "" && (cmd.Flags().Changed("rank") || cmd.Flags().Changed("at") || f.byWork) {
				return usage("--rank, --at and --by-work need --inject")
			}
			return replayed(f, out)
		},
	}
	flags := cmd.Flags()
	flags.IntSliceVar(&f.ranks, "n", []int{3, 8, 64, 1000}, "sizes of cohorts")
	flags.BoolVar(&f.quick, "quick", false, "few trials")
	flags.Uint64Var(&f.seed, "seed", 1, "of the random numbers")
	flags.BoolVar(&f.json, "json", false, "print JSON")
	flags.StringVar(&f.replay, "replay", "", "replay the own work in a `FILE`")
	flags.StringVar(&f.inject, "inject", "", "put in a straggler: by how much it is slower, such as `20%`")
	flags.Int32Var(&f.rank, "rank", 0, "its rank")
	flags.Float64Var(&f.atS, "at", 120, "when it begins, in seconds")
	flags.BoolVar(&f.byWork, "by-work", false, "with --inject: take the amounts of work into account")
	return cmd
}

// sizes are the cohorts that simulate knows.
var sizes = map[int]bool{3: true, 8: true, 64: true, 1000: true}

// simulated runs the experiments.
func simulated(f simulateFlags, out, errs io.Writer) error {
	for _, n := range f.ranks {
		if !sizes[n] {
			return usage("--n %d: cohorts of 3, 8, 64 and 1000 ranks are simulated", n)
		}
	}
	o := simulate.Options{Ranks: f.ranks, Quick: f.quick, Seed: f.seed}
	if !f.quick {
		o.Row = func(r simulate.Row) { // what takes minutes says where it is
			fmt.Fprintf(errs, "%s: %s, %d ranks, steps of %g s\n", r.Part, r.Case, r.N, float64(r.StepS))
		}
	}
	r := simulate.Run(o)
	if err := write(&r, f.json, out); err != nil {
		return err
	}
	if !r.Met() {
		return errors.New("a target is not met")
	}
	return nil
}

// replayTrials is how many stragglers of each size are put into a trace.
const replayTrials = 60

func replayed(f simulateFlags, out io.Writer) error {
	factor := 0.0
	if f.inject != "" {
		percent, err := strconv.ParseFloat(strings.TrimSuffix(f.inject, "%"), 64)
		if err != nil || !(percent > 0 && percent <= 1000) {
			return usage("--inject %q: want a percentage, such as 20%%", f.inject)
		}
		factor = 1 + percent/100
	}
	file, err := os.Open(f.replay)
	if err != nil {
		return err
	}
	defer file.Close()
	trace, err := simulate.ReadTrace(file)
	if err != nil {
		return fmt.Errorf("read %s: %w", f.replay, err)
	}
	if f.byWork && !trace.HasWork() {
		return fmt.Errorf("%s has one stage: the amounts of work are not known", f.replay)
	}
	var r simulate.Result
	in := simulate.Injection{Rank: f.rank, Factor: factor, AtS: f.atS}
	if r.Alarms, err = trace.Replay(f.seed, f.byWork, in); err != nil {
		return fmt.Errorf("replay %s: %w", f.replay, err)
	}
	if factor == 0 {
		if r.Table, err = trace.Table(f.seed, replayTrials); err != nil {
			return fmt.Errorf("replay %s: %w", f.replay, err)
		}
	}
	return write(&r, f.json, out)
}

func write(r *simulate.Result, asJSON bool, out io.Writer) error {
	if asJSON {
		return r.WriteJSON(out)
	}
	return r.WriteText(out)
}
