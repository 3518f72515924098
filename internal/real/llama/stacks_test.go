package llama_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/internal/real/llama"
	"github.com/ingero-io/ingero/internal/real/realtest"
)

// Stacks through llama.cpp's C++, with frames of 36 KB and without frame pointers, are the same as
// those that the program unwinds itself, frame by frame, up to its start.
func TestStacksOfLlamaAreThoseThatItFindsItself(t *testing.T) {
	realtest.Require(t)
	f, err := llama.Fetch(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		cuda int
		env  []string
	}{
		{"CUDA 12, with graphs", 12, nil},
		{"CUDA 13, with graphs", 13, nil},
		{"CUDA 12, without graphs", 12, []string{"GGML_CUDA_DISABLE_GRAPHS=1"}},
		{"CUDA 13, without graphs", 13, []string{"GGML_CUDA_DISABLE_GRAPHS=1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := f.GPU(t.Context(), dir); err != nil {
				t.Fatal(err)
			}
			const settings = "kernel.default=20us"
			args := []string{"--tokens", "60"}
			own := realtest.OwnStacks(t, f.Command(t.Context(), c.cuda, dir,
				append([]string{"HOLLOW=" + settings, "HOLLOW_FILE=" + filepath.Join(dir, "own")}, c.env...), args...), nil)
			preload := fmt.Sprintf("LD_PRELOAD=%[1]s/libcuda.so.1:%[1]s/libcudart.so.%[2]d", dir, c.cuda)
			env := append([]string{
				"HOLLOW_FILE=" + filepath.Join(dir, "traced"), preload, "LD_LIBRARY_PATH=" + dir + ":" + f.Libraries(c.cuda),
			}, c.env...)
			r := realtest.Trace(t, f.Command(t.Context(), c.cuda, dir, nil, args...).Args, env, settings, probe.StackAll)
			realtest.CompareStacks(t, r.DB, own).WantStacks(t, r.Summary.Losses)
		})
	}
}
