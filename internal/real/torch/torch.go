// Package torch runs PyTorch, from PyPI's wheel for CUDA 13, on the hollow GPU, with programs of
// this project that train small networks (programs).
package torch

import (
	"context"
	"embed"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/ingero-io/ingero/internal/hollow"
	"github.com/ingero-io/ingero/internal/hollow/nvlibs"
	"github.com/ingero-io/ingero/internal/real"
)

const version = "2.15.0"

// requirements are the wheels with their checksums.
//
//go:embed requirements.txt
var requirements []byte

//go:embed programs/*.py
var programs embed.FS

// Files are the paths of PyTorch and of what runs it.
type Files struct {
	real.Installed        // with train.py, ddp.py, graphs.py, compiled.py, faulty.py and ranks.py
	GPU            string // folder of the hollow libraries
	Triton         string // its package; empty unless it was fetched
}

// Fetch fetches and builds what is not in the cache, and reports this to progress. It needs python3
// (3.11 to 3.13) with pip, and gcc.
func Fetch(ctx context.Context, progress io.Writer) (f Files, err error) {
	w := real.Wheels{
		Name: "PyTorch " + version + " and what it imports", Requirements: requirements,
		FetchMB: 567, DiskMB: 1400,
	}
	if f.Installed, err = w.Prepare(ctx, "torch", version, programs, progress); err != nil {
		return f, err
	}
	f.GPU, err = nvlibs.Cached(ctx, "torch/gpu-"+version+"-"+f.Tag, func() ([]string, error) {
		users, err := filepath.Glob(filepath.Join(f.Site, "torch/lib/*.so"))
		if err != nil || len(users) == 0 {
			return nil, fmt.Errorf("find PyTorch's libraries in %s: %w", f.Site, err)
		}
		return users, nil
	})
	return f, err
}

// Command prepares a run of a program (train.py) or of a module ("-m", "torch.distributed.run")
// with its arguments. shared is the file of the hollow GPU's settings and counts.
func (f *Files) Command(ctx context.Context, shared string, args ...string) *exec.Cmd {
	for i, a := range args {
		if strings.HasSuffix(a, ".py") && !filepath.IsAbs(a) {
			args[i] = filepath.Join(f.Programs, a)
		}
	}
	cmd := exec.CommandContext(ctx, f.Python, args...)
	cmd.Env = append(os.Environ(), f.Env(shared)...)
	return cmd
}

// Env is the environment that a program needs.
func (f *Files) Env(shared string) []string {
	path := f.Site
	if f.Triton != "" {
		path += ":" + f.Triton
	}
	return append(hollow.Env(f.GPU, shared), "PYTHONPATH="+path, "OMP_NUM_THREADS=1")
}
