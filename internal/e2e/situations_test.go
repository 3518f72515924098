package e2e_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/ingero-io/ingero/internal/cudastub"
	"github.com/ingero-io/ingero/internal/cudastub/embedded"
)

// situations are the rows of the table. Programs without late calls are started before the tracer.
var situations = []situation{
	{
		name:  "libraries in a system folder (`/usr/local/cuda/lib64`)",
		start: in("usr/local/cuda-12.4/lib64", "libcudart.so.12"),
	},
	{
		name:  "in a virtual environment (`site-packages/nvidia/cuda_runtime/lib`)",
		start: in("venv/lib/python3.11/site-packages/nvidia/cuda_runtime/lib", "libcudart.so.12"),
	},
	{
		name:  "in a conda environment, full version in the name (CUDA 11)",
		start: in("conda/envs/x/lib", "libcudart.so.11.8.89"),
	},
	{
		name:  "in a Python wheel, hash in the name",
		start: in("venv/lib/python3.11/site-packages/torch/lib", "libcudart-d0da41ae.so.11.0"),
	},
	{name: "CUDA 13", start: in("opt/cuda-13/lib64", "libcudart.so.13.0.48")},
	{name: "another mount namespace (container)", start: otherMounts},
	{name: "another PID namespace", start: otherPIDs},
	{name: "another user's process", start: otherUser},
	{name: "libraries deleted since they were loaded", start: deleted},
	{name: "libraries replaced while the program runs", start: replaced},
	{name: "program started after the tracer", late: startsLate, burst: true},
	{name: "library loaded by `dlopen` while the tracer runs", late: loadsLate, burst: true},
	{
		name: "program that becomes a CUDA program by `exec`", start: execs,
		late: func(b *bench, v *cudastub.Victim) *cudastub.Victim {
			b.do(v, "go")
			return v
		},
	},
	{name: "child of a CUDA program (`fork`)", start: in("forks/lib64", "libcudart.so.12"), fork: true},
	{
		name:  "runtime linked into the program (`libcudart_static.a`)",
		start: embeds(func(f embedded.Files) string { return f.Static }),
	},
	{name: "runtime linked into a shared object", start: embeds(func(f embedded.Files) string { return f.Engine })},
	{name: "runtime linked in, symbols stripped", start: embeds(func(f embedded.Files) string { return f.Stripped })},
}

// bench has the programs that the situations start.
type bench struct {
	t      *testing.T
	dir    string // readable by all users
	files  cudastub.Files
	inside embedded.Files
}

func newBench(t *testing.T) *bench {
	t.Helper()
	dir := t.TempDir()
	b := &bench{t: t, dir: dir}
	b.try(os.Chmod(filepath.Dir(dir), 0o755)) // only this user could read it
	var err error
	b.files, err = cudastub.Extract(filepath.Join(dir, "stub"))
	b.try(err)
	b.inside, err = embedded.Extract(b.files)
	b.try(err)
	return b
}

func (b *bench) try(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// start starts a program that ends with the test.
func (b *bench) start(f cudastub.Files, o cudastub.Options) *cudastub.Victim {
	b.t.Helper()
	v, err := f.Start(context.Background(), o)
	b.try(err)
	b.t.Cleanup(func() { _ = v.Close() }) // how it ends does not matter
	return v
}

func (b *bench) do(v *cudastub.Victim, format string, args ...any) cudastub.Answer {
	b.t.Helper()
	a, err := v.Do(fmt.Sprintf(format, args...))
	b.try(err)
	return a
}

// libs makes a folder with new copies of the libraries; the runtime gets the given name.
func (b *bench) libs(dir, runtime string) string {
	b.t.Helper()
	dir = filepath.Join(b.dir, dir)
	b.try(os.RemoveAll(dir))
	b.try(os.MkdirAll(dir, 0o755))
	for from, to := range map[string]string{"libcudart.so.12": runtime, "libcuda.so.1": "libcuda.so.535.261.03"} {
		data, err := os.ReadFile(filepath.Join(b.files.LibDir, from))
		b.try(err)
		b.try(os.WriteFile(filepath.Join(dir, to), data, 0o755))
		if to != from {
			b.try(os.Symlink(to, filepath.Join(dir, from))) // the name that the loader looks for
		}
	}
	return dir
}

// script makes a shell script with the commands that takes the program's place; it gets the
// program's arguments.
func (b *bench) script(name, commands string) cudastub.Files {
	b.t.Helper()
	path := filepath.Join(b.dir, name+".sh")
	b.try(os.WriteFile(path, []byte("#!/bin/sh\n"+commands+"\n"), 0o755))
	f := b.files
	f.Victim = path
	return f
}

// ready waits until the program answers; then its libraries are loaded.
func (b *bench) ready(v *cudastub.Victim) { b.do(v, "pid") }

func in(dir, runtime string) func(*bench) (*cudastub.Victim, int) {
	return func(b *bench) (*cudastub.Victim, int) {
		v := b.start(b.files, cudastub.Options{LibDir: b.libs(dir, runtime)})
		b.ready(v)
		return v, v.PID()
	}
}

// otherMounts runs the program on a file system that is mounted in its own mount namespace.
func otherMounts(b *bench) (*cudastub.Victim, int) {
	at := filepath.Join(b.dir, "container")
	b.try(os.MkdirAll(at, 0o755))
	f := b.script("mounts", fmt.Sprintf(`exec unshare -m sh -c '
mount -t tmpfs none %[1]s && cp %[2]s/lib/* %[1]s/ && cp %[2]s/victim %[1]s/ || exit 1
export LD_LIBRARY_PATH=%[1]s
exec %[1]s/victim "$@"' sh "$@"`, at, b.files.Dir))
	v := b.start(f, cudastub.Options{})
	b.ready(v)
	return v, v.PID()
}

// otherPIDs runs the program as PID 1 of its own PID namespace.
func otherPIDs(b *bench) (*cudastub.Victim, int) {
	v := b.start(b.script("pids", fmt.Sprintf("exec unshare -p -f %s \"$@\"", b.files.Victim)),
		cudastub.Options{LibDir: b.libs("pids", "libcudart.so.12")})
	b.ready(v)
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", v.PID()))
	b.try(err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(children)))
	b.try(err)
	return v, pid
}

func otherUser(b *bench) (*cudastub.Victim, int) {
	f := b.script("user", fmt.Sprintf("exec setpriv --reuid=65534 --regid=65534 --clear-groups %s \"$@\"", b.files.Victim))
	v := b.start(f, cudastub.Options{LibDir: b.libs("user", "libcudart.so.12")})
	b.ready(v)
	return v, v.PID()
}

func deleted(b *bench) (*cudastub.Victim, int) {
	dir := b.libs("deleted", "libcudart.so.12")
	v := b.start(b.files, cudastub.Options{LibDir: dir})
	b.ready(v)
	b.try(os.RemoveAll(dir))
	return v, v.PID()
}

// replaced replaces the libraries' files, as an upgrade does.
func replaced(b *bench) (*cudastub.Victim, int) {
	dir := b.libs("replaced", "libcudart.so.12")
	v := b.start(b.files, cudastub.Options{LibDir: dir})
	b.ready(v)
	b.libs("replaced", "libcudart.so.12")
	return v, v.PID()
}

func startsLate(b *bench, _ *cudastub.Victim) *cudastub.Victim {
	return b.start(b.files, cudastub.Options{LibDir: b.libs("starts", "libcudart.so.12")})
}

func loadsLate(b *bench, _ *cudastub.Victim) *cudastub.Victim {
	v := b.start(b.files, cudastub.Options{Late: true, LibDir: b.libs("loads", "libcudart.so.12")})
	b.ready(v)
	b.do(v, "dlopen")
	return v
}

// execs is a shell that executes the program on command.
func execs(b *bench) (*cudastub.Victim, int) {
	f := b.script("execs", fmt.Sprintf("read line && echo ok && exec %s \"$@\"", b.files.Victim))
	v := b.start(f, cudastub.Options{LibDir: b.libs("execs", "libcudart.so.12")})
	return v, v.PID()
}

func embeds(program func(embedded.Files) string) func(*bench) (*cudastub.Victim, int) {
	return func(b *bench) (*cudastub.Victim, int) {
		f := b.files
		f.Victim = program(b.inside)
		v := b.start(f, cudastub.Options{})
		b.ready(v)
		return v, v.PID()
	}
}
