package llama_test

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ingero-io/ingero/agent"
	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/internal/hollow"
	"github.com/ingero-io/ingero/internal/kerneltest"
	"github.com/ingero-io/ingero/internal/real/llama"
	"github.com/ingero-io/ingero/internal/real/realtest"
	"github.com/ingero-io/ingero/internal/rig"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
)

// liveRun is a run of llama.cpp that is diagnosed while it runs.
type liveRun struct {
	name    string
	cuda    int // 0 means 13
	gpu     string
	running bool                                           // the tracer attaches while it runs
	during  func(ctx context.Context, shared string) error // beside it
	env     []string
	args    []string
	model   string // GGUF; empty: the tiny one
	finds   string // kind that must be found; empty: nothing
}

// watch returns the findings while the program ran, and afterwards.
func (c *liveRun) watch(t *testing.T) (live []report.Chain, r *rig.Result) {
	t.Helper()
	f, err := llama.Fetch(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	f.Model = cmp.Or(c.model, f.Model)
	libraries, dir := t.TempDir(), t.TempDir()
	if err := f.GPU(t.Context(), libraries); err != nil {
		t.Fatal(err)
	}
	shared, db := filepath.Join(dir, "hollow"), filepath.Join(dir, "run.db")
	var mu sync.Mutex // of live
	diagnosis := agent.NewLive(
		func() (store.Reader, error) { return sqlite.OpenReader(db) },
		func(r *report.Report) {
			mu.Lock()
			defer mu.Unlock()
			live = append(live, r.Chains...)
		}, nil)
	defer func() { _ = diagnosis.Close() }() // in case the run did not begin
	o := rig.Options{
		Args: c.args, Dir: dir, DB: db, Node: "node-1",
		Backend: probe.Backend(kerneltest.Backend()), Sinks: []agent.Sink{diagnosis},
		Program: func(ctx context.Context, args []string) (*exec.Cmd, error) {
			cmd := f.Command(ctx, cmp.Or(c.cuda, 13), libraries, append(c.env, "HOLLOW_FILE="+shared), args...)
			return cmd, hollow.Set(shared, c.gpu)
		},
	}
	if c.running {
		o.Running = func(ctx context.Context, _ int) error { return decodes(ctx, shared) }
	}
	if c.during != nil {
		o.During = func(ctx context.Context, _ int) (rig.Tell, error) { return nil, c.during(ctx, shared) }
	}
	r = &rig.Result{Runs: 1}
	if r.Traced, err = rig.Trace(t.Context(), &o); err != nil {
		t.Fatal(err)
	}
	if r.Explanation, err = rig.Explain(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	return live, r
}

// decodes waits until the program launches kernels.
func decodes(ctx context.Context, shared string) error {
	for tick := time.NewTicker(20 * time.Millisecond); ; {
		rows, err := hollow.Counts(shared)
		calls := hollow.By(rows, hollow.Call)
		if err == nil && calls["cudaGraphLaunch"]+calls["cudaLaunchKernel"]+calls["__cudaLaunchKernel"] > 2000 {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-tick.C:
		}
	}
}

// slower makes the GPU slower for a while.
func slower(ctx context.Context, shared string) error {
	for _, set := range []string{"kernel.default=20us", "kernel.default=20us;slow=1.6", "kernel.default=20us"} {
		if err := hollow.Set(shared, set); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(3 * time.Second):
		}
	}
	return nil
}

// Live diagnosis and explain agree: a cause that is HIGH live is also reported by explain, for the
// same thread; a healthy program has none.
func TestLiveFindingsOfLlamaAreTrue(t *testing.T) {
	realtest.Require(t)
	kerneltest.Require(t)
	const gpu = "kernel.default=20us"
	for _, c := range []liveRun{
		{name: "healthy", gpu: gpu, args: []string{"--seconds", "7"}},
		{name: "healthy, attached while it runs", gpu: gpu, running: true, args: []string{"--seconds", "7"}},
		{
			name: "healthy without graphs", gpu: gpu, running: true, env: []string{"GGML_CUDA_DISABLE_GRAPHS=1"},
			args: []string{"--mode", "prompt", "--seconds", "7"},
		},
		{
			name: "lock", gpu: gpu, finds: event.CauseLockContention,
			args: []string{"--seconds", "8", "--lock-ms", "40", "--period-ms", "100"},
		},
		{name: "GPU slower for a while", gpu: gpu, finds: event.CauseGPUWait, during: slower, args: []string{"--seconds", "9"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			live, r := c.watch(t)
			busy := r.Disturbed()
			if busy {
				t.Logf("what is found is not judged, but whether it stays so: the machine was too busy")
			}
			var high []string
			for i := range live {
				l := &live[i]
				// Loading of libraries is a cold start, and CPU contention may come from other
				// programs.
				if k := l.Cause.Kind; !busy && c.finds == "" && k != event.CauseColdStart && k != event.CauseCPUContention {
					t.Errorf("reported live of a healthy program: %s %s: %s", l.Severity, k, l.Summary)
				}
				if l.Severity != "HIGH" {
					continue
				}
				high = append(high, l.Cause.Kind)
				if !slices.ContainsFunc(r.Report.Chains, func(a report.Chain) bool {
					return a.Cause.Kind == l.Cause.Kind && a.Effect.TID == l.Effect.TID
				}) {
					t.Errorf("HIGH live, and not reported afterwards: %s: %s", l.Cause.Kind, l.Summary)
				}
			}
			if !busy && c.finds != "" && !slices.Contains(high, c.finds) {
				t.Errorf("HIGH live is %v, want %s", high, c.finds)
			}
		})
	}
}
