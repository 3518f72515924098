// Package reports measures how often explanations are right for faults that nobody here invented: public bug reports
// of GPU programs, rebuilt as programs (cases). Each begins healthy, has a fault from a known time on, and prints what
// it measured itself; each has a control, which does everything but the fault.
//
// Programs are traced and explained as users do it, with the program ingero: started under the tracer, and attached to
// while they run. What is right is written down in a case's Truth before it runs: the first finding must name it. See
// Judge, which is pure, for the four grades. Some cases are left out unless they are asked for (Options.Final): what is
// said of them is looked at only at the end, so that it shows how right a diagnosis is that nobody made for them.
package reports

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ingero-io/ingero/internal/hollow"
	"github.com/ingero-io/ingero/internal/real/torch"
)

// Options say what to run.
type Options struct {
	Ingero   string   // path of the program
	Only     []string // names of cases; empty: all
	Final    bool     // the cases that nobody tunes on, and no others; else all others
	Ways     []Way    // empty: all
	Seeds    []int    // of the programs' own random numbers; empty: 1
	Keep     string   // folder to leave the recordings in; empty: nowhere
	Fetched  io.Writer
	Progress func(done, of int, name string)
}

// Way is how a program is traced.
type Way string

// The ways.
const (
	Launched Way = "launched" // ingero trace -- PROGRAM
	Attached Way = "attached" // ingero trace --pid, some seconds after the start
)

// Ways lists them.
var Ways = []Way{Launched, Attached}

// Names lists the cases of a group: those that nobody tunes on, or all others.
func Names(final bool) []string {
	var names []string
	for i := range cases {
		if cases[i].Final == final {
			names = append(names, cases[i].Name)
		}
	}
	return names
}

// Run runs and judges cases. If there is an error, the report has what ran before it.
func Run(ctx context.Context, o Options) (*Report, error) {
	r := &Report{Schema: 1, Final: o.Final, Results: []Result{}}
	list, err := o.chosen()
	if err != nil {
		return r, err
	}
	w, err := newWorkshop(ctx, &o, list)
	if err != nil {
		return r, err
	}
	defer w.close()
	for i, x := range list {
		o.Progress(i, len(list), x.title())
		if err := w.runCase(ctx, &x); err != nil {
			return r, fmt.Errorf("run %s: %w", x.title(), err)
		}
		r.Results = append(r.Results, x)
	}
	r.sum()
	return r, nil
}

// chosen lists the runs.
func (o *Options) chosen() (list []Result, err error) {
	names := Names(o.Final)
	for _, n := range o.Only {
		if !slices.Contains(names, n) {
			return nil, fmt.Errorf("there is no case %q; there are %s", n, strings.Join(names, ", "))
		}
	}
	ways, seeds := o.Ways, o.Seeds
	if len(ways) == 0 {
		ways = Ways
	}
	if len(seeds) == 0 {
		seeds = []int{1}
	}
	for i := range cases {
		c := &cases[i]
		if c.Final != o.Final || len(o.Only) > 0 && !slices.Contains(o.Only, c.Name) {
			continue
		}
		for _, way := range ways {
			for _, seed := range seeds {
				with := Result{Case: c, Way: way, Seed: seed}
				without := with
				without.Control = true
				list = append(list, with, without)
			}
		}
	}
	return list, nil
}

// workshop has what the programs need to run.
type workshop struct {
	o     *Options
	dir   string // of sources, programs and recordings
	gpu   string // the hollow GPU's libraries for programs in C
	torch torch.Files
}

func newWorkshop(ctx context.Context, o *Options, list []Result) (w *workshop, err error) {
	w = &workshop{o: o}
	if w.dir, err = os.MkdirTemp("", "ingero-reports-"); err != nil {
		return nil, fmt.Errorf("make a folder for the programs: %w", err)
	}
	defer func() {
		if err != nil {
			w.close()
		}
	}()
	if err = os.CopyFS(w.dir, sources); err != nil {
		return nil, fmt.Errorf("unpack the programs: %w", err)
	}
	if w.gpu, err = hollow.Build(ctx); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(list, func(x Result) bool { return x.Case.torch }) {
		if w.torch, err = torch.Fetch(ctx, o.Fetched); err != nil {
			return nil, err
		}
	}
	if o.Keep != "" {
		err = os.MkdirAll(o.Keep, 0o755)
	}
	return w, err
}

// close removes what is not kept.
func (w *workshop) close() { _ = os.RemoveAll(w.dir) } // leftovers are in the folder for temporary files

// source is the path of a case's file.
func (w *workshop) source(name string) string { return filepath.Join(w.dir, "cases", name) }
