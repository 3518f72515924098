package accuracy

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/ingero-io/ingero/internal/cudastub"
	"github.com/ingero-io/ingero/internal/rig"
)

// CompareReport is how right comparisons of recordings were. Fields are only ever added.
type CompareReport struct {
	Schema int    `json:"schema"`
	Seed   uint64 `json:"seed"`
	Quick  bool   `json:"quick"`
	Kernel string `json:"kernel"`
	Arch   string `json:"arch"`
	CPUs   int    `json:"cpus"`

	Known      Part     `json:"known"`       // pairs with a known difference, of which all is right
	First      Part     `json:"first"`       // the right part is listed first
	Amount     Part     `json:"amount"`      // amounts within MostOff; without those that are not sure
	Causes     Part     `json:"causes"`      // the right cause came or grew first
	Equal      Part     `json:"equal"`       // equal pairs: nothing is said
	MedianOff  *float64 `json:"median_off"`  // of each pair's largest error of an amount
	LargestPct float64  `json:"largest_pct"` // the largest difference of equal pairs
	Skipped    int      `json:"skipped"`
	Disturbed  int      `json:"disturbed"`

	Results []Compared `json:"results"`
}

// RunComparisons records the runs of a plan, compares its pairs, and scores them. If there is an
// error, the report has the pairs before it.
func RunComparisons(ctx context.Context, p *ComparePlan, o Options) (*CompareReport, error) {
	r := &CompareReport{
		Schema: 1, Seed: o.Seed, Quick: o.Quick, Kernel: kernel(), Arch: runtime.GOARCH, CPUs: runtime.NumCPU(),
		Results: []Compared{},
	}
	if o.Progress == nil {
		o.Progress = func(int, int, string) {}
	}
	defer r.sum()
	if o.Keep != "" {
		if err := os.MkdirAll(o.Keep, 0o755); err != nil {
			return r, fmt.Errorf("make a folder for the recordings: %w", err)
		}
	}
	runs := make([]*ran, len(p.Runs))
	done := 0 // pairs: those before need no more runs
	for i, c := range p.Runs {
		o.Progress(i, len(p.Runs), c.Name)
		var err error
		if runs[i], err = record(ctx, c, &o); err != nil {
			return r, fmt.Errorf("run %s: %w", c.Name, err)
		}
		for ; done < len(p.Pairs) && max(p.Pairs[done].a, p.Pairs[done].b) <= i; done++ {
			q := p.Pairs[done]
			r.Results = append(r.Results, judgePair(q, runs[q.a], runs[q.b]))
		}
	}
	return r, nil
}

// record runs the program and reads its recording.
func record(ctx context.Context, c CompareRun, o *Options) (*ran, error) {
	x := &ran{ComparedRun: ComparedRun{CompareRun: c}}
	if len(o.CPUs) < c.needs {
		x.skipped = fmt.Sprintf("needs %d CPUs", c.needs)
		return x, nil
	}
	dir, err := rig.Folder("ingero-compare-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir) // leftovers are in the folder for temporary files
	db := filepath.Join(dir, "run.db")
	if o.Keep != "" {
		if db, err = keep(o.Keep, c.Name); err != nil {
			return nil, err
		}
		x.Recording = db
	}
	run, err := rig.Run(ctx, rig.Options{
		Args: c.Args, Dir: dir, DB: db, Backend: o.Backend, Node: "bench", Version: o.Version, Flags: "bench compare",
	}, nil)
	if errors.Is(err, cudastub.ErrUnsupported) || errors.Is(err, cudastub.ErrUsage) {
		x.skipped = reason(err)
		return x, nil
	}
	if err != nil {
		return nil, err
	}
	x.truth, x.disturbed = run.Truth, run.Disturbed()
	x.Runs, x.Steps, x.StepNS = run.Runs, run.Truth.Steps, stepNS(&run.Truth)
	x.Steal, x.OtherLoad = run.Stolen(), run.Others
	x.side, err = rig.Side(ctx, db)
	return x, err
}

// sum adds up the results.
func (r *CompareReport) sum() {
	var offs []float64
	for i := range r.Results {
		c := &r.Results[i]
		switch {
		case c.Skipped != "":
			r.Skipped++
		case c.Disturbed:
			r.Disturbed++
		case c.Equal():
			r.Equal.count(!c.Changed)
			r.LargestPct = max(r.LargestPct, c.SlowerPct, -c.SlowerPct)
		default:
			r.First.count(c.First)
			if c.CauseRight != nil {
				r.Causes.count(*c.CauseRight)
			}
			if !c.Unsure {
				r.Amount.count(c.AmountRight())
				offs = append(offs, c.Off())
			}
			r.Known.count(c.Right())
		}
	}
	r.MedianOff = median(offs)
}

// Right reports whether all that was said of a pair is right, as far as it is judged.
func (c *Compared) Right() bool {
	if c.Equal() {
		return !c.Changed
	}
	return c.First && (c.CauseRight == nil || *c.CauseRight) && (c.Unsure || c.AmountRight())
}
