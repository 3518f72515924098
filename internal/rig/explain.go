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

// Explanation is the diagnosis of a recording.
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
	defer r.Close() // a reader has written nothing
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

// Stolen is the share of the CPUs' busy time that the hypervisor took.
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

// TooMuchStolen is the stolen share of the CPUs' busy time, or the share of the time for which a CPU
// stood still, from which on clocks inside the machine no longer measure what programs do: kinds and
// names are still right then, amounts are not, nor which is the largest.
const TooMuchStolen = 0.05

// Unusable is the share from which on a run says little and is repeated: of stolen time in the
// CPUs' busy time, of programs outside the run in the CPUs' time, or of the time for which a CPU
// stood still.
const Unusable = 0.25

// maxRuns is the largest number of runs while the machine is too busy.
const maxRuns = 3

// Result is a run's outcome next to the truth.
type Result struct {
	Explanation
	Traced
	Runs int // number of runs; this is the last one
}

// Disturbed reports whether the machine had too much other load in every run.
func (r *Result) Disturbed() bool { return max(r.Stolen(), r.Others, r.Paused) > Unusable }

// Measures reports whether clocks inside the machine measure what programs do (TooMuchStolen).
func (r *Result) Measures() bool { return max(r.Stolen(), r.Paused) <= TooMuchStolen }

// Machine says what else the machine did.
func (r *Result) Machine() string {
	return fmt.Sprintf("the hypervisor took %.0f %% of the working time, and %.0f %% without a word; other programs used "+
		"%.0f %% of the CPUs", 100*r.Stolen(), 100*r.Paused, 100*r.Others)
}

// Run traces and explains. A disturbed run is repeated, twice at most; again, if not nil, is called
// with it.
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
