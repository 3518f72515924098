// Package jax runs JAX, from PyPI's wheels for CUDA 13, on the hollow GPU, with a program of this
// project (programs).
package jax

import (
	"context"
	"embed"
	"io"

	"github.com/ingero-io/ingero/internal/hollow"
	"github.com/ingero-io/ingero/internal/hollow/nvlibs"
	"github.com/ingero-io/ingero/internal/real"
)

const version = "0.10.2"

// requirements are the wheels with their checksums.
//
//go:embed requirements.txt
var requirements []byte

//go:embed programs/*.py
var programs embed.FS

// Files are the paths of JAX and of what runs it.
type Files struct {
	real.Installed        // with grad.py
	GPU            string // folder of the hollow libraries
	NVML           string // folder of the hollow management library, by which JAX looks for GPUs
}

// Fetch fetches and builds what is not in the cache, and reports this to progress. It needs python3
// (3.11 to 3.13) with pip, and gcc.
func Fetch(ctx context.Context, progress io.Writer) (f Files, err error) {
	w := real.Wheels{
		Name: "JAX " + version + " and what it imports", Requirements: requirements,
		FetchMB: 373, DiskMB: 1250,
	}
	if f.Installed, err = w.Prepare(ctx, "jax", version, programs, progress); err != nil {
		return f, err
	}
	below, err := hollow.Build(ctx)
	if err != nil {
		return f, err
	}
	f.NVML = hollow.NVMLDir(below)
	// JAX does not import these libraries, but opens them and looks up their functions.
	f.GPU, err = nvlibs.Cached(ctx, "jax/gpu-"+version, func() ([]string, error) {
		return []string{"libcublas.so.13", "libcublasLt.so.13", "libcudnn.so.9"}, nil
	})
	return f, err
}

// Env is the environment that a program needs. shared is the file of the hollow GPU's settings and
// counts. JAX's version checks of libraries that it does not need are turned off.
func (f *Files) Env(shared string) []string {
	return append(hollow.Env(f.GPU+":"+f.NVML, shared),
		"PYTHONPATH="+f.Site, "JAX_PLATFORMS=cuda", "JAX_SKIP_CUDA_CONSTRAINTS_CHECK=1")
}
