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
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/lib/commands"
)

// groupFlags are the flags of overhead and store.
type groupFlags struct {
	only   []string
	quick  bool
	perf   bool
	asJSON bool
}

func (c *console) groupCommand(g bench.Group, short string) *cobra.Command {
	var f groupFlags
	cmd := &cobra.Command{
		Use:   string(g),
		Short: short,
		Args:  commands.Arguments(0, 0, "no arguments"),
		RunE:  func(cmd *cobra.Command, _ []string) error { return c.measure(cmd.Context(), g, &f) },
	}
	fl := cmd.Flags()
	fl.StringSliceVar(&f.only, "only", nil, "measure only these ("+strings.Join(measurementNames(g), ",")+")")
	fl.BoolVar(&f.quick, "quick", false, "fewer and shorter rounds: a look, not a measurement")
	fl.BoolVar(&f.asJSON, "json", false, "print one JSON object")
	if g == bench.Overhead {
		fl.BoolVar(&f.perf, "perf", false, "measure the perf back end too; it takes long to detach")
	}
	_ = cmd.RegisterFlagCompletionFunc("only",
		cobra.FixedCompletions(measurementNames(g), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func measurementNames(g bench.Group) []string {
	var names []string
	for _, m := range bench.All {
		if m.Group == g {
			names = append(names, m.Name)
		}
	}
	return names
}

func (c *console) listMeasurements() error {
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

func (c *console) measure(ctx context.Context, g bench.Group, f *groupFlags) error {
	chosen, err := bench.Select(g, f.only...)
	if err != nil {
		return commands.UsageError{Err: err}
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	p := commands.NewProgress(c.err, c.env)
	r, err := bench.Run(ctx, chosen, bench.Options{
		Quick: f.quick, Perf: f.perf, Ingero: commands.Beside("ingero"), Progress: p.Show,
	})
	p.End()
	if err != nil {
		if len(r.Rows) > 0 && !f.asJSON {
			_ = c.writeMeasurements(r) // the error is what matters
		}
		return err
	}
	if f.asJSON {
		return commands.WriteJSON(c.out, r)
	}
	return c.writeMeasurements(r)
}

func (c *console) writeMeasurements(r *bench.Report) error {
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
	fmt.Fprintf(&b, "\n%s on Linux %s, %s, %s", report.Plural(uint64(len(r.Rows)), "figure"), r.Kernel, r.Arch,
		report.Plural(uint64(r.CPUs), "CPU"))
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
