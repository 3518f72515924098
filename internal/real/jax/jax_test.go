package jax

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/internal/real/realtest"
)

func TestACompiledGradientIsRecordedCallForCall(t *testing.T) {
	realtest.Require(t)
	f, err := Fetch(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	command := []string{f.Python, filepath.Join(f.Programs, "grad.py"), "--steps", "300"}
	r := realtest.Trace(t, command, f.Env(filepath.Join(t.TempDir(), "hollow")), "", probe.StackSlow)
	if !strings.Contains(r.Said, `"steps": 300, "device": "Hollow GPU`) {
		t.Errorf("it says %s", r.Said)
	}
	r.Compare(t)
	if n := r.Called["cuGraphLaunch"]; n < 300 { // JAX puts the step's kernels into a graph
		t.Errorf("only %d graphs launched", n)
	}
	realtest.Covered(t, "JAX", r.Called)
}
