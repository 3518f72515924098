package onnx

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/internal/real/realtest"
)

func TestInferenceIsRecordedCallForCall(t *testing.T) {
	realtest.Require(t)
	f, err := Fetch(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	command := []string{f.Python, filepath.Join(f.Programs, "infer.py"), "--runs", "500", "--layers", "8"}
	r := realtest.Trace(t, command, f.Env(filepath.Join(t.TempDir(), "hollow")), "", probe.StackSlow)
	if !strings.Contains(r.Said, `"runs": 500`) {
		t.Errorf("it says %s", r.Said)
	}
	r.Compare(t)
	if n := r.Called["cuLaunchKernel"]; n < 3*8*500 { // a product, a sum and a ReLU in each layer
		t.Errorf("only %d kernels launched", n)
	}
	realtest.Covered(t, "ONNX Runtime", r.Called)
}
