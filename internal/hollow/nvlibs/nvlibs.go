// Package nvlibs builds stand-ins for the NVIDIA libraries above the CUDA runtime (cuBLAS, cuDNN,
// NCCL and so on) on the hollow GPU. They have the functions that given programs import: names,
// versions and libraries are read from the programs. Calls are counted; a function that would
// compute launches one kernel, which computes nothing. NCCL's collective operations do exchange the
// ranks' data.
package nvlibs

import (
	"cmp"
	"context"
	"crypto/sha256"
	"debug/elf"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/ingero-io/ingero/internal/hollow"
	"github.com/ingero-io/ingero/internal/real"
)

//go:embed src kinds.go nvlibs.go
var sources embed.FS

// function is a function that a program imports.
type function struct {
	name, version string // version is empty if it has none
}

// imports are the functions that programs import from NVIDIA's libraries, by soname.
type imports map[string]map[function]bool

// Build makes the libraries that the given programs and libraries (users) need in the folder dir,
// together with those of the hollow GPU, which hollow.Build made in the folder below. A user may
// also be the name of an NVIDIA library that a program opens itself: it gets the functions that are
// written here.
func Build(ctx context.Context, below, dir string, users ...string) error {
	needed := imports{}
	for _, u := range users {
		if library.MatchString(u) && kindOf(u) != nil {
			needed.addLibrary(u)
			continue
		}
		if err := needed.readImports(u); err != nil {
			return fmt.Errorf("find out what %s imports: %w", u, err)
		}
	}
	under, err := filepath.Glob(filepath.Join(below, "*.so.*"))
	if err != nil {
		return fmt.Errorf("find the hollow GPU: %w", err)
	}
	for _, path := range under {
		if _, base := filepath.Split(path); library.MatchString(base) {
			if err := share(path, filepath.Join(dir, base)); err != nil {
				return fmt.Errorf("put the hollow GPU beside: %w", err)
			}
		}
	}
	work, err := os.MkdirTemp("", "ingero-nvlibs-")
	if err != nil {
		return fmt.Errorf("make a folder for the sources: %w", err)
	}
	defer os.RemoveAll(work) // leftovers do no harm
	if err := os.CopyFS(work, sources); err != nil {
		return fmt.Errorf("unpack the sources: %w", err)
	}
	b := builder{dir: dir, include: filepath.Join(below, "src"), work: filepath.Join(work, "src")}
	for _, soname := range slices.Sorted(maps.Keys(needed)) {
		if err := b.library(ctx, soname, needed[soname]); err != nil {
			return fmt.Errorf("build %s: %w", soname, err)
		}
	}
	return nil
}

// library matches the file names of libraries, but not of their sources.
var library = regexp.MustCompile(`^lib.*\.so\.[0-9]+$`)

// share copies a library.
func share(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o755)
}

// Cached does what Build does, with the hollow GPU, into a folder of the cache, unless it is there
// already. The folder's name begins with name, which must be different for other users; users finds
// the users.
func Cached(ctx context.Context, name string, users func() ([]string, error)) (string, error) {
	below, err := hollow.Build(ctx)
	if err != nil {
		return "", err
	}
	own, err := key()
	if err != nil {
		return "", err
	}
	return real.Once(fmt.Sprintf("%s-%s-%s", name, filepath.Base(below), own), func(dir string) error {
		list, err := users()
		if err != nil {
			return err
		}
		return Build(ctx, below, dir, list...)
	})
}

// key is a hash of everything that the libraries are made of.
func key() (string, error) {
	h := sha256.New()
	err := fs.WalkDir(sources, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := sources.ReadFile(path)
		h.Write(text)
		return err
	})
	return fmt.Sprintf("%x", h.Sum(nil)[:8]), err
}

// readImports adds the imports of an ELF file.
func (m imports) readImports(path string) error {
	f, err := elf.Open(path)
	if err != nil {
		return err
	}
	defer f.Close() // nothing was written
	needed, err := f.ImportedLibraries()
	if err != nil {
		return err
	}
	symbols, err := f.ImportedSymbols()
	if err != nil && !errors.Is(err, elf.ErrNoSymbols) {
		return err
	}
	for _, soname := range needed {
		if kindOf(soname) != nil {
			m.addLibrary(soname)
		}
	}
	for _, s := range symbols {
		soname := s.Library
		if soname == "" {
			soname = owner(s.Name, needed)
		}
		if kindOf(soname) != nil {
			m.addLibrary(soname)[function{s.Name, s.Version}] = true
		}
	}
	return nil
}

func (m imports) addLibrary(soname string) map[function]bool {
	if m[soname] == nil {
		m[soname] = map[function]bool{}
	}
	return m[soname]
}

// owner is the needed library to which a function without a version belongs, by its prefix.
func owner(name string, needed []string) string {
	var best string
	var length int
	for _, soname := range needed {
		if k := kindOf(soname); k != nil && strings.HasPrefix(name, k.prefix) && len(k.prefix) > length {
			best, length = soname, len(k.prefix)
		}
	}
	return best
}

// kindOf is the kind of a library; nil if it is not one of NVIDIA's.
func kindOf(soname string) *kind {
	base, _, _ := strings.Cut(soname, ".so")
	if k, ok := kinds[base]; ok {
		return &k
	}
	return nil
}

type builder struct {
	dir, include, work string
}

// written matches the functions that a source defines.
var written = regexp.MustCompile(`(?m)^API(?:_OF\([^)]*\))? (\w+)\(`)

func (b *builder) library(ctx context.Context, soname string, functions map[function]bool) error {
	k := kindOf(soname)
	have := map[string]bool{}
	args := []string{
		"-shared", "-fPIC", "-O1", "-fvisibility=hidden", "-Wall", "-Wno-unused-parameter", "-pthread",
		"-I", b.include, "-I", b.work, "-o", filepath.Join(b.dir, soname), "-Wl,-soname=" + soname, "-Wl,-z,defs",
	}
	for _, s := range k.sources {
		text, err := os.ReadFile(filepath.Join(b.work, s))
		if err != nil {
			return err
		}
		for _, m := range written.FindAllSubmatch(text, -1) {
			have[string(m[1])] = true
		}
		args = append(args, filepath.Join(b.work, s))
	}
	stubs, script := filepath.Join(b.work, soname+".c"), filepath.Join(b.work, soname+".map")
	sorted := slices.SortedFunc(maps.Keys(functions), func(x, y function) int { return cmp.Compare(x.name, y.name) })
	if err := os.WriteFile(stubs, []byte(k.stubs(sorted, have)), 0o600); err != nil {
		return err
	}
	if text := versions(sorted); text != "" {
		if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
			return err
		}
		args = append(args, "-Wl,--version-script="+script)
	}
	args = append(args, stubs, filepath.Join(b.dir, "libcuda.so.1"), "-Wl,-rpath,$ORIGIN")
	out, err := exec.CommandContext(ctx, "gcc", args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("gcc: %w\n%s", err, out)
	}
	return nil
}

// stubs is the C code of the functions that no source defines.
func (k *kind) stubs(functions []function, have map[string]bool) string {
	var c strings.Builder
	c.WriteString("#include \"nvlibs.h\"\n")
	for _, f := range functions {
		if !have[f.name] {
			have[f.name] = true
			c.WriteString(k.stub(f.name))
		}
	}
	return c.String()
}

// versions is the linker's version script; empty if no function has a version.
func versions(functions []function) string {
	nodes := map[string][]string{}
	for _, f := range functions {
		if f.version != "" {
			nodes[f.version] = append(nodes[f.version], f.name)
		}
	}
	var s strings.Builder
	for _, v := range slices.Sorted(maps.Keys(nodes)) {
		fmt.Fprintf(&s, "%s {\n\tglobal: %s;\n};\n", v, strings.Join(nodes[v], "; "))
	}
	return s.String()
}
