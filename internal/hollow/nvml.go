package hollow

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"github.com/ingero-io/ingero/capture/host/nvml"
	"github.com/ingero-io/ingero/internal/cudastub"
)

// nvmlName is NVIDIA's management library. It lies in a folder of its own, NVMLDir: a tracer that is
// given the others for a program would read GPUs through it, too.
const nvmlName = "libnvidia-ml.so.1"

// NVMLDir is where the management library is, for a program that cannot do without it; dir is what
// Build returns.
func NVMLDir(dir string) string { return filepath.Join(dir, "nvml") }

// buildNVML compiles the source that the other stand-in's management library is made of, with the
// simulated GPUs in place of invented ones. What is read of a GPU once a second (use, clocks,
// temperature) is not simulated, so these functions are missing.
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
