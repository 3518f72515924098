package vm

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
)

// tools are programs of this machine that tests run. The libraries to which the
// stand-in program is linked must be there too; the test programs contain the stand-in
// program and its own libraries.
var tools = []string{"bash", "sh", "cat", "dd", "env", "grep", "seq", "sleep", "stat", "touch", "true"}

// Image builds the test programs below cache and writes an initramfs of them, for
// the kernel's steps, to a file that it returns. It runs in the repository's root.
func Image(ctx context.Context, cache string, k *Kernel, arch Arch) (string, error) {
	native := arch.Go == runtime.GOARCH
	list := steps(k, arch, native)
	programs := filepath.Join(cache, "tests-"+arch.Go)
	if err := compile(ctx, programs, list, arch); err != nil {
		return "", err
	}
	file := filepath.Join(cache, "initramfs-"+k.Name()+"-"+arch.Go)
	if err := writeImage(file, programs, list, arch, native); err != nil {
		return "", fmt.Errorf("write %s: %w", file, err)
	}
	return file, nil
}

// compile builds init and the steps' test programs.
func compile(ctx context.Context, to string, list []Step, arch Arch) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	packages := map[string]bool{}
	args := []string{"test", "-c", "-trimpath", "-ldflags=-s -w", "-o", to + "/"}
	for _, s := range list {
		if !packages[s.Package] {
			packages[s.Package] = true
			args = append(args, "./"+s.Package)
		}
	}
	guest := []string{"build", "-trimpath", "-ldflags=-s -w", "-o", filepath.Join(to, "init"), "./internal/vm/guest"}
	for _, a := range [][]string{guest, args} {
		cmd := exec.CommandContext(ctx, "go", a...)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOARCH="+arch.Go)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("go %s: %w: %s", a[0], err, out)
		}
	}
	return nil
}

func writeImage(file, programs string, list []Step, arch Arch, native bool) (err error) {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() {
		if e := f.Close(); err == nil {
			err = e
		}
	}()
	w := bufio.NewWriter(f)
	a := newArchive(w)
	if err := fill(a, programs, list, arch, native); err != nil {
		return err
	}
	if err := a.close(); err != nil {
		return err
	}
	return w.Flush()
}

func fill(a *archive, programs string, list []Step, arch Arch, native bool) error {
	text, err := json.Marshal(list)
	if err != nil {
		return err
	}
	a.file(StepsFile, text, 0o644)
	a.file("/etc/passwd", []byte("root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n"), 0o644)
	a.file("/etc/group", []byte("root:x:0:\nnogroup:x:65534:\n"), 0o644)
	a.folder("/root")
	if err := a.program("/init", filepath.Join(programs, "init"), arch); err != nil {
		return err
	}
	for _, s := range list {
		program := s.Args[0]
		if err := a.program(program, filepath.Join(programs, path.Base(program)), arch); err != nil {
			return err
		}
		if err := a.tree(s.Dir, s.Package); err != nil {
			return err
		}
	}
	if err := a.needs(filepath.Join("internal/cudastub/prebuilt", "linux_"+arch.Go, "victim-late"), arch); err != nil {
		return err
	}
	if !native {
		return nil
	}
	for _, name := range tools {
		if err := a.tool(name, arch); err != nil {
			return err
		}
	}
	return nil
}

// tool adds a program of this machine.
func (a *archive) tool(name string, arch Arch) error {
	file, err := exec.LookPath(name)
	if err != nil {
		return err
	}
	return a.program("/bin/"+name, file, arch)
}

// tree adds the folder testdata of a package, where its tests look for it.
func (a *archive) tree(to, pkg string) error {
	a.folder(to)
	from := filepath.Join(pkg, "testdata")
	if _, err := os.Stat(from); err != nil {
		return nil // the package has no testdata
	}
	return filepath.WalkDir(from, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(pkg, file)
		a.file(path.Join(to, filepath.ToSlash(rel)), data, 0o644)
		return err
	})
}
