package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/ingero-io/ingero/bench/straggler"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/lib/commands"
)

// fleetFlags are the flags of bench fleet.
type fleetFlags struct {
	straggler.Options
	asJSON bool
}

func (c *console) fleetCommand() *cobra.Command {
	var f fleetFlags
	cmd := &cobra.Command{
		Use:   "fleet",
		Short: "Measure how soon a slow rank is reported, with its cause (needs root)",
		Long: `Bench fleet runs a job of eight stand-in ranks on two nodes, which are network namespaces of
this machine, each with a tracer, with a server and a sink. It makes one rank slow in known ways
and by known amounts, ends it, makes it hang, cuts off a node and kills the server. It measures
how soon each fault is reported, whether the right rank and cause are named, and what is reported
wrongly. It also measures how much more CPU time a tracer takes that compares ranks ("cost"). It
takes some 25 minutes, with --quick twelve. No GPU is needed, but ingero-fleet and straggler-sink
are, beside this program or in the path (make fleet builds them).`,
		Example: "  sudo ingero bench fleet --quick\n  sudo ingero bench fleet --only disk,exit --json\n" +
			"  sudo ingero bench fleet --only even --even 1h",
		Args: commands.Arguments(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.Even < 0 {
				return commands.Usage("--even %s is out of range", f.Even)
			}
			return c.fleet(cmd.Context(), &f)
		},
	}
	fl := cmd.Flags()
	fl.StringSliceVar(&f.Only, "only", nil, "run only these cases ("+strings.Join(straggler.Names(), ",")+")")
	fl.BoolVar(&f.Quick, "quick", false, "one size of each cause, and a shorter run without a fault")
	fl.DurationVar(&f.Even, "even", 0, fmt.Sprintf(
		"duration of the run without a fault (default %s, with --quick %s)", brief(straggler.EvenTime),
		brief(straggler.QuickEvenTime)))
	fl.BoolVar(&f.asJSON, "json", false, "print one JSON object")
	_ = cmd.RegisterFlagCompletionFunc("only",
		cobra.FixedCompletions(straggler.Names(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// brief is a duration of whole minutes, as 5m.
func brief(d time.Duration) string { return strings.TrimSuffix(d.String(), "0s") }

func (c *console) fleet(ctx context.Context, f *fleetFlags) error {
	o := f.Options
	plan, err := straggler.Plan(&o)
	if err != nil {
		return commands.UsageError{Err: err}
	}
	o.Ingero, o.Fleet = commands.Beside("ingero"), commands.Beside("ingero-fleet")
	o.Sink = commands.Beside("straggler-sink")
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	p := commands.NewProgress(c.err, c.env)
	o.Progress = func(done, of int, name string) { p.Show(fmt.Sprintf("%d of %d: %s", done+1, of, name)) }
	r, err := straggler.Run(ctx, plan, o)
	p.End()
	switch {
	case err != nil && len(r.Results) == 0:
		return err
	case f.asJSON:
		return errors.Join(commands.WriteJSON(c.out, r), err)
	}
	return errors.Join(c.writeStragglers(r), err)
}

// writeStragglers has a line for each run, and the false reports.
func (c *console) writeStragglers(r *straggler.Report) error {
	t := [][]string{{"case", "late by", "reported after", "cause after", "limit", "", "false", "others", "cause"}}
	var wrong strings.Builder
	right := 0
	for i := range r.Results {
		x := &r.Results[i]
		verdict, limit := "NO", fmt.Sprintf("%.0f s", x.Limit())
		if x.OK() {
			verdict = "ok"
			right++
		}
		cause := x.Cause
		if x.EndS != nil {
			cause = fmt.Sprintf("there again after %.1f s", *x.EndS)
		}
		if x.Name == "even" {
			limit, cause = "", fmt.Sprintf("%d steps in %.0f s", x.Steps, x.Seconds)
		}
		if x.AddedPct != nil {
			limit = "0.2 %"
			cause = fmt.Sprintf("a tracer takes %.2f %% of a core more than the %.2f %% without a fleet", *x.AddedPct,
				*x.TracerPct)
		}
		t = append(t, []string{
			x.Title(), unless(x.LateMS, "%.0f ms"), unless(x.ToldS, "%.1f s"), unless(x.CauseS, "%.1f s"), limit, verdict,
			fmt.Sprint(len(x.False)), fmt.Sprintf("%.0f %%", x.OthersPct), cause,
		})
		for _, line := range x.False {
			fmt.Fprintf(&wrong, "%s: %s\n", x.Title(), line)
		}
	}
	var b strings.Builder
	writeColumns(&b, t, 5, 8)
	fmt.Fprintf(&b, "\n%d of %d right; %d ranks on two nodes, steps of %.0f ms; Linux %s, %s, %s\n", right, len(r.Results),
		r.Ranks, r.StepMS, r.Kernel, r.Arch, report.Plural(uint64(r.CPUs), "CPU"))
	if wrong.Len() > 0 {
		fmt.Fprintf(&b, "\nReported wrongly:\n%s", wrong.String())
	}
	_, err := io.WriteString(c.out, b.String())
	return err
}

func unless(v *float64, format string) string {
	if v == nil {
		return ""
	}
	return fmt.Sprintf(format, *v)
}
