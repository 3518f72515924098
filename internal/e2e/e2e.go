// Package e2e runs a victim with a known fault under the whole tracer, on the
// real kernel, and returns what the diagnosis says of it next to the truth. It
// serves the tests of the product's promises; nothing ships it.
package e2e

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/ingero-io/ingero/agent"
	"github.com/ingero-io/ingero/diagnose"
	"github.com/ingero-io/ingero/internal/cudastub"
	"github.com/ingero-io/ingero/internal/kerneltest"
	"github.com/ingero-io/ingero/report"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
)

// Result is a run's outcome.
type Result struct {
	Truth   cudastub.Truth
	Report  *report.Report
	Summary agent.Summary
	Input   *diagnose.Input
	DB      string
}

// TooMuchStolen is the share of the CPUs' working time from which, when the
// hypervisor takes it, clocks inside the machine no longer measure what programs
// do: kinds and names still hold then, amounts do not.
const TooMuchStolen = 0.05

// Unusable is the share from which a run says little, and is made again.
const Unusable = 0.25

// Stolen is the share of the working time that the hypervisor took.
func (r *Result) Stolen() float64 {
	var busy, stolen float64
	for _, s := range r.Input.Snapshots {
		busy += s.CPUPct
		stolen += s.StealPct
	}
	if busy == 0 {
		return 0
	}
	return stolen / busy
}

// Run traces "victim loop args" from before its first call to its end. A run of
// whose time the hypervisor took too much is made again, twice at most.
func Run(t testing.TB, args ...string) Result {
	t.Helper()
	kerneltest.Require(t)
	r := run(t, args...)
	for range 2 {
		if r.Stolen() <= Unusable {
			break
		}
		t.Logf("the hypervisor took %.0f %% of the CPU time: once more", 100*r.Stolen())
		r = run(t, args...)
	}
	return r
}

func run(t testing.TB, args ...string) Result {
	t.Helper()
	files, err := cudastub.Extract(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	db := filepath.Join(t.TempDir(), "e2e.db")
	r := Result{DB: db}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	started, done := make(chan struct{}), make(chan error, 1)
	go func() {
		var err error
		r.Summary, err = agent.Run(ctx, agent.Options{
			UID:     agent.AnyUser,
			Started: func(agent.Start) { close(started) },
			Record: &agent.Recording{Path: db, Node: "node-1", Open: func(s store.Session) (store.Writer, error) {
				return sqlite.OpenWriter(db, sqlite.Options{Session: s})
			}},
		})
		done <- err
	}()
	select {
	case <-started:
	case err := <-done:
		t.Fatal(err)
	}
	run, err := files.StartLoop(t.Context(), cudastub.Options{}, append([]string{"--dir", t.TempDir()}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(200 * time.Millisecond) // for the tracer to notice the libraries; there is no event to wait for
	if err := run.Begin(); err != nil {
		t.Fatal(err)
	}
	if r.Truth, err = run.Wait(); err != nil {
		t.Fatal(err)
	}
	stop()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	reader, err := sqlite.OpenReader(db)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if r.Input, err = diagnose.Load(t.Context(), reader, store.Window{}); err != nil {
		t.Fatal(err)
	}
	r.Report = diagnose.Diagnose(r.Input)
	return r
}
