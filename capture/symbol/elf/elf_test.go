package elf_test

import (
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/ingero-io/ingero/capture/host/proc"
	symbol "github.com/ingero-io/ingero/capture/symbol/elf"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/internal/cudastub"
)

func TestOwnFunctionsAreNamed(t *testing.T) {
	pcs := make([]uintptr, 8)
	n := runtime.Callers(1, pcs)
	if n < 2 {
		t.Fatal("no callers")
	}
	var addrs []uint64
	for _, pc := range pcs[:n] {
		addrs = append(addrs, uint64(pc))
	}
	frames := symbol.New(proc.New("")).Resolve(os.Getpid(), addrs)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file, err := elf.Open(self)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for i, f := range frames[:2] {
		want := ""
		if stripped := file.Section(".symtab") == nil; !stripped { // go test strips, go test -c does not
			want = runtime.FuncForPC(pcs[i] - 1).Name()
		}
		if f.Symbol != want || f.Kind != event.FrameNative || f.Addr != addrs[i] || f.Module != filepath.Base(self) {
			t.Errorf("frame %d is %+v, want %s", i, f, want)
		}
	}
}

// victim starts a C program with the stand-in libraries.
func victim(t *testing.T) (cudastub.Files, *cudastub.Victim) {
	t.Helper()
	files, err := cudastub.Extract(t.TempDir())
	if err != nil {
		t.Skip("no stand-ins for this architecture: ", err)
	}
	v, err := files.Start(t.Context(), cudastub.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = v.Close() })
	if _, err := v.Do("pid"); err != nil {
		t.Fatal(err)
	}
	return files, v
}

// function is the run-time address of a library's function in a process, and
// its address in the file.
func function(t *testing.T, pid int, path, name string) (addr uint64, s elf.Symbol) {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	syms, err := f.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s = range syms {
		if s.Name == name {
			break
		}
	}
	if s.Name != name {
		t.Fatalf("%s has no %s", path, name)
	}
	maps, err := proc.New("").Maps(pid)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range f.Progs {
		if p.Type != elf.PT_LOAD || s.Value < p.Vaddr || s.Value >= p.Vaddr+p.Filesz {
			continue
		}
		off := s.Value - p.Vaddr + p.Off
		for _, m := range maps {
			if m.Path == path && m.Exec && off >= m.Offset && off < m.Offset+m.End-m.Start {
				return off - m.Offset + m.Start, s
			}
		}
	}
	t.Fatalf("%s is not mapped by process %d", path, pid)
	return 0, s
}

func TestFunctionsOfLibrariesAreNamed(t *testing.T) {
	files, v := victim(t)
	r := symbol.New(proc.New(""))
	for _, tt := range []struct{ lib, name string }{
		{"libcudart.so.12", "cudaLaunchKernel"},
		{"libcudart.so.12", "cudaMemcpyAsync_ptsz"},
		{"libcuda.so.1", "cuMemAlloc_v2"},
	} {
		addr, s := function(t, v.PID(), filepath.Join(files.LibDir, tt.lib), tt.name)
		want := func(at uint64) event.Frame {
			return event.Frame{Kind: event.FrameNative, Addr: at, Symbol: tt.name, Module: tt.lib, Offset: at - addr + s.Value}
		}
		// A return address may be the function's end, not its start.
		got := r.Resolve(v.PID(), []uint64{addr + 1, addr + s.Size})
		if exp := []event.Frame{want(addr + 1), want(addr + s.Size)}; !reflect.DeepEqual(got, exp) {
			t.Errorf("%s: got %+v\nwant %+v", tt.name, got, exp)
		}
		if got := r.Resolve(v.PID(), []uint64{addr}); got[0].Symbol == tt.name {
			t.Errorf("%s: the address behind the function before it was taken for its own", tt.name)
		}
	}
}

func TestEndedProcessKeepsWhatWasRead(t *testing.T) {
	files, v := victim(t)
	r := symbol.New(proc.New(""))
	addr, _ := function(t, v.PID(), filepath.Join(files.LibDir, "libcuda.so.1"), "cuInit")
	other, _ := function(t, v.PID(), filepath.Join(files.LibDir, "libcudart.so.12"), "cudaFree")
	if f := r.Resolve(v.PID(), []uint64{addr + 1}); f[0].Symbol != "cuInit" {
		t.Fatalf("got %+v", f)
	}
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	f := r.Resolve(v.PID(), []uint64{addr + 1, other + 1, 4097})
	if f[0].Symbol != "cuInit" {
		t.Errorf("known file: got %+v", f[0])
	}
	if f[1].Symbol != "" || f[1].Module != "libcudart.so.12" || f[1].Offset == 0 {
		t.Errorf("file never read: got %+v", f[1])
	}
	if f[2] != (event.Frame{Kind: event.FrameNative, Addr: 4097}) {
		t.Errorf("unknown address: got %+v", f[2])
	}
	r.Forget(v.PID())
	if f := r.Resolve(v.PID(), []uint64{addr + 1, 0}); f[0] != (event.Frame{Kind: event.FrameNative, Addr: addr + 1}) ||
		len(f) != 2 {
		t.Errorf("forgotten process: got %+v", f)
	}
}

// Addresses may be named only after the process has ended.
func TestEndedProcessIsNamedByWhatWasFoundOutBefore(t *testing.T) {
	files, v := victim(t)
	lib := filepath.Join(files.LibDir, "libcudart.so.12")
	addr, _ := function(t, v.PID(), lib, "cudaFree")
	code, err := proc.New("").Code(v.PID())
	if err != nil {
		t.Fatal(err)
	}
	r := symbol.New(proc.New(""))
	var kept []*os.File
	for _, m := range code {
		if !strings.HasPrefix(m.Path, files.LibDir) {
			continue
		}
		f, err := os.Open(m.Path)
		if err != nil {
			t.Fatal(err)
		}
		kept = append(kept, f)
		r.Lend(m, f)
	}
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	r.Know(v.PID(), code)
	if f := r.Resolve(v.PID(), []uint64{addr + 1}); f[0].Symbol != "cudaFree" || f[0].Module != "libcudart.so.12" {
		t.Errorf("got %+v", f)
	}
	r.Return()
	if len(kept) < 2 {
		t.Fatalf("%d files", len(kept))
	}
	for _, f := range kept {
		if err := f.Close(); !errors.Is(err, os.ErrClosed) {
			t.Errorf("%s was not closed (%v)", f.Name(), err)
		}
	}
}

func TestLibraryLoadedLaterIsFound(t *testing.T) {
	files, err := cudastub.Extract(t.TempDir())
	if err != nil {
		t.Skip("no stand-ins for this architecture: ", err)
	}
	v, err := files.Start(t.Context(), cudastub.Options{Late: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = v.Close() })
	if _, err := v.Do("pid"); err != nil {
		t.Fatal(err)
	}
	r := symbol.New(proc.New(""))
	r.Resolve(v.PID(), []uint64{4097}) // known from now on
	if _, err := v.Do("dlopen"); err != nil {
		t.Fatal(err)
	}
	addr, _ := function(t, v.PID(), filepath.Join(files.LibDir, "libcudart.so.12"), "cudaMalloc")
	// For an unknown address the mappings are read again, but not each time.
	// So it is found after at most a few further stacks.
	for range 4 {
		if f := r.Resolve(v.PID(), []uint64{addr + 1}); f[0].Symbol == "cudaMalloc" {
			return
		}
	}
	t.Error("cudaMalloc not found")
}

func TestNamesOfCompiledLanguagesAreReadable(t *testing.T) {
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("needs gcc to make a library with C++ and Rust names")
	}
	dir := t.TempDir()
	names := map[string]string{
		"_ZN2at10TensorImpl4copyEil":                           "at::TensorImpl::copy(int, long)",
		"_ZN4core3fmt9Formatter9write_str17h0123456789abcdefE": "core::fmt::Formatter::write_str",
		"_RNvCsabcd_7mycrate3foo":                              "mycrate::foo",
		"plain_c":                                              "plain_c",
		"_Znot_mangled":                                        "_Znot_mangled",
	}
	var src strings.Builder
	for n := range names {
		fmt.Fprintf(&src, "__attribute__((noinline)) int f%d(void) __asm__(\"%s\"); int f%d(void) { return %d; }\n", len(n),
			n, len(n), len(n))
	}
	c, lib := filepath.Join(dir, "x.c"), filepath.Join(dir, "libx.so")
	if err := os.WriteFile(c, []byte(src.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(gcc, "-shared", "-fPIC", "-O1", "-o", lib, c).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	pid, root := pretend(t, lib, 0x7f0000000000)
	r := symbol.New(proc.New(root))
	f, err := elf.Open(lib)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	syms, err := f.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, s := range syms {
		want, ok := names[s.Name]
		if !ok {
			continue
		}
		seen++
		// The pretended mapping covers the file from its start.
		off := s.Value
		for _, p := range f.Progs {
			if p.Type == elf.PT_LOAD && p.Vaddr <= s.Value && s.Value < p.Vaddr+p.Filesz {
				off = s.Value - p.Vaddr + p.Off
			}
		}
		if got := r.Resolve(pid, []uint64{0x7f0000000000 + off + 1}); got[0].Symbol != want {
			t.Errorf("%s: got %q, want %q", s.Name, got[0].Symbol, want)
		}
	}
	if seen != len(names) {
		t.Errorf("library has %d of %d functions", seen, len(names))
	}
}

// pretend makes a proc file system with one process that has mapped a file.
func pretend(t testing.TB, file string, at uint64) (pid int, root string) {
	t.Helper()
	root, pid = t.TempDir(), 4321
	dir := filepath.Join(root, strconv.Itoa(pid))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/", filepath.Join(dir, "root")); err != nil {
		t.Fatal(err)
	}
	i, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	line := fmt.Sprintf("%x-%x r-xp 00000000 fe:00 %d %s\n", at, at+uint64(i.Size()+4095)&^4095, inode(i), file)
	if err := os.WriteFile(filepath.Join(dir, "maps"), []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	return pid, root
}

func TestFramesInAFileThatIsNotELFHaveItsName(t *testing.T) {
	for name, make := range map[string]func(path string) error{
		"text":  func(p string) error { return os.WriteFile(p, []byte("#!/bin/sh\n"), 0o600) },
		"empty": func(p string) error { return os.WriteFile(p, nil, 0o600) },
		"fifo":  mkfifo,
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "strange")
			if err := make(path); err != nil {
				t.Fatal(err)
			}
			pid, root := pretend(t, path, 0x10000)
			if name != "text" {
				enlarge(t, root, pid)
			}
			r := symbol.New(proc.New(root))
			for range 2 {
				f := r.Resolve(pid, []uint64{0x10010})
				if f[0] != (event.Frame{Kind: event.FrameNative, Addr: 0x10010, Module: "strange", Offset: 0x10}) {
					t.Errorf("got %+v", f[0])
				}
			}
		})
	}
}

// enlarge gives the pretended mapping of an empty file a page.
func enlarge(t *testing.T, root string, pid int) {
	t.Helper()
	name := filepath.Join(root, strconv.Itoa(pid), "maps")
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(strings.Replace(string(b), "10000-10000", "10000-11000", 1)),
		fs.FileMode(0o600)); err != nil {
		t.Fatal(err)
	}
}

func BenchmarkResolveKnownStack(b *testing.B) {
	pcs := make([]uintptr, 32)
	n := runtime.Callers(0, pcs)
	var addrs []uint64
	for _, pc := range pcs[:n] {
		addrs = append(addrs, uint64(pc))
	}
	r := symbol.New(proc.New(""))
	r.Resolve(os.Getpid(), addrs)
	for b.Loop() {
		r.Resolve(os.Getpid(), addrs)
	}
}
