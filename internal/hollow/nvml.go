package hollow

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"github.com/ingero-io/ingero/capture/host/nvml"
	"github.com/ingero-io/ingero/internal/cudastub"
)

// nvmlName is NVIDIA's management library. It is in its own folder, NVMLDir: a tracer that gets the
// other libraries for a program would read GPUs through it, too.
const nvmlName = "libnvidia-ml.so.1"

// NVMLDir is the folder of the management library, for programs that need it; dir is the result of
// Build.
func NVMLDir(dir string) string { return filepath.Join(dir, "nvml") }

// buildNVML compiles the same source as the other stand-in's management library, with the simulated
// GPUs instead of invented ones. Readings of a GPU once a second (utilisation, clocks, temperature)
// are not simulated, so these functions are missing.
func buildNVML(ctx context.Context, work, src string) error {
	tree, dir := filepath.Join(work, "nvml-src"), NVMLDir(work)
	stub, helper := filepath.Join(tree, "internal/cudastub"), filepath.Join(tree, "capture/host/nvml")
	for _, d := range []string{stub, helper, dir} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return err
		}
	}
	if err := os.CopyFS(stub, cudastub.NVMLSource); err != nil {
		return err
	}
	if err := os.CopyFS(helper, nvml.Header); err != nil {
		return err
	}
	return compile(ctx, slices.Concat(buildFlags, []string{
		`-DNVML_GPUS="nvml_gpus.h"`, "-I", src, "-shared", "-Wl,-soname," + nvmlName,
		"-o", filepath.Join(dir, nvmlName), filepath.Join(stub, "stub/nvml.c"),
		filepath.Join(work, "libcuda.so.1"), "-ldl", "-Wl,-rpath,$ORIGIN/..",
	}))
}
