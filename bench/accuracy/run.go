package accuracy

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/internal/cudastub"
	"github.com/ingero-io/ingero/internal/rig"
)

// Run runs and scores cases. If there is an error, the report has the cases before it.
func Run(ctx context.Context, cases []Case, o Options) (*Report, error) {
	r := &Report{
		Schema: 1, Seed: o.Seed, Quick: o.Quick, Kernel: kernel(), Arch: runtime.GOARCH, CPUs: runtime.NumCPU(),
		Results: []Result{},
	}
	if o.Progress == nil {
		o.Progress = func(int, int, string) {}
	}
	defer r.sum(o.Baseline)
	if o.Keep != "" {
		if err := os.MkdirAll(o.Keep, 0o755); err != nil {
			return r, fmt.Errorf("make a folder for the recordings: %w", err)
		}
	}
	for i, c := range cases {
		o.Progress(i, len(cases), c.title())
		x, err := one(ctx, c, &o)
		if err != nil {
			return r, fmt.Errorf("run %s: %w", c.title(), err)
		}
		r.Results = append(r.Results, x)
	}
	return r, nil
}

// kernel is this machine's kernel, empty if it does not say.
func kernel() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return ""
	}
	return unix.ByteSliceToString(u.Release[:])
}

// title names a case and its magnitude.
func (c *Case) title() string {
	if c.Magnitude == "" {
		return c.Name
	}
	return c.Name + ", " + string(c.Magnitude)
}

// one runs and scores a case.
func one(ctx context.Context, c Case, o *Options) (Result, error) {
	if len(o.CPUs) < c.needs {
		return Result{Case: c, Skipped: fmt.Sprintf("needs %d CPUs", c.needs)}, nil
	}
	dir, err := rig.Folder("ingero-accuracy-")
	if err != nil {
		return Result{}, err
	}
	defer os.RemoveAll(dir) // leftovers are in the folder for temporary files
	db := filepath.Join(dir, "run.db")
	if o.Keep != "" {
		if db, err = keep(o.Keep, c.title()); err != nil {
			return Result{}, err
		}
	}
	opts := rig.Options{
		Args: c.Args, Beside: c.Beside, Dir: dir, DB: db,
		Backend: o.Backend, Node: "bench", Version: o.Version, Flags: "bench diagnosis",
	}
	if c.real != nil {
		c.real(&opts)
	}
	run, err := rig.Run(ctx, opts, nil)
	if errors.Is(err, cudastub.ErrUnsupported) || errors.Is(err, cudastub.ErrUsage) {
		return Result{Case: c, Skipped: reason(err)}, nil
	}
	if err != nil {
		return Result{}, err
	}
	x := judge(c, run)
	if c.pace != nil {
		x.CostShare, x.InputShare = c.pace.cost()
		x.Skipped = c.pace.notJudged(c.Control())
	}
	if o.Keep != "" {
		x.Recording = db
	}
	x.changes(run.Input, &run.Truth)
	if x.Agent, err = c.investigate(ctx, db, &run.Truth); err != nil {
		return x, err
	}
	if err := x.compareNumbers(ctx, db, run); err != nil {
		return x, err
	}
	if o.Baseline {
		x.Baseline = judgeRule(&x, CoOccurrence(run.Input), &run.Truth)
	}
	if !c.whatIf || !x.judged() {
		return x, nil
	}
	opts.Args, opts.DB = healthy(c.Args), filepath.Join(dir, "healthy.db")
	without, err := rig.Trace(ctx, &opts)
	if err != nil {
		return x, err
	}
	x.compare(run.Report.Chains, &run.Truth, &without.Truth)
	return x, nil
}

// keep is the path at which the recording of a run with a name is kept.
func keep(dir, name string) (string, error) {
	path := filepath.Join(dir, strings.NewReplacer(" ", "-", ",", "").Replace(name)+".db")
	if _, err := os.Lstat(path); err == nil {
		return "", fmt.Errorf("%s exists already; remove it or keep the recordings elsewhere", path)
	}
	return path, nil
}

// reason is the last part of an error, without what was attempted.
func reason(err error) string {
	lines := strings.Split(strings.TrimSpace(err.Error()), "\n")
	parts := strings.Split(lines[len(lines)-1], ": ")
	return parts[len(parts)-1]
}

// healthy are a case's arguments with the fault delayed beyond the end, so that the program does
// everything but the fault.
func healthy(args []string) []string {
	return append(slices.Clone(args), arguments("--seconds 3 --start-after 3600")...)
}
