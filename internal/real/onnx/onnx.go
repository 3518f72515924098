// Package onnx runs ONNX Runtime, from PyPI's wheel for CUDA 13, on the hollow GPU, with a program
// of this project (programs).
package onnx

import (
	"context"
	"embed"
	"io"
	"path/filepath"

	"github.com/ingero-io/ingero/internal/hollow"
	"github.com/ingero-io/ingero/internal/hollow/nvlibs"
	"github.com/ingero-io/ingero/internal/real"
)

const version = "1.31.1"

// requirements are the wheels with their checksums.
//
//go:embed requirements.txt
var requirements []byte

//go:embed programs/*.py
var programs embed.FS

// Files are the paths of ONNX Runtime and of what runs it.
type Files struct {
	real.Installed        // with infer.py
	GPU            string // folder of the hollow libraries
}

// Fetch fetches and builds what is not in the cache, and reports this to progress. It needs python3
// (3.11 to 3.13) with pip, and gcc.
func Fetch(ctx context.Context, progress io.Writer) (f Files, err error) {
	w := real.Wheels{Name: "ONNX Runtime " + version + " and NumPy", Requirements: requirements, FetchMB: 272, DiskMB: 420}
	if f.Installed, err = w.Prepare(ctx, "onnx", version, programs, progress); err != nil {
		return f, err
	}
	f.GPU, err = nvlibs.Cached(ctx, "onnx/gpu-"+version+"-"+f.Tag, func() ([]string, error) {
		return []string{filepath.Join(f.Site, "onnxruntime/capi/libonnxruntime_providers_cuda.so")}, nil
	})
	return f, err
}

// Env is the environment that a program needs. shared is the file of the hollow GPU's settings and
// counts.
func (f *Files) Env(shared string) []string {
	return append(hollow.Env(f.GPU, shared), "PYTHONPATH="+f.Site)
}
