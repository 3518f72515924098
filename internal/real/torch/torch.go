// Package torch runs PyTorch, as PyPI's wheel for CUDA 13 brings it, on the hollow GPU, with
// programs of ours that train small networks (programs).
package torch

import (
	"context"
	"crypto/sha256"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
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

// Files is where PyTorch is, and what runs it.
type Files struct {
	Python   string // the interpreter
	Site     string // its packages
	Programs string // folder of train.py, ddp.py, graphs.py, compiled.py, faulty.py and ranks.py
	GPU      string // folder of the hollow libraries
	Triton   string // its package; empty unless it was fetched
	tag      string // of the interpreter's version, such as cpython-311
}

// wheels are packages of PyPI that are fetched together.
type wheels struct {
	name            string
	requirements    []byte // with checksums
	fetchMB, diskMB int    // the wheels' sizes, and unpacked
}

// Fetch fetches and builds what is not in the cache, and says so to progress. It needs
// python3 (3.11 to 3.13) with pip, and gcc.
func Fetch(ctx context.Context, progress io.Writer) (f Files, err error) {
	if runtime.GOARCH != "amd64" {
		return f, errors.New("fetch PyTorch: its checksums are those of the wheels for x86-64")
	}
	if f.Python, err = exec.LookPath("python3"); err != nil {
		return f, fmt.Errorf("find Python: %w", err)
	}
	out, err := exec.CommandContext(ctx, f.Python, "-c", "import sys; print(sys.implementation.cache_tag)").Output()
	if err != nil {
		return f, fmt.Errorf("ask %s for its version: %w", f.Python, err)
	}
	f.tag = strings.TrimSpace(string(out))
	dir, err := real.Once("torch/"+version+"-"+f.tag, func(dir string) error {
		return f.install(ctx, dir, wheels{"PyTorch " + version + " and what it imports", requirements, 567, 1400}, progress)
	})
	if err != nil {
		return f, err
	}
	f.Site = filepath.Join(dir, "site")
	if f.Programs, err = unpack(); err != nil {
		return f, err
	}
	f.GPU, err = f.gpu(ctx)
	return f, err
}

func (f *Files) install(ctx context.Context, dir string, w wheels, progress io.Writer) error {
	fmt.Fprintf(progress, "fetching %s, %d MB (%d MB on disk)\n", w.name, w.fetchMB, w.diskMB)
	list := filepath.Join(dir, "requirements.txt")
	if err := os.WriteFile(list, w.requirements, 0o644); err != nil {
		return fmt.Errorf("fetch %s: %w", w.name, err)
	}
	out, err := exec.CommandContext(ctx, f.Python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
		"--no-cache-dir", "--no-deps", "--require-hashes", "--only-binary=:all:", "--target", filepath.Join(dir, "site"),
		"--requirement", list).CombinedOutput()
	if err != nil {
		return fmt.Errorf("fetch %s with pip (Debian: python3-pip): %w\n%s", w.name, err, out)
	}
	return nil
}

// unpack writes the programs into the cache.
func unpack() (string, error) {
	h := sha256.New()
	list, err := programs.ReadDir("programs")
	for _, e := range list {
		text, e := programs.ReadFile("programs/" + e.Name())
		err = errors.Join(err, e)
		h.Write(text)
	}
	if err != nil {
		return "", fmt.Errorf("read the programs: %w", err)
	}
	dir, err := real.Once(fmt.Sprintf("torch/programs-%x", h.Sum(nil)[:8]), func(dir string) error {
		return os.CopyFS(dir, programs)
	})
	return filepath.Join(dir, "programs"), err
}

// gpu builds the libraries that PyTorch links.
func (f *Files) gpu(ctx context.Context) (string, error) {
	below, err := hollow.Build(ctx)
	if err != nil {
		return "", err
	}
	key, err := nvlibs.Key()
	if err != nil {
		return "", err
	}
	name := fmt.Sprintf("torch/gpu-%s-%s-%s-%s", version, f.tag, filepath.Base(below), key)
	return real.Once(name, func(dir string) error {
		users, err := filepath.Glob(filepath.Join(f.Site, "torch/lib/*.so"))
		if err != nil || len(users) == 0 {
			return fmt.Errorf("find PyTorch's libraries in %s: %w", f.Site, err)
		}
		return nvlibs.Build(ctx, below, dir, users...)
	})
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

// Env are the variables that a program needs.
func (f *Files) Env(shared string) []string {
	path := f.Site
	if f.Triton != "" {
		path += ":" + f.Triton
	}
	return append(hollow.Env(f.GPU, shared), "PYTHONPATH="+path, "OMP_NUM_THREADS=1")
}
