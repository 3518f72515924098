package llama_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/internal/hollow"
	"github.com/ingero-io/ingero/internal/kerneltest"
	"github.com/ingero-io/ingero/internal/real/llama"
	"github.com/ingero-io/ingero/internal/real/realtest"
	"github.com/ingero-io/ingero/internal/rig"
)

// run runs llama.cpp under the whole tracer, and explains the recording.
func run(t *testing.T, cuda int, gpu string, env []string, during func(ctx context.Context, shared string) error,
	args ...string,
) *rig.Result {
	t.Helper()
	realtest.Require(t)
	kerneltest.Require(t)
	f, err := llama.Fetch(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	libraries, dir := t.TempDir(), t.TempDir()
	if err := f.GPU(t.Context(), libraries); err != nil {
		t.Fatal(err)
	}
	shared := filepath.Join(dir, "hollow")
	o := rig.Options{
		Args: args, Dir: dir, DB: filepath.Join(dir, "run.db"), Node: "node-1", Backend: probe.Backend(kerneltest.Backend()),
		Program: func(ctx context.Context, args []string) (*exec.Cmd, error) {
			cmd := f.Command(ctx, cuda, libraries, append(env, "HOLLOW_FILE="+shared), args...)
			return cmd, hollow.Set(shared, gpu)
		},
	}
	if during != nil {
		o.During = func(ctx context.Context, _ int) (rig.Tell, error) { return nil, during(ctx, shared) }
	}
	r, err := rig.Run(t.Context(), o, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A healthy program mostly waits for the GPU to do its work. That must not be reported. Each launch
// has its kernel's name.
func TestHealthyLlamaIsSilent(t *testing.T) {
	for _, c := range []struct {
		name string
		cuda int
		gpu  string
		env  []string
		args []string
	}{
		{"decode with graphs", 13, "kernel.default=20us", nil, []string{"--seconds", "4"}},
		{
			"decode without graphs", 12, "kernel.default=8us",
			[]string{"GGML_CUDA_DISABLE_GRAPHS=1"},
			[]string{"--seconds", "4"},
		},
		{"prompts", 12, "kernel.default=20us", nil, []string{"--mode", "prompt", "--seconds", "4"}},
		{"server with pauses", 13, "kernel.default=20us", nil, []string{"--mode", "serve", "--seconds", "4"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := run(t, c.cuda, c.gpu, c.env, nil, c.args...)
			named := query(t, r.Input.DB, "select case when kernel is null then 'without' else 'with' end, count(*) "+
				"from events where op = 'cudaLaunchKernel' group by 1")
			if named["with"] < 500 || named["without"] > 0 {
				t.Errorf("%d launches are named, %d are not", named["with"], named["without"])
			}
			if r.Disturbed() {
				t.Logf("not judged: the machine was too busy in each of %d runs", r.Runs)
				return
			}
			if r.Truth.Steps < 100 {
				t.Errorf("only %d steps", r.Truth.Steps)
			}
			for i := range r.Report.Chains {
				c := &r.Report.Chains[i]
				if c.Cause.Kind == event.CauseColdStart {
					continue // libraries are loaded
				}
				if why := r.Wrong(c); why != "" {
					t.Errorf("%s: %s", c.Summary, why)
				}
			}
		})
	}
}
