// Package straggler measures how soon a fleet reports which rank of a job is slow, and whether the cause is
// right, live: a job of stand-in ranks on two nodes, which are network namespaces, with a real tracer each, a
// real server and a sink that is scraped. What is to be reported is what the job itself measured.
//
// It needs root, the kernel's probes and network namespaces. cluster/simulate answers the same without them,
// for jobs of any size, but not whether own work and causes are measured rightly.
package straggler

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

const (
	ranks = 8
	late  = 5 // the rank to which something happens; it is on the second node
	nodes = 2
	// A step is hostUS of CPU time, readUS of waiting for the own GPU, which varies evenly by jitterPct, and a
	// collective that takes gpuUS.
	hostUS, readUS, gpuUS, jitterPct = 4000, 160_000, 30_000, 4
	// stepMS is how long a step takes: the slowest of eight ranks decides.
	stepMS = 200
)

// EvenTime and QuickEvenTime are how long a job without a fault is watched.
const (
	EvenTime      = 5 * time.Minute
	QuickEvenTime = time.Minute
)

// Options of a measurement.
type Options struct {
	Only  []string // names of cases; empty: all
	Quick bool     // one size of each, and a shorter run without a fault
	Even  time.Duration
	// Ingero, Fleet and Sink are the programs.
	Ingero, Fleet, Sink string
	Progress            func(done, of int, name string) // may be nil
}

// Report is what was measured. Fields are only ever added.
type Report struct {
	Schema  int      `json:"schema"`
	Quick   bool     `json:"quick"`
	Kernel  string   `json:"kernel"`
	Arch    string   `json:"arch"`
	CPUs    int      `json:"cpus"`
	Ranks   int      `json:"ranks"`
	StepMS  float64  `json:"step_ms"`
	Results []Result `json:"results"`
}

// Result is what was told in a run. Times are seconds since it happened, by the job's or this program's clock.
type Result struct {
	Case
	Skipped string   `json:"skipped,omitempty"` // why it could not run
	LateMS  *float64 `json:"late_ms,omitempty"` // by how much the rank was really later than the last other one, mean
	// ToldS is when the event came that must come; nil: it did not.
	ToldS *float64 `json:"told_s,omitempty"`
	// CauseS is when its cause was reported, Cause which one was reported last.
	CauseS *float64 `json:"cause_s,omitempty"`
	Cause  string   `json:"cause,omitempty"`
	// EndS is when it was told that it has ended, of a node that is there again.
	EndS *float64 `json:"end_s,omitempty"`
	// Said is the event as a sentence.
	Said string `json:"said,omitempty"`
	// False are events that should not have come.
	False []string `json:"false,omitempty"`
	// Scraped reports whether the sink's metrics said the same; nil: they say nothing of such a case.
	Scraped *bool     `json:"scraped,omitempty"`
	began   time.Time // when it happened, if the job does not know
	Seconds float64   `json:"seconds"` // for which it was watched
	Steps   int       `json:"steps"`
	// TracerPct is the share of a core that a tracer takes without a fleet, in percent, AddedPct how much more it
	// takes with one.
	TracerPct *float64 `json:"tracer_pct,omitempty"`
	AddedPct  *float64 `json:"added_pct,omitempty"`
	// OthersPct is which share of the CPUs programs other than these used meanwhile.
	OthersPct float64 `json:"others_pct"`
}

// Limits in which an event and its cause must come, seconds.
const (
	limit, smallLimit = 10.0, 15.0
	smallPct          = 10
	// costPct is how much of a core, in percent, comparing ranks may take a tracer.
	costPct = 0.2
)

// Limit is within how many seconds the event must come, with its cause.
func (r *Result) Limit() float64 {
	if r.SizePct <= smallPct || r.cause == "" {
		return smallLimit
	}
	return limit
}

// OK reports whether what must be told was told in time, and nothing else.
func (r *Result) OK() bool {
	if r.AddedPct != nil {
		return *r.AddedPct <= costPct
	}
	in := func(s *float64) bool { return s == nil || *s <= r.Limit() }
	return r.Right() && in(r.ToldS) && in(r.CauseS)
}

// Right reports whether what must be told was told at all, and nothing else.
func (r *Result) Right() bool {
	return len(r.False) == 0 && (r.kind == "" || r.ToldS != nil) && (r.cause == "" || r.CauseS != nil) &&
		(r.Scraped == nil || *r.Scraped) && (r.act != cutNode || r.EndS != nil)
}

// Run runs cases. If there is an error, the report has the results before it.
func Run(ctx context.Context, cases []Case, o Options) (*Report, error) {
	r := &Report{
		Schema: 1, Quick: o.Quick, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), Ranks: ranks, StepMS: stepMS,
		Results: []Result{},
	}
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		r.Kernel = unix.ByteSliceToString(u.Release[:])
	}
	if o.Progress == nil {
		o.Progress = func(int, int, string) {}
	}
	if o.Even == 0 {
		o.Even = EvenTime
		if o.Quick {
			o.Even = QuickEvenTime
		}
	}
	if os.Geteuid() != 0 {
		return r, errors.New("tracing and network namespaces need root; next: sudo ingero bench fleet")
	}
	for _, p := range []string{o.Ingero, o.Fleet, o.Sink} {
		if _, err := os.Stat(p); err != nil {
			return r, fmt.Errorf("find a program: %w; make fleet builds those of the fleet", err)
		}
	}
	l, err := newLab(ctx, &o)
	if err != nil {
		return r, err
	}
	defer l.close()
	for i := range cases {
		o.Progress(i, len(cases), cases[i].Title())
		run := l.runCase
		if cases[i].act == measure {
			run = l.cost
		}
		x, err := run(ctx, &cases[i])
		if err != nil {
			return r, fmt.Errorf("run %s: %w", cases[i].Title(), err)
		}
		r.Results = append(r.Results, *x)
	}
	return r, nil
}
