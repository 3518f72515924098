package rig

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ingero-io/ingero/capture/host/proc"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/diagnose"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/internal/cudastub"
	"github.com/ingero-io/ingero/internal/kerneltest"
	"github.com/ingero-io/ingero/store"
)

func TestStolenTimeIsAShareOfTheBusyTime(t *testing.T) {
	tests := []struct {
		name      string
		snapshots []store.Snapshot
		want      float64
		disturbed bool
	}{
		{"no snapshot", nil, 0, false},
		{"idle machine", []store.Snapshot{{CPUPct: 0}}, 0, false},
		{"a fifth", []store.Snapshot{{CPUPct: 60, StealPct: 10}, {CPUPct: 40, StealPct: 10}}, 0.2, false},
		{"most of little", []store.Snapshot{{CPUPct: 10, StealPct: 5}}, 0.5, true},
	}
	for _, tt := range tests {
		r := Result{Explanation: Explanation{Input: &diagnose.Input{Tables: store.Tables{Snapshots: tt.snapshots}}}}
		if got := r.Stolen(); got != tt.want || r.Disturbed() != tt.disturbed {
			t.Errorf("%s: %g stolen, disturbed: %v", tt.name, got, r.Disturbed())
		}
	}
}

func TestOthersUseTheCPUTimeThatTheRunDoesNot(t *testing.T) {
	before := Usage{proc.CPUTime{Busy: 1000, Stolen: 100, Total: 5000}, 50}
	after := Usage{proc.CPUTime{Busy: 1600, Stolen: 200, Total: 6000}, 250}
	if got := Others(before, after); got != 0.3 { // 500 of 1000 busy, 200 of them our own
		t.Errorf("others used %g", got)
	}
	if got, want := Stolen(before, after), 100.0/600; got != want {
		t.Errorf("%g stolen, want %g", got, want)
	}
	if got := OtherTime(before, after); got != 3*time.Second {
		t.Errorf("others used %s", got)
	}
	after.own = 2000 // a child that had run before was reaped
	if got := Others(before, after); got != 0 {
		t.Errorf("others used %g", got)
	}
	if got := Others(before, before); got != 0 {
		t.Errorf("others used %g of no time", got)
	}
	if got := Stolen(before, before); got != 0 {
		t.Errorf("%g stolen of no time", got)
	}
	r := Result{Explanation: Explanation{Input: &diagnose.Input{}}, Traced: Traced{Others: 0.3}}
	if !r.Disturbed() {
		t.Error("not disturbed by other programs")
	}
}

func TestAFindingAboutAnotherProgramMustBeTrue(t *testing.T) {
	self := uint32(os.Getpid())
	r := Result{
		Explanation: Explanation{Input: &diagnose.Input{Tables: store.Tables{
			Processes: []store.Process{{PID: 70, Parent: 60}, {PID: 60, Parent: 50}, {PID: 90, Parent: 1}},
			Records: event.Records{Lives: []event.Life{{
				Kind: event.LifeFork, Thread: event.Thread{PID: 80, TID: 80}, Parent: event.Thread{PID: self},
			}}},
		}}},
		Traced: Traced{Truth: cudastub.Truth{PID: 50}, OtherTime: time.Second},
	}
	for name, tt := range map[string]struct {
		kind string
		pid  uint32
		lost time.Duration
		want string
	}{
		"another program":            {event.CauseCPUContention, 90, 2 * time.Second, ""},
		"one that is not recorded":   {event.CauseCPUContention, 91, 2 * time.Second, ""},
		"more than there was":        {event.CauseCPUContention, 90, 3 * time.Second, "all other programs used 1s"},
		"the traced program":         {event.CauseCPUContention, 50, time.Second, "a process of the run"},
		"what it started":            {event.CauseCPUContention, 70, time.Second, "a process of the run"},
		"the tracer":                 {event.CauseCPUContention, self, time.Second, "a process of the run"},
		"what the test started":      {event.CauseCPUContention, 80, time.Second, "a process of the run"},
		"what no other program does": {event.CauseGPUWait, 90, time.Second, "nothing of kind gpu_wait was done"},
	} {
		c := report.Chain{Cause: report.Cause{Kind: tt.kind, PID: tt.pid}, LostNS: uint64(tt.lost), ExplainedPct: 50}
		if got := r.Wrong(&c); (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

func TestRemoveDeletesTheFilesOfARecording(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"run.db", "run.db-wal", "other"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	remove(filepath.Join(dir, "run.db"))
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 || left[0].Name() != "other" {
		t.Errorf("left are %v, %v", left, err)
	}
}

func TestErrorsOfTheProgramAreReturnedByTrace(t *testing.T) {
	kerneltest.Require(t)
	run := func(ctx context.Context, args ...string) error {
		_, err := Trace(ctx, &Options{Args: args, Dir: t.TempDir(), DB: filepath.Join(t.TempDir(), "run.db")})
		return err
	}
	if err := run(t.Context(), "--fault", "nonsense"); !errors.Is(err, cudastub.ErrUsage) {
		t.Errorf("unknown fault: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := run(ctx, "--seconds", "60"); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestFilesAreWrittenWhereThatIsPossible(t *testing.T) {
	disk, missing := t.TempDir(), filepath.Join(t.TempDir(), "missing")
	const memory = "/dev/shm"
	for _, c := range []struct {
		folders []string
		want    string
	}{
		{[]string{disk, memory}, disk},
		{[]string{missing, disk, memory}, disk},
		{[]string{missing, missing + "2", memory}, memory},
		{[]string{missing, memory, disk}, disk},
		{[]string{missing, missing + "2"}, missing},
	} {
		if got := place(c.folders...); got != c.want {
			t.Errorf("of %q: %s, want %s", c.folders, got, c.want)
		}
	}
}
