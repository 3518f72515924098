package agent_test

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ingero-io/ingero/agent"
	"github.com/ingero-io/ingero/internal/cudastub"
	"github.com/ingero-io/ingero/internal/kerneltest"
	"github.com/ingero-io/ingero/store"
)

// patience is how long a test waits for libraries that are not recorded.
const patience = 30 * time.Second

// libraryWriter keeps the library files of each process, by name, and calls read after each batch.
type libraryWriter struct {
	*counter
	t    *testing.T
	of   map[uint32]map[string]store.Library
	read func()
	lock sync.Mutex
}

func (w *libraryWriter) Write(b *store.Batch) error {
	w.lock.Lock()
	for _, l := range b.Libraries {
		if w.of[l.PID] == nil {
			w.of[l.PID] = map[string]store.Library{}
		}
		if before, ok := w.of[l.PID][l.Name]; ok {
			w.t.Errorf("recorded twice: %+v and %+v", before, l)
		}
		w.of[l.PID][l.Name] = l
	}
	w.lock.Unlock()
	if w.read != nil {
		w.read()
	}
	return w.counter.Write(b)
}

// has reports how many processes use at least n libraries.
func (w *libraryWriter) has(n int) (processes int) {
	w.lock.Lock()
	defer w.lock.Unlock()
	for _, l := range w.of {
		if len(l) >= n {
			processes++
		}
	}
	return processes
}

func recordLibraries(t *testing.T) (*libraryWriter, agent.Options) {
	w := &libraryWriter{counter: newCounter(), t: t, of: map[uint32]map[string]store.Library{}}
	o := w.options()
	o.Record = &agent.Recording{Open: func(store.Session) (store.Writer, error) { return w, nil }}
	return w, o
}

// fileOf is what is recorded of a file, but for whom and when.
func fileOf(t *testing.T, path, name, version, id string) store.Library {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return store.Library{Name: name, Path: path, Version: version, BuildID: id, Size: uint64(info.Size())}
}

// compareLibraries checks the libraries of a process.
func (w *libraryWriter) compareLibraries(t *testing.T, pid uint32, want map[string]store.Library) {
	t.Helper()
	got := map[string]store.Library{}
	for name, l := range w.of[pid] {
		if l.At == 0 || l.PID != pid {
			t.Errorf("at %d, of process %d: %+v", l.At, pid, l)
		}
		l.At, l.PID = 0, 0
		got[name] = l
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("libraries of process %d (-want +got):\n%s", pid, d)
	}
}

// A program loads a library by a link, after it made calls, as PyTorch loads cuBLAS; its child uses what
// it inherits.
func TestLibrariesThatProcessesLoadAreRecorded(t *testing.T) {
	files := extract(t)
	python, err := exec.LookPath("/usr/bin/python3")
	if err != nil {
		kerneltest.Lacks(t, "/usr/bin/python3 is missing")
	}
	dir := t.TempDir()
	source := filepath.Join(dir, "x.c")
	if err := os.WriteFile(source, []byte("int x(void) { return 1; }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	link, cublas := filepath.Join(dir, "libcublas.so.12"), filepath.Join(dir, "libcublas.so.12.4.5.8")
	torch, other := filepath.Join(dir, "libtorch_cuda.so"), filepath.Join(dir, "libother.so.1")
	kerneltest.GCC(t, "-shared", "-fPIC", source, "-o", cublas, "-Wl,-soname,libcublas.so.12", "-Wl,--build-id=0x0123abcd")
	kerneltest.GCC(t, "-shared", "-fPIC", source, "-o", torch, "-Wl,--build-id=none")
	kerneltest.GCC(t, "-shared", "-fPIC", source, "-o", other, "-Wl,--build-id=0xff")
	if err := os.Symlink(cublas, link); err != nil {
		t.Fatal(err)
	}
	cudart, cuda := filepath.Join(files.LibDir, "libcudart.so.12"), filepath.Join(files.LibDir, "libcuda.so.1")
	want := map[string]store.Library{
		"libcudart.so.12":  fileOf(t, cudart, "libcudart.so.12", "12", ""),
		"libcuda.so.1":     fileOf(t, cuda, "libcuda.so.1", "1", ""),
		"libcublas.so.12":  fileOf(t, cublas, "libcublas.so.12", "12.4.5.8", "0123abcd"),
		"libtorch_cuda.so": fileOf(t, torch, "libtorch_cuda.so", "", ""),
	}
	w, o := recordLibraries(t)
	stdin, end := io.Pipe()
	defer time.AfterFunc(patience, func() { end.Close() }).Stop() // then something is missing
	w.read = func() {
		if w.has(len(want)) == 2 {
			end.Close()
		}
	}
	o.Stdin = stdin
	o.Command = []string{python, "testdata/python/libraries.py", cudart, cuda, link, torch, other}
	s, err := agent.Run(t.Context(), o)
	if err != nil || s.ExitCode != 0 {
		t.Fatalf("exit code %d, %v", s.ExitCode, err)
	}
	if len(w.of) != 2 {
		t.Errorf("libraries of %d processes, want 2", len(w.of))
	}
	for pid := range w.of {
		w.compareLibraries(t, pid, want)
	}
}

// Of a process that runs already, all libraries are found at the start of the trace; of one that has none
// yet, when it loads them.
func TestLibrariesOfRunningProcessesAreRecorded(t *testing.T) {
	files := extract(t)
	for what, named := range map[string]bool{"of all processes": false, "of named processes": true} {
		t.Run(what, func(t *testing.T) {
			has, late := victim(t, files, false), victim(t, files, true)
			w, o := recordLibraries(t)
			if named {
				o.PIDs = []int{has.PID(), late.PID()}
			}
			ctx, stop := context.WithTimeout(t.Context(), patience)
			defer stop()
			o.Started = func(agent.Start) {
				if _, err := late.Do("dlopen"); err != nil {
					t.Error(err)
				}
			}
			w.read = func() {
				w.lock.Lock()
				defer w.lock.Unlock()
				if len(w.of[uint32(has.PID())]) == 2 && len(w.of[uint32(late.PID())]) == 2 {
					stop()
				}
			}
			if _, err := agent.Run(ctx, o); err != nil {
				t.Fatal(err)
			}
			for _, v := range []*cudastub.Victim{has, late} {
				w.compareLibraries(t, uint32(v.PID()), map[string]store.Library{
					"libcudart.so.12": fileOf(t, filepath.Join(files.LibDir, "libcudart.so.12"), "libcudart.so.12", "12", ""),
					"libcuda.so.1":    fileOf(t, filepath.Join(files.LibDir, "libcuda.so.1"), "libcuda.so.1", "1", ""),
				})
			}
		})
	}
}

// victim starts one, which has loaded its libraries unless it does so late.
func victim(t *testing.T, files cudastub.Files, late bool) *cudastub.Victim {
	t.Helper()
	v, err := files.Start(context.Background(), cudastub.Options{Late: late})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { v.Close() })
	if _, err := v.Do("pid"); err != nil {
		t.Fatal(err)
	}
	return v
}
