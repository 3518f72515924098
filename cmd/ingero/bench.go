package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/ingero-io/ingero/bench"
)

// benchFlags are the flags of the commands below bench.
type benchFlags struct {
	only   []string
	quick  bool
	perf   bool
	asJSON bool
}

func benchCommand(c *console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure the overhead and the accuracy of Ingero on this machine",
		Long: `Bench measures what tracing costs the traced program, the programs beside it, and
the machine, and what recordings cost, each figure next to its target; and how often
explanations are right. It runs the real tracer on a program that uses stand-ins for
the CUDA libraries, so no GPU is needed. The quieter the machine, the truer the figures.

Without a name it lists what can be measured.`,
		Example: "  ingero bench\n  sudo ingero bench overhead --quick\n  sudo ingero bench overhead --only call,loop " +
			"--json\n  ingero bench store\n  sudo ingero bench diagnosis --quick",
		Args: noSuchCommand,
		RunE: func(*cobra.Command, []string) error { return c.listBenches() },
	}
	cmd.AddCommand(
		c.benchGroup(bench.Overhead, "Measure what tracing costs, and whether it is exact (needs root)"),
		c.benchGroup(bench.Store, "Measure writing and reading recordings"),
		c.benchDiagnosisCommand(),
		c.benchCompareCommand(),
		c.benchFleetCommand(),
	)
	return cmd
}

func (c *console) benchGroup(g bench.Group, short string) *cobra.Command {
	var f benchFlags
	cmd := &cobra.Command{
		Use:   string(g),
		Short: short,
		Args:  arguments(0, 0, "no arguments"),
		RunE:  func(cmd *cobra.Command, _ []string) error { return c.bench(cmd.Context(), g, &f) },
	}
	fl := cmd.Flags()
	fl.StringSliceVar(&f.only, "only", nil, "measure only these ("+strings.Join(benchNames(g), ",")+")")
	fl.BoolVar(&f.quick, "quick", false, "fewer and shorter rounds: a look, not a measurement")
	fl.BoolVar(&f.asJSON, "json", false, "print one JSON object")
	if g == bench.Overhead {
		fl.BoolVar(&f.perf, "perf", false, "measure the perf back end too; it takes long to detach")
	}
	_ = cmd.RegisterFlagCompletionFunc("only", cobra.FixedCompletions(benchNames(g), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func benchNames(g bench.Group) []string {
	var names []string
	for _, m := range bench.All {
		if m.Group == g {
			names = append(names, m.Name)
		}
	}
	return names
}

func (c *console) listBenches() error {
	var b strings.Builder
	for _, m := range bench.All {
		fetches := ""
		if m.Fetches != "" {
			fetches = " (only by name: may have to fetch " + m.Fetches + ")"
		}
		fmt.Fprintf(&b, "  %-9s %-10s %s%s\n", m.Group, m.Name, m.About, fetches)
	}
	fmt.Fprintf(&b, "  %-9s %-10s %s\n", "diagnosis", "", "how often explanations of known faults are right")
	fmt.Fprintf(&b, "  %-9s %-10s %s\n", "compare", "", "how often known differences of two recordings are found")
	fmt.Fprintf(&b, "  %-9s %-10s %s\n", "fleet", "", "how soon a slow rank is reported, with its cause")
	b.WriteString("\nMeasure: ingero bench overhead, store, diagnosis, compare or fleet; --quick for a first look, " +
		"--only NAME for one\n")
	_, err := io.WriteString(c.out, b.String())
	return err
}

func (c *console) bench(ctx context.Context, g bench.Group, f *benchFlags) error {
	chosen, err := bench.Select(g, f.only...)
	if err != nil {
		return usageError{err}
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	p := &benchProgress{c: c}
	r, err := bench.Run(ctx, chosen, bench.Options{Quick: f.quick, Perf: f.perf, Progress: p.say})
	p.end()
	if err != nil {
		if len(r.Rows) > 0 && !f.asJSON {
			_ = c.writeBench(r) // the error is what matters
		}
		return err
	}
	if f.asJSON {
		return writeJSON(c.out, r)
	}
	return c.writeBench(r)
}

// benchProgress writes progress to standard error: on one line of a terminal, or as separate lines.
type benchProgress struct{ c *console }

func (p *benchProgress) say(what string) {
	if p.c.isTerminal(p.c.err) {
		fmt.Fprintf(p.c.err, "\r\x1b[K%s", what)
		return
	}
	fmt.Fprintln(p.c.err, what)
}

func (p *benchProgress) end() {
	if p.c.isTerminal(p.c.err) {
		fmt.Fprint(p.c.err, "\r\x1b[K")
	}
}

func (c *console) writeBench(r *bench.Report) error {
	t := [][]string{{"measurement", "measured", "target", ""}}
	over := 0
	for i := range r.Rows {
		row := &r.Rows[i]
		verdict := ""
		switch {
		case row.OK == nil:
		case *row.OK:
			verdict = "ok"
		default:
			verdict = "OVER"
			over++
		}
		t = append(t, []string{row.Measurement + ": " + row.Name, measured(row), targetText(row), verdict})
	}
	var b strings.Builder
	writeColumns(&b, t)
	fmt.Fprintf(&b, "\n%s on Linux %s, %s, %s", plural(uint64(len(r.Rows)), "figure"), r.Kernel, r.Arch,
		plural(uint64(r.CPUs), "CPU"))
	if over > 0 {
		fmt.Fprintf(&b, "; %d over target", over)
	}
	if r.Quick {
		b.WriteString("; quick, so expect noise")
	}
	b.WriteString("\nWhat each line means: docs/benchmarks.md; what it was made of: --json\n")
	_, err := io.WriteString(c.out, b.String())
	return err
}

// writeColumns aligns the first column left, as those with the given indices, and
// the rest right.
func writeColumns(b *strings.Builder, t [][]string, left ...int) {
	widths := make([]int, len(t[0]))
	for _, line := range t {
		for i, s := range line {
			widths[i] = max(widths[i], len([]rune(s)))
		}
	}
	for _, line := range t {
		var row strings.Builder
		for i, s := range line {
			pad := strings.Repeat(" ", widths[i]-len([]rune(s)))
			switch {
			case i == 0:
				row.WriteString(s + pad)
			case slices.Contains(left, i):
				row.WriteString("  " + s + pad)
			default:
				row.WriteString("  " + pad + s)
			}
		}
		b.WriteString(strings.TrimRight(row.String(), " ") + "\n")
	}
}

func measured(r *bench.Row) string {
	s := figure(r.Measured, r.Unit)
	if r.Error > 0 {
		s += " ± " + number(r.Error, r.Unit)
	}
	return s
}

func targetText(r *bench.Row) string {
	switch {
	case r.Target == nil:
		return ""
	case r.Target.AtLeast != nil:
		return "≥ " + figure(*r.Target.AtLeast, r.Unit)
	case *r.Target.AtMost == 0:
		return "0"
	}
	return "≤ " + figure(*r.Target.AtMost, r.Unit)
}

func figure(v float64, u bench.Unit) string {
	if u == bench.Ratio {
		return number(v, u)
	}
	return number(v, u) + " " + string(u)
}

// number formats a value with the decimals that its unit deserves.
func number(v float64, u bench.Unit) string {
	decimals := 1
	switch {
	case u == bench.Ratio:
		decimals = 3
	case u == bench.Seconds:
		decimals = 2
	case u == bench.Calls, slices.Contains([]bench.Unit{bench.Nanoseconds, bench.Megabytes}, u) && (v >= 100 || v <= -100):
		decimals = 0
	}
	return strconv.FormatFloat(v, 'f', decimals, 64)
}
