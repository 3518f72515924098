package agent

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ingero-io/ingero/capture/host/proc"
	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/event"
)

func TestNamesAndVersionsOfLibraries(t *testing.T) {
	for _, tc := range []struct{ path, soname, name, version string }{
		{"/cuda/lib64/libcudart.so.12.4.127", "libcudart.so.12", "libcudart.so.12", "12.4.127"},
		{"/venv/nvidia/cublas/lib/libcublas.so.12", "libcublas.so.12", "libcublas.so.12", "12"},
		{"/opt/libnccl.so", "libnccl.so.2", "libnccl.so.2", "2"},
		{"/lib/libcuda.so.535.261.03", "libcuda.so.1", "libcuda.so.1", "535.261.03"},
		{"/torch/lib/libcudart-d0da41ae.so.11.0", "libcudart-d0da41ae.so.11.0", "libcudart-d0da41ae.so.11.0", "11.0"},
		{"/torch/lib/libtorch_cuda.so", "libtorch_cuda.so", "libtorch_cuda.so", ""},
		{"/torch/lib/libtorch_cuda.so", "", "libtorch_cuda.so", ""},
		{"/x/xla_extension.cpython-312-x86_64.so", "", "xla_extension.cpython-312-x86_64.so", ""},
		{"/x/libtensorflow.so.2.old", "libtensorflow.so.2", "libtensorflow.so.2", "2"},
		{"/x/libllama.so", "../\xff.so.9", "libllama.so", ""},
		{"/x/libllama\xff.so", "\xff", "libllama\uFFFD.so", ""},
	} {
		name := libraryName(tc.path, tc.soname)
		if version := libraryVersion(tc.path, name); name != tc.name || version != tc.version {
			t.Errorf("%s, %q: %q, version %q", tc.path, tc.soname, name, version)
		}
	}
}

// machineOf is a made-up proc file system.
type machineOf struct {
	t    *testing.T
	root string
}

// file writes a file that a process sees at path, and returns its line in the process's maps.
func (m *machineOf) file(pid int, path, content string) string {
	m.t.Helper()
	at := filepath.Join(m.root, fmt.Sprint(pid), "root", path)
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(at, []byte(content), 0o600); err != nil {
		m.t.Fatal(err)
	}
	return fmt.Sprintf("1000-2000 r-xp 0 fe:00 %d %s\n", m.inode(pid, path), path)
}

func (m *machineOf) inode(pid int, path string) uint64 {
	m.t.Helper()
	info, err := os.Stat(filepath.Join(m.root, fmt.Sprint(pid), "root", path))
	if err != nil {
		m.t.Fatal(err)
	}
	return info.Sys().(*syscall.Stat_t).Ino
}

func (m *machineOf) maps(pid int, lines ...string) {
	m.t.Helper()
	at := filepath.Join(m.root, fmt.Sprint(pid), "maps")
	if err := os.WriteFile(at, []byte(strings.Join(lines, "")), 0o600); err != nil {
		m.t.Fatal(err)
	}
}

// taken are the paths and sizes of what is new.
func (l *libraries) taken() string {
	var s []string
	for _, r := range l.fresh {
		s = append(s, fmt.Sprintf("%d%s %d", r.PID, r.Path, r.Size))
	}
	l.fresh = l.fresh[:0]
	return strings.Join(s, " ")
}

func TestEachLibraryOfAProcessIsRecordedOnce(t *testing.T) {
	m := &machineOf{t, t.TempDir()}
	l := newLibraries(proc.New(m.root), slog.New(slog.DiscardHandler))
	check := func(what, want string) {
		t.Helper()
		if got := l.taken(); got != want {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	mapped := func(pid int, path string, inode uint64) {
		l.mapped(probe.Mapped{PID: pid, Path: path, Inode: inode})
	}
	libc := m.file(7, "/lib/libc.so.6", "x")
	cudart, torch := m.file(7, "/lib/libcudart.so.12", "12345"), m.file(7, "/lib/libtorch.so", "123")
	data := strings.Replace(m.file(7, "/lib/libcufft.so.11", "1"), "r-xp", "r--p", 1)
	m.maps(7, libc, data, cudart, cudart, torch)
	l.look(7)
	check("mapped before", "7/lib/libcudart.so.12 5 7/lib/libtorch.so 3")
	l.look(7)
	mapped(7, "/lib/libtorch.so", m.inode(7, "/lib/libtorch.so"))
	mapped(7, "/lib/libc.so.6", m.inode(7, "/lib/libc.so.6"))
	check("again", "")
	if err := os.Remove(filepath.Join(m.root, "7/root/lib/libtorch.so")); err != nil {
		t.Fatal(err)
	}
	m.file(7, "/lib/libtorch.so", "1234")
	mapped(7, "/lib/libtorch.so", m.inode(7, "/lib/libtorch.so"))
	check("another file of the same path", "7/lib/libtorch.so 4")

	mapped(7, "/lib/libnvrtc.so.12", 1)
	mapped(7, "/lib/libnvrtc.so.12", 1)
	check("a file that is gone", "7/lib/libnvrtc.so.12 0")
	mapped(9, "/lib/libcuda.so.1", 1)
	l.look(9)
	check("a process that is gone", "9/lib/libcuda.so.1 0")

	fork := event.Life{Kind: event.LifeFork, Thread: event.Thread{PID: 8, TID: 8}}
	first := event.Life{Kind: event.LifeFirst, Thread: event.Thread{PID: 8, TID: 9}}
	m.maps(8, m.file(8, "/lib/libcudart.so.12", "12345"))
	mapped(8, "/lib/libcuda.so.1", 1)
	check("a child loads a library", "8/lib/libcudart.so.12 5 8/lib/libcuda.so.1 0")
	l.life(&fork)
	check("another child of the same id", "")
	l.life(&first)
	l.life(&first)
	check("its first call", "8/lib/libcudart.so.12 5")
}

func TestLibrariesOfAProcessAreBounded(t *testing.T) {
	var log bytes.Buffer
	m := &machineOf{t, t.TempDir()}
	l := newLibraries(proc.New(m.root), slog.New(slog.NewTextHandler(&log, nil)))
	var lines []string
	for n := range maxLibraries + 5 {
		lines = append(lines, m.file(7, fmt.Sprintf("/%d/libcudart.so.12", n), "x"))
	}
	m.maps(7, lines...)
	l.look(7)
	l.look(7)
	if len(l.fresh) != maxLibraries || strings.Count(log.String(), "more libraries") != 1 {
		t.Errorf("%d recorded; log: %s", len(l.fresh), &log)
	}
	if len(l.images) != maxLibraries+5 {
		t.Errorf("%d files are remembered", len(l.images))
	}
	for n := range maxImages + 1 {
		l.image("/nowhere", fileContent{ino: uint64(n)})
	}
	if len(l.images) > maxImages {
		t.Errorf("%d files are remembered", len(l.images))
	}
}
