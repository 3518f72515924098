package real

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
)

// Wheels are PyPI packages for x86-64 that are fetched together.
type Wheels struct {
	Name            string // for messages
	Requirements    []byte // pip's requirements file: versions and checksums
	FetchMB, DiskMB int    // the wheels' sizes, and unpacked
}

// Installed are the paths of a PyPI package and of this project's programs that use it.
type Installed struct {
	Python   string // the interpreter
	Tag      string // of its version, such as cpython-311
	Site     string // folder of the wheels' packages
	Programs string // folder of our programs
}

// Prepare fetches the wheels and unpacks the programs, unless they are in the cache, below name,
// and reports this to progress. It needs python3 (3.11 to 3.13) with pip.
func (w *Wheels) Prepare(
	ctx context.Context, name, version string, programs embed.FS, progress io.Writer,
) (p Installed, err error) {
	if p.Python, p.Tag, err = findPython(ctx); err != nil {
		return p, err
	}
	if p.Site, err = w.Fetch(ctx, p.Python, name+"/"+version+"-"+p.Tag, progress); err != nil {
		return p, err
	}
	p.Programs, err = unpack(name, programs)
	return p, err
}

// findPython finds python3 and its version tag, such as cpython-311, for which wheels are made.
func findPython(ctx context.Context) (path, tag string, err error) {
	if path, err = exec.LookPath("python3"); err != nil {
		return "", "", fmt.Errorf("find Python: %w", err)
	}
	out, err := exec.CommandContext(ctx, path, "-c", "import sys; print(sys.implementation.cache_tag)").Output()
	if err != nil {
		return "", "", fmt.Errorf("ask %s for its version: %w", path, err)
	}
	return path, strings.TrimSpace(string(out)), nil
}

// Fetch fetches the wheels into a folder of the cache, below name, unless they are there; it
// reports this to progress and returns the folder of the packages. It needs pip.
func (w *Wheels) Fetch(ctx context.Context, python, name string, progress io.Writer) (string, error) {
	dir, err := Once(name, func(dir string) error { return w.install(ctx, python, dir, progress) })
	return filepath.Join(dir, "site"), err
}

func (w *Wheels) install(ctx context.Context, python, dir string, progress io.Writer) error {
	if runtime.GOARCH != "amd64" {
		return fmt.Errorf("fetch %s: its checksums are those of the wheels for x86-64", w.Name)
	}
	fmt.Fprintf(progress, "fetching %s, %d MB (%d MB on disk)\n", w.Name, w.FetchMB, w.DiskMB)
	list := filepath.Join(dir, "requirements.txt")
	if err := os.WriteFile(list, w.Requirements, 0o644); err != nil {
		return fmt.Errorf("fetch %s: %w", w.Name, err)
	}
	out, err := exec.CommandContext(ctx, python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
		"--no-cache-dir", "--no-deps", "--require-hashes", "--only-binary=:all:", "--target", filepath.Join(dir, "site"),
		"--requirement", list).CombinedOutput()
	if err != nil {
		return fmt.Errorf("fetch %s with pip (Debian: python3-pip): %w\n%s", w.Name, err, out)
	}
	return nil
}

// unpack writes the folder programs of a package of this repository into the cache, below name, and
// returns its path.
func unpack(name string, programs embed.FS) (string, error) {
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
	dir, err := Once(fmt.Sprintf("%s/programs-%x", name, h.Sum(nil)[:8]), func(dir string) error {
		return os.CopyFS(dir, programs)
	})
	return filepath.Join(dir, "programs"), err
}
