package rig

import (
	"context"
	"fmt"
	"time"

	"github.com/ingero-io/ingero/explain/diagnose"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
)

// Explanation is what the diagnosis says of a recording.
type Explanation struct {
	Input  *diagnose.Input // of the first machine
	Report *report.Report
	Took   time.Duration // from opening the file to the report
}

// Explain diagnoses a whole recording.
func Explain(ctx context.Context, db string) (e Explanation, err error) {
	began := time.Now()
	r, err := sqlite.OpenReader(db)
	if err != nil {
		return e, fmt.Errorf("read the recording: %w", err)
	}
	defer r.Close() // a reader has nothing to lose
	machines, err := diagnose.LoadMachines(ctx, r, store.Window{})
	if err != nil {
		return e, fmt.Errorf("read the recording: %w", err)
	}
	e.Input = machines[0]
	e.Input.DB, e.Input.PerProcess = db, true
	e.Report = diagnose.DiagnoseMachines(machines)
	e.Took = time.Since(began)
	return e, nil
}

// Stolen is the share of the CPUs' working time that the hypervisor took.
func (e *Explanation) Stolen() float64 {
	var busy, stolen float64
	for _, s := range e.Input.Snapshots {
		busy += s.CPUPct
		stolen += s.StealPct
	}
	if busy == 0 {
		return 0
	}
	return stolen / busy
}

// TooMuchStolen is the share of the CPUs' working time from which, when the
// hypervisor takes it, clocks inside the machine no longer measure what programs
// do: kinds and names still hold then, amounts do not.
const TooMuchStolen = 0.05

// Unusable is the share from which a run says little, and is made again: of the
// working time that the hypervisor took, or of the CPUs' time that programs with
// no part in the run used.
const Unusable = 0.25

// maxRuns is how often a run is made in the hope of a quieter machine.
const maxRuns = 3

// Result is a run's outcome next to the truth.
type Result struct {
	Explanation
	Traced
	Runs int // how often it was made; only the last one is here
}

// Disturbed says that the machine had too much else to do, in every run.
func (r *Result) Disturbed() bool { return r.Stolen() > Unusable || r.Others > Unusable }

// Run traces and explains. A run that was disturbed is made again, twice at most;
// again, if not nil, is told of it.
func Run(ctx context.Context, o Options, again func(*Result)) (*Result, error) {
	for n := 1; ; n++ {
		r := &Result{Runs: n}
		var err error
		if r.Traced, err = Trace(ctx, &o); err != nil {
			return nil, err
		}
		if r.Explanation, err = Explain(ctx, o.DB); err != nil {
			return nil, err
		}
		if !r.Disturbed() || n == maxRuns {
			return r, nil
		}
		if again != nil {
			again(r)
		}
		remove(o.DB)
	}
}
