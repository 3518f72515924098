package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/ingero-io/ingero/bench/accuracy"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/lib/commands"
)

// compareFlags are the flags of bench compare.
type compareFlags struct {
	accuracy.Options
	asJSON bool
}

func (c *console) compareCommand() *cobra.Command {
	var f compareFlags
	cmd := &cobra.Command{
		Use:   "compare",
		Short: "Measure how often comparisons of recordings are right (needs root)",
		Long: `Bench compare records pairs of runs with a known difference and pairs without one,
compares each pair as "ingero compare" does, and counts how often the right part of
the difference is listed first, and how exact the amounts are. What is to be found is
what the program counted and timed itself. The runs are drawn from --seed. It takes
some ten minutes, with --quick three. No GPU is needed.`,
		Example: "  sudo ingero bench compare --quick\n  sudo ingero bench compare --seed 7 --json\n  sudo ingero bench " +
			"compare --only waits,equal --keep recordings",
		Args: commands.Arguments(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if s := f.Seconds; cmd.Flags().Changed("seconds") && !(s >= accuracy.MinCompareSeconds && s <= accuracy.MaxSeconds) {
				return commands.Usage("--seconds %g is out of range; a run lasts for %d to %d seconds", f.Seconds,
					accuracy.MinCompareSeconds, accuracy.MaxSeconds)
			}
			return c.compare(cmd.Context(), &f)
		},
	}
	fl := cmd.Flags()
	fl.Uint64Var(&f.Seed, "seed", 1, "draw the runs from this number")
	fl.StringSliceVar(&f.Only, "only", nil,
		"compare only pairs with these differences ("+strings.Join(accuracy.CompareNames(), ",")+")")
	fl.BoolVar(&f.Quick, "quick", false, "one pair of each difference, and shorter runs")
	fl.Float64Var(&f.Seconds, "seconds", 0, fmt.Sprintf("length of each run (default %d, with --quick %d)",
		accuracy.CompareSeconds, accuracy.QuickCompareSeconds))
	fl.StringVar(&f.Keep, "keep", "", "leave the recordings in this folder")
	fl.BoolVar(&f.asJSON, "json", false, "print one JSON object")
	_ = cmd.RegisterFlagCompletionFunc("only",
		cobra.FixedCompletions(accuracy.CompareNames(), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.MarkFlagDirname("keep") // fails only for a flag that does not exist
	return cmd
}

func (c *console) compare(ctx context.Context, f *compareFlags) error {
	o := f.Options
	if err := c.setAccuracy(&o); err != nil {
		return err
	}
	plan, err := accuracy.PlanComparisons(&o)
	if err != nil {
		return commands.UsageError{Err: err}
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	p := commands.NewProgress(c.err, c.env)
	o.Progress = func(done, of int, name string) { p.Show(fmt.Sprintf("%d of %d: %s", done+1, of, name)) }
	r, err := accuracy.RunComparisons(ctx, plan, o)
	p.End()
	switch {
	case err != nil && len(r.Results) == 0:
		return err
	case f.asJSON:
		return errors.Join(commands.WriteJSON(c.out, r), err)
	}
	return errors.Join(c.writeComparisons(r), err)
}

func (c *console) writeComparisons(r *accuracy.CompareReport) error {
	var b strings.Builder
	if t := knownTable(r); len(t) > 1 {
		writeColumns(&b, t, 9)
		b.WriteString("\n")
	}
	if t := equalTable(r); len(t) > 1 {
		writeColumns(&b, t)
		b.WriteString("\n")
	}
	writeColumns(&b, [][]string{
		{"all", "right"},
		{"known differences, all right", partOf(r.Known)},
		{"the right part first", partOf(r.First)},
		{fmt.Sprintf("amounts within %.0f %%", 100*accuracy.MostOff), partOf(r.Amount)},
		{"cause and culprit", partOf(r.Causes)},
		{"equal pairs, nothing said", partOf(r.Equal)},
		{"amounts off by, median", optional(r.MedianOff, share)},
		{"largest difference of an equal pair", percent(r.LargestPct)},
	})
	fmt.Fprintf(&b, "\nseed %d: %s, on Linux %s, %s, %s", r.Seed, report.Plural(uint64(len(r.Results)), "pair"),
		r.Kernel, r.Arch, report.Plural(uint64(r.CPUs), "CPU"))
	writeNotJudged(&b, r.Disturbed, r.Skipped)
	_, err := io.WriteString(c.out, b.String())
	return err
}

// knownTable has a line for each pair with a known difference.
func knownTable(r *accuracy.CompareReport) [][]string {
	t := [][]string{{
		"known difference", "first", "amount", "cause", "off by", "slower", "noise", "stolen", "others", "first part found",
	}}
	for i := range r.Results {
		x := &r.Results[i]
		if x.Equal() {
			continue
		}
		found, cause, amount, off := "none", "", mark(x.AmountRight()), share(x.Off())
		if len(x.Parts) > 0 {
			found = x.Parts[0].Text
		}
		if x.CauseRight != nil {
			cause = mark(*x.CauseRight)
		}
		if x.Unsure {
			amount = "-"
		}
		first := mark(x.First)
		switch {
		case x.Skipped != "":
			t = append(t, []string{x.Name, "-", "-", "", "", "", "", "", "", "skipped: " + x.Skipped})
			continue
		case x.Disturbed:
			first, amount, cause, off, found = "-", "-", "", "", "disturbed"
		}
		t = append(t, []string{
			x.Name, first, amount, cause, off, percent(x.SlowerPct), percent(x.NoisePct), share(max(x.A.Steal, x.B.Steal)),
			share(max(x.A.OtherLoad, x.B.OtherLoad)), found,
		})
	}
	return t
}

// equalTable has a line for each program that ran several times.
func equalTable(r *accuracy.CompareReport) [][]string {
	t := [][]string{{
		"equal runs", "pairs", "nothing said", "largest difference", "its noise", "stolen", "others", "disturbed",
	}}
	var names []string
	by := map[string][]*accuracy.Compared{}
	for i := range r.Results {
		if x := &r.Results[i]; x.Equal() && x.Skipped == "" {
			if by[x.Name] == nil {
				names = append(names, x.Name)
			}
			by[x.Name] = append(by[x.Name], x)
		}
	}
	for _, name := range names {
		t = append(t, equalLine(name, by[name]))
	}
	return t
}

func equalLine(name string, list []*accuracy.Compared) []string {
	judged := slices.DeleteFunc(slices.Clone(list), func(x *accuracy.Compared) bool { return x.Disturbed })
	line := []string{name, strconv.Itoa(len(judged)), "-", "", "", "", "", strconv.Itoa(len(list) - len(judged))}
	if len(judged) == 0 {
		return line
	}
	silent, stolen, others := 0, 0.0, 0.0
	most := judged[0]
	for _, x := range judged {
		if !x.Changed {
			silent++
		}
		if math.Abs(x.SlowerPct) > math.Abs(most.SlowerPct) {
			most = x
		}
		stolen, others = max(stolen, x.A.Steal, x.B.Steal), max(others, x.A.OtherLoad, x.B.OtherLoad)
	}
	copy(line[2:], []string{
		strconv.Itoa(silent), percent(math.Abs(most.SlowerPct)), percent(most.NoisePct), share(stolen), share(others),
	})
	return line
}

// percent is a percentage with a decimal where that matters.
func percent(v float64) string {
	if math.Abs(v) < 10 {
		return strconv.FormatFloat(v, 'f', 1, 64) + " %"
	}
	return strconv.FormatFloat(v, 'f', 0, 64) + " %"
}
