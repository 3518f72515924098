// Package hollow simulates a GPU: libcuda.so.1 and libcudart.so.12 and .so.13 with NVIDIA's names,
// versions and calling conventions, on which real CUDA programs run. Device memory is host memory,
// and copies really copy; each stream is a queue with simulated time; kernels compute nothing. Each
// call is counted in a file that can be read while the program runs; the tracer's results are
// compared with it.
//
// gcc compiles the libraries into a cache folder when they are needed; nothing of NVIDIA's is
// needed for that. DESIGN.md lists the settings, and how it differs from a GPU.
package hollow

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/ingero-io/ingero/capture/host/nvml"
	"github.com/ingero-io/ingero/internal/cudastub"
	"github.com/ingero-io/ingero/internal/real"
)

//go:embed src/*.c src/*.h
var sources embed.FS

// names are the functions that NVIDIA's libraries export, one a line: libcudart of the wheels
// nvidia-cuda-runtime 12.8.90 and 13.0.96, libcuda of Debian's 535.261 with those that cuda.h of
// 13.0 declares.
//
//go:embed names
var names embed.FS

// library is a library to build: its soname, its sources, and how to build it.
type library struct {
	soname  string
	prefix  []string // of the files in src
	flags   []string
	version string // of its symbols; empty: they have no version
	needs   []string
}

var libraries = []library{
	{soname: "libcuda.so.1", prefix: []string{
		"copy", "drv_", "engine", "graph", "host", "memory", "settings", "shm", "stacks", "wait",
	}},
	{
		soname: "libcudart.so.12", prefix: []string{"rt_"}, flags: []string{"-DCUDART=12"},
		version: "libcudart.so.12", needs: []string{"libcuda.so.1"},
	},
	{
		soname: "libcudart.so.13", prefix: []string{"rt_"}, flags: []string{"-DCUDART=13"},
		version: "libcudart.so.13", needs: []string{"libcuda.so.1"},
	},
}

// Build compiles the libraries, unless they are in the cache, and returns their folder.
func Build(ctx context.Context) (dir string, err error) {
	key, err := sourceKey()
	if err != nil {
		return "", fmt.Errorf("read the hollow GPU's sources: %w", err)
	}
	return real.Once("hollow-"+key, func(dir string) error {
		if err := buildAll(ctx, dir); err != nil {
			return fmt.Errorf("build the hollow GPU: %w", err)
		}
		return nil
	})
}

// sourceKey is a hash of everything that the libraries are made of.
func sourceKey() (string, error) {
	h := sha256.New()
	fmt.Fprintln(h, runtime.GOARCH, buildFlags, libraries)
	for _, tree := range []fs.FS{sources, names, cudastub.NVMLSource, nvml.Header} {
		err := fs.WalkDir(tree, ".", func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			data, err := fs.ReadFile(tree, path)
			fmt.Fprintln(h, path, len(data))
			h.Write(data)
			return err
		})
		if err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil))[:16], nil
}

var buildFlags = []string{"-std=gnu11", "-O2", "-g", "-fPIC", "-fvisibility=hidden", "-fno-omit-frame-pointer", "-Wall"}

func buildAll(ctx context.Context, work string) error {
	src := filepath.Join(work, "src")
	if err := os.CopyFS(work, sources); err != nil {
		return err
	}
	for _, l := range libraries {
		if err := l.build(ctx, work, src); err != nil {
			return fmt.Errorf("%s: %w", l.soname, err)
		}
	}
	if err := buildNVML(ctx, work, src); err != nil {
		return fmt.Errorf("%s: %w", nvmlName, err)
	}
	return nil
}

func (l library) build(ctx context.Context, work, src string) error {
	files, err := l.files(src)
	if err != nil {
		return err
	}
	exported, err := l.exported()
	if err != nil {
		return err
	}
	made, err := implemented(files)
	if err != nil {
		return err
	}
	stubs := filepath.Join(work, l.soname+".stubs.c")
	if err := os.WriteFile(stubs, []byte(stubSource(exported, made)), 0o644); err != nil {
		return err
	}
	script := filepath.Join(work, l.soname+".map")
	if err := os.WriteFile(script, []byte(l.versionScript(exported)), 0o644); err != nil {
		return err
	}
	args := slices.Concat(buildFlags, l.flags, []string{
		"-I", src, "-shared", "-Wl,-soname," + l.soname,
		"-Wl,--version-script," + script, "-o", filepath.Join(work, l.soname),
	}, files, []string{stubs})
	for _, n := range l.needs {
		args = append(args, filepath.Join(work, n))
	}
	return compile(ctx, append(args, "-lpthread", "-ldl"))
}

func compile(ctx context.Context, args []string) error {
	out, err := exec.CommandContext(ctx, "gcc", args...).CombinedOutput()
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return fmt.Errorf("%w; install gcc and the C library's headers (libc6-dev)", err)
	case err != nil:
		return fmt.Errorf("gcc: %w\n%s", err, out)
	}
	return nil
}

func (l library) files(src string) (files []string, err error) {
	entries, err := os.ReadDir(src)
	for _, e := range entries {
		has := func(p string) bool { return strings.HasPrefix(e.Name(), p) }
		if strings.HasSuffix(e.Name(), ".c") && slices.ContainsFunc(l.prefix, has) {
			files = append(files, filepath.Join(src, e.Name()))
		}
	}
	return files, err
}

func (l library) exported() ([]string, error) {
	data, err := names.ReadFile("names/" + l.soname)
	return strings.Fields(string(data)), err
}

var definition = regexp.MustCompile(`(?m)^API(?:_OF\([^)]*\))? (\w+)\(`)

func implemented(files []string) (map[string]bool, error) {
	made := map[string]bool{}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			return nil, err
		}
		for _, m := range definition.FindAllStringSubmatch(string(data), -1) {
			made[m[1]] = true
		}
	}
	return made, nil
}

// stubSource is the source of the functions that are only counted and return "not supported" (801).
func stubSource(exported []string, made map[string]bool) string {
	var b strings.Builder
	b.WriteString("#include \"hollow.h\"\n")
	for _, name := range exported {
		if !made[name] {
			fmt.Fprintf(&b, "API %s(void) { HIT; return 801; }\n", name)
		}
	}
	return b.String()
}

func (l library) versionScript(exported []string) string {
	own := ""
	if len(l.needs) == 0 {
		own = " hollow_*;"
	}
	return fmt.Sprintf("%s { global: %s;%s local: *; };\n", l.version, strings.Join(exported, "; "), own)
}

// Supported lists the functions that are implemented, by library. NVIDIA's other functions are
// counted and return "not supported".
func Supported() (map[string][]string, error) {
	work, err := os.MkdirTemp("", "hollow-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	if err := os.CopyFS(work, sources); err != nil {
		return nil, err
	}
	all := map[string][]string{}
	for _, l := range libraries {
		files, err := l.files(filepath.Join(work, "src"))
		if err != nil {
			return nil, err
		}
		made, err := implemented(files)
		if err != nil {
			return nil, err
		}
		exported, err := l.exported()
		if err != nil {
			return nil, err
		}
		for _, name := range exported {
			if made[name] {
				all[l.soname] = append(all[l.soname], name)
			}
		}
	}
	return all, nil
}

// Env is the environment for a program that runs on the libraries in dir. file is the shared file
// with settings and counts, which is made when the program begins; several processes with the same
// file are counted together.
func Env(dir, file string) []string {
	path := dir
	if old := os.Getenv("LD_LIBRARY_PATH"); old != "" {
		path += ":" + old
	}
	return []string{"LD_LIBRARY_PATH=" + path, "HOLLOW_FILE=" + file}
}
