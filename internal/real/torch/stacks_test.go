package torch

import (
	"path/filepath"
	"testing"

	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/internal/kerneltest"
	"github.com/ingero-io/ingero/internal/real/realtest"
)

// Stacks through Python, libtorch and the threads of autograd are the same as those that the
// program unwinds itself, frame by frame.
func TestStacksOfPyTorchAreThoseThatItFindsItself(t *testing.T) {
	f := fetch(t)
	kerneltest.Require(t)
	loop := realtest.PythonLoop(t, f.Python)
	for _, c := range []struct {
		name string
		args []string
	}{
		{"training", []string{"train.py", "--model", "transformer", "--steps", "12"}},
		{"graphs", []string{"graphs.py", "--steps", "30"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			own := realtest.OwnStacks(t, f.Command(t.Context(), filepath.Join(t.TempDir(), "hollow"), c.args...), loop)
			r := traceWith(t, &f, "", probe.StackAll, c.args...)
			realtest.CompareStacks(t, r.DB, own).WantStacks(t, r.Summary.Losses)
		})
	}
}
