// Package llama runs llama.cpp, from the npm packages of node-llama-cpp, on the hollow GPU: the
// builds for CUDA 12 and 13, with a small random model and a program of this project that uses
// libllama (src/harness.c).
package llama

import (
	"archive/tar"
	"compress/gzip"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/ingero-io/ingero/internal/real"
)

const version = "3.22.1"

// The package for CUDA 13, and the package with ggml's CUDA library for CUDA 12.
var (
	cuda13 = real.Package{
		Name: "@node-llama-cpp/linux-x64-cuda", Version: version, MB: 143,
		Integrity: "sha512-8rQCjyNNLZJUFit+YpjwlC4hwkKgOMIkB2wuycKBf8NU2O3ySKbiWZQ8aw9ku2nUTXjSnUIrE6KB88itduTBuA==",
	}
	cuda12 = real.Package{
		Name: "@node-llama-cpp/linux-x64-cuda-ext", Version: version, MB: 177,
		Integrity: "sha512-4e5ajkiM2aR2WAdB/N/ACk4weEhHvOAIrzxZPsIX0xDFW5+6hhShuy1/vs88SK9NGdgAco9IyE28eYS0H1efpA==",
	}
)

//go:embed src/harness.c
var harness []byte

// Files are the paths of llama.cpp and of what runs it.
type Files struct {
	CUDA12, CUDA13 string // folders of libraries, for a CUDA each
	Model          string // GGUF
	Harness        string // the program
}

// Libraries is the folder of libraries for a CUDA version, 12 or 13.
func (f *Files) Libraries(cuda int) string {
	if cuda == 12 {
		return f.CUDA12
	}
	return f.CUDA13
}

// Fetch fetches and builds what is not in the cache, and reports this to progress.
func Fetch(ctx context.Context, progress io.Writer) (f Files, err error) {
	dir, err := real.Once("llama/"+version, func(dir string) error { return fetch(ctx, dir, progress) })
	if err != nil {
		return f, err
	}
	f = Files{
		CUDA12: filepath.Join(dir, "cuda12"), CUDA13: filepath.Join(dir, "cuda13"),
		Model: filepath.Join(dir, "tiny.gguf"),
	}
	f.Harness, err = build(ctx, dir)
	return f, err
}

// folder is where the packages have the libraries that a process may load.
const folder = "package/bins/linux-x64-cuda/"

func fetch(ctx context.Context, dir string, progress io.Writer) error {
	for _, p := range []struct {
		pkg    real.Package
		prefix string // of the files to take
		to     string
	}{{cuda13, folder, "cuda13"}, {cuda12, folder + "fallback/", "cuda12"}} {
		archive, err := real.NPM(ctx, p.pkg, dir, progress)
		if err != nil {
			return err
		}
		if err := unpack(archive, p.prefix, filepath.Join(dir, p.to)); err != nil {
			return fmt.Errorf("unpack %s: %w", p.pkg.Name, err)
		}
		if err := os.Remove(archive); err != nil {
			return err
		}
	}
	if err := share(filepath.Join(dir, "cuda13"), filepath.Join(dir, "cuda12")); err != nil {
		return fmt.Errorf("put the libraries for CUDA 12 together: %w", err)
	}
	return WriteModel(filepath.Join(dir, "tiny.gguf"), Tiny, 1)
}

// unpack writes the libraries of an archive whose names begin with prefix into a folder.
func unpack(archive, prefix, to string) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer f.Close() // only read
	z, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		name, ok := strings.CutPrefix(h.Name, prefix)
		if !ok || strings.Contains(name, "/") || !strings.Contains(name, ".so") {
			continue
		}
		if err := write(filepath.Join(to, name), r); err != nil {
			return err
		}
	}
}

func write(path string, r io.Reader) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	return errors.Join(err, f.Close())
}

// share links the files of one folder into another one, unless they are there.
func share(from, to string) error {
	list, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range list {
		if err := os.Link(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil &&
			!errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

// build compiles the program, unless it is there and its source is the same.
func build(ctx context.Context, dir string) (string, error) {
	return real.Compile(ctx, "llama/harness", harness, "-L"+filepath.Join(dir, "cuda13"),
		"-l:libllama.cuda.v0.5.0.so", "-l:libggml.cuda.v0.5.0.so", "-Wl,-rpath-link,"+filepath.Join(dir, "cuda13"),
		"-pthread")
}

// Command prepares a run of the program with the libraries for a CUDA version, 12 or 13, and the
// options that src/harness.c lists. gpu is the folder of the hollow GPU's libraries, env its
// settings.
func (f *Files) Command(ctx context.Context, cuda int, gpu string, env []string, args ...string) *exec.Cmd {
	libraries := f.Libraries(cuda)
	cmd := exec.CommandContext(ctx, f.Harness, append([]string{libraries, f.Model}, args...)...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Env = append(cmd.Env, "LD_LIBRARY_PATH="+gpu+":"+libraries)
	return cmd
}
