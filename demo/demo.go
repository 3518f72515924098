package demo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/internal/cudastub"
	"github.com/ingero-io/ingero/internal/rig"
	"github.com/ingero-io/ingero/store"
)

// Options configure a run. With the zero value it takes about ten seconds and keeps no files.
type Options struct {
	Length   time.Duration // of the program; 0: DefaultLength
	Keep     string        // path at which to keep the recording; empty: it is removed
	Backend  probe.Backend
	Version  string   // of Ingero, for the recording
	Live     bool     // never replay a recording
	Replay   string   // never trace, for this reason; empty: trace where possible
	Args     []string // further options of the program (victim/options.c)
	Node     string   // name of the machine; empty: demo
	RawRate  int      // calls stored a second; 0: the store's default
	Stack    probe.StackPolicy
	Session  func(*store.Session)      // may change the recording's description of this machine
	Progress func(Progress)            // called about once a second
	Begin    func(mode, reason string) // called when it is known whether this is a replay
}

// DefaultLength is how long the program runs.
const DefaultLength = 10 * time.Second

// Progress is the progress of a run.
type Progress struct {
	Elapsed, Length time.Duration
	Calls           uint64
}

// The modes of a result.
const (
	Live     = "live"
	Recorded = "recorded"
)

// Result is an explanation and the truth. Fields of the JSON form are only ever
// added.
type Result struct {
	Schema   int       `json:"schema"`
	Scenario *Scenario `json:"scenario"`
	Mode     string    `json:"mode"`
	Reason   string    `json:"reason,omitempty"` // why it is a replay
	// Right says that the first chain names the true cause, or that nothing is found if nothing is
	// wrong. Rank is the number of the chain that names it, from 1; 0 if none does. On a machine
	// that is also busy with other work, the injected fault need not be the largest.
	Right  bool           `json:"right"`
	Rank   int            `json:"rank"`
	Report *report.Report `json:"report"`
	Truth  cudastub.Truth `json:"truth"`
}

// Run traces a scenario, or replays it if tracing is not possible here.
func Run(ctx context.Context, s *Scenario, o Options) (*Result, error) {
	if o.Length == 0 {
		o.Length = DefaultLength
	}
	if o.Begin == nil {
		o.Begin = func(string, string) {}
	}
	if o.Keep != "" {
		if _, err := os.Lstat(o.Keep); !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s exists already; remove it or keep the recording elsewhere", o.Keep)
		}
	}
	dir, err := rig.Folder("ingero-demo-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir) // leftovers are in the folder for temporary files
	if o.Replay != "" {
		return replay(ctx, s, &o, dir, o.Replay)
	}
	r, err := live(ctx, s, &o, dir)
	if err == nil || o.Live {
		return r, err
	}
	why := replayReason(err)
	if why == "" {
		return nil, err
	}
	return replay(ctx, s, &o, dir, why)
}

// replayReason says why a scenario cannot be traced here; empty if the error has another reason.
func replayReason(err error) string {
	switch {
	case errors.Is(err, probe.ErrPermission):
		return "tracing is not permitted here"
	case errors.Is(err, probe.ErrNoBTF):
		return "this kernel has no BTF"
	case errors.Is(err, probe.ErrUnsupported):
		return "this kernel cannot trace"
	case errors.Is(err, cudastub.ErrUnsupported):
		return "the program with the fault cannot run here, which needs glibc, among others"
	}
	return ""
}

// explain diagnoses a recording and compares the result with the truth.
func explain(ctx context.Context, s *Scenario, o *Options, path string, truth cudastub.Truth) (*Result, error) {
	e, err := rig.Explain(ctx, path)
	if err != nil {
		return nil, err
	}
	e.Report.DB = o.Keep
	if e.Report.DB == "" {
		e.Report.DB = "demo " + s.Name
	}
	res := &Result{Schema: 1, Scenario: s, Report: e.Report, Truth: truth}
	res.Rank = slices.IndexFunc(res.Report.Chains,
		func(c report.Chain) bool { return s.Expect == c.Cause.Kind && blames(&c.Cause, &truth) }) + 1
	res.Right = res.Rank == 1 || s.Healthy() && len(res.Report.Chains)+len(res.Report.NotExplained) == 0
	return res, nil
}

// blames reports whether a cause names the culprit, if there is one: the process, or the thread if
// it is one of the program's own.
func blames(c *report.Cause, t *cudastub.Truth) bool {
	switch t.CulpritPID {
	case 0:
		return true
	case t.PID:
		return slices.Contains([]int{t.CulpritTID, t.HolderTID}, int(c.TID))
	}
	return int(c.PID) == t.CulpritPID
}
