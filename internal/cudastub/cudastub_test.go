package cudastub_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ingero-io/ingero/internal/cudastub"
	"github.com/ingero-io/ingero/internal/cudastub/variants"
)

func extract(t *testing.T) cudastub.Files {
	t.Helper()
	files, err := cudastub.Extract(t.TempDir())
	if errors.Is(err, cudastub.ErrUnsupported) {
		t.Skipf("no prebuilt stand-ins for this platform")
	}
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func start(t *testing.T, files cudastub.Files, o cudastub.Options) *cudastub.Victim {
	t.Helper()
	v, err := files.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = v.Close() })
	return v
}

func do(t *testing.T, v *cudastub.Victim, format string, args ...any) cudastub.Answer {
	t.Helper()
	a, err := v.Do(fmt.Sprintf(format, args...))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func wantInt(t *testing.T, a cudastub.Answer, key string, want int64) {
	t.Helper()
	if got := a.Int(key); got != want {
		t.Errorf("%s = %d, want %d (answer %v)", key, got, want, a)
	}
}

func TestEveryExportedFunctionCanBeCalledInEveryVariant(t *testing.T) {
	files := extract(t)
	if err := variants.Extract(files); err != nil {
		t.Fatal(err)
	}
	names, err := variants.Names()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append([]string{"default"}, names...) {
		t.Run(name, func(t *testing.T) {
			dir := files.LibDir
			if name != "default" {
				dir = files.Variant(name)
			}
			v := start(t, files, cudastub.Options{LibDir: dir})
			ops := strings.Split(do(t, v, "ops")["names"], ",")
			if got, want := slices.Sorted(slices.Values(ops)), exportsOf(t, dir); !slices.Equal(got, want) {
				t.Fatalf("victim calls %v, libraries export %v", got, want)
			}
			callAll(t, v, ops, 0)
			do(t, v, "set *:nested,recurse=2,err=5")
			callAll(t, v, ops, 3)
			maps := readProc(t, v.PID(), "maps")
			if !strings.Contains(maps, filepath.Join(dir, "libcuda.so.1")) {
				t.Errorf("libcuda.so.1 does not come from %s", dir)
			}
		})
	}
}

func callAll(t *testing.T, v *cudastub.Victim, ops []string, errs int64) {
	t.Helper()
	for _, op := range ops {
		a := do(t, v, "call %s 3", op)
		wantInt(t, a, "calls", 3)
		wantInt(t, a, "errs", errs)
	}
}

func readProc(t *testing.T, pid int, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestCallsBehaveAsTheyAreTold(t *testing.T) {
	v := start(t, extract(t), cudastub.Options{Behaviour: "cudaMalloc:err=2;cudaFree:sleep=2ms"})
	wantInt(t, do(t, v, "call cudaMalloc 4"), "rc", 2)
	if a := do(t, v, "call cudaFree 3"); a.Int("p50_ns") < 2e6 {
		t.Errorf("a call that sleeps 2 ms took %s ns", a["p50_ns"])
	}
	tests := []struct {
		name, spec, call string
		errs, atLeastNS  int64
	}{
		{"spin", "cudaLaunchKernel:spin=300us", "cudaLaunchKernel", 0, 300e3},
		{"poll", "cudaLaunchKernel:poll=1ms", "cudaLaunchKernel", 0, 1e6},
		{"every third call fails", "cudaMalloc:err=2,err-every=3", "cudaMalloc", 2, 0},
		{"the driver's time counts", "cudaMalloc:nested;cuMemAlloc_v2:spin=300us", "cudaMalloc", 0, 300e3},
		{"the driver's error comes up", "cudaMemcpy:nested;cuMemcpyHtoD_v2:err=7", "cudaMemcpy", 6, 0},
		{"recursion spends once", "cudaFree:recurse=4,spin=200us", "cudaFree", 0, 200e3},
		{"each allocation that is kept costs", "cudaMalloc:per-live=100us", "cudaMalloc", 0, 300e3},
		{"nothing", "*:none", "cudaFree", 0, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			do(t, v, "set %s", tt.spec)
			a := do(t, v, "call %s 6", tt.call)
			wantInt(t, a, "errs", tt.errs)
			if a.Int("p50_ns") < tt.atLeastNS {
				t.Errorf("a call took %s ns, want at least %d", a["p50_ns"], tt.atLeastNS)
			}
		})
	}
	for _, spec := range []string{"nosuch:spin=1us", "cudaFree:spin=1parsec", "cudaFree", "cuInit:nested", "cudaFree:what"} {
		if _, err := v.Do("set " + spec); err == nil {
			t.Errorf("set %s succeeded", spec)
		}
	}
}

func TestCommandsThatLeaveACallOpen(t *testing.T) {
	v := start(t, extract(t), cudastub.Options{})
	wantInt(t, do(t, v, "longjmp cudaLaunchKernel at=cuLaunchKernel"), "jumped", 1)
	wantInt(t, do(t, v, "fork-in-call cudaMalloc"), "child_exit", 7)
	wantInt(t, do(t, v, "exit-in-call cudaMemcpy at=cuMemcpyHtoD_v2"), "returned", 0)
	wantInt(t, do(t, v, "exit-in-call cudaMemcpy raw=1"), "returned", 0)
	wantInt(t, do(t, v, "exec-in-call cudaFree"), "pid", int64(v.PID()))
	wantInt(t, do(t, v, "call cudaFree 5 threads=3"), "calls", 15)
	wantInt(t, do(t, v, "spawn cudaFree 9"), "calls", 9)
	wantInt(t, do(t, v, "rate cudaFree 500 0.1"), "calls", 50)
	wantInt(t, do(t, v, "device 3"), "rc", 0)
	wantInt(t, do(t, v, "device 99"), "rc", 101)
	wantInt(t, do(t, v, "threads"), "n", 1)
	if comm := do(t, v, "pid")["comm"]; comm != "victim" {
		t.Errorf("comm = %q after exec, want victim", comm)
	}
	if err := errors.Join(v.Close(), v.Close()); err != nil {
		t.Error(err)
	}
}

func TestLateVictimLoadsTheLibrariesOnCommand(t *testing.T) {
	v := start(t, extract(t), cudastub.Options{Late: true})
	if strings.Contains(readProc(t, v.PID(), "maps"), "libcud") {
		t.Error("a library is mapped before dlopen")
	}
	if _, err := v.Do("call cudaMalloc 1"); err == nil {
		t.Error("a call before dlopen succeeded")
	}
	do(t, v, "dlopen")
	wantInt(t, do(t, v, "call cudaMalloc 11"), "calls", 11)
	do(t, v, "set cudaMalloc:err=2")
	wantInt(t, do(t, v, "call cudaMalloc 1"), "rc", 2)
	do(t, v, "dlclose")
}

func TestTruthOfEveryFault(t *testing.T) {
	files := extract(t)
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			args := []string{
				"--fault", f.name, "--seconds", "0.7", "--start-after", "0.2", "--period-ms", "150", "--fault-ms", "30", "--sleeper",
			}
			if f.name != "idle-server" { // a step there is a request
				args = append(args, "--min-steps", "300")
			}
			truth := loop(t, files, args...)
			checkCalls(t, truth, f.calls)
			checkInjection(t, truth, truth.Injection, f)
			checkNothingLeft(t, truth)
			if f.check != nil {
				f.check(t, truth)
			}
		})
	}
}

// loop runs a victim to its end.
func loop(t *testing.T, files cudastub.Files, args ...string) cudastub.Truth {
	t.Helper()
	truth, err := files.Loop(t.Context(), append(args, "--dir", t.TempDir())...)
	if errors.Is(err, cudastub.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return truth
}

// checkNothingLeft looks for the loop's child processes and its control group.
func checkNothingLeft(t *testing.T, truth cudastub.Truth) {
	t.Helper()
	for _, pid := range append([]int{truth.PID, truth.CulpritPID, truth.PeerPID, truth.ClientPID}, truth.CulpritPIDs...) {
		if pid != 0 && !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			t.Errorf("process %d is still there", pid)
		}
	}
	if truth.Cgroup == "" {
		return
	}
	if _, err := os.Stat(truth.Cgroup); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("control group %s is still there (%v)", truth.Cgroup, err)
	}
}

func TestUnknownFaultIsAUsageError(t *testing.T) {
	_, err := extract(t).Loop(t.Context(), "--fault", "nonsense", "--seconds", "1")
	if !errors.Is(err, cudastub.ErrUsage) || errors.Is(err, cudastub.ErrUnsupported) {
		t.Errorf("error is %v", err)
	}
}

// Also where no program may be started, as in a container's folder in memory.
func TestAMachineWithoutTheLoaderIsUnsupported(t *testing.T) {
	files := extract(t)
	program, err := os.ReadFile(files.Victim)
	if err != nil {
		t.Fatal(err)
	}
	without := bytes.Replace(program, []byte("/ld-linux"), []byte("/no-linux"), 1)
	for _, c := range []struct {
		program []byte
		mode    os.FileMode
		want    error
	}{
		{without, 0o755, cudastub.ErrUnsupported},
		{without, 0o644, cudastub.ErrUnsupported},
		{program, 0o644, fs.ErrPermission},
		{nil, 0, fs.ErrNotExist},
	} {
		files.Victim = filepath.Join(t.TempDir(), "victim")
		if c.program != nil {
			if err := os.WriteFile(files.Victim, c.program, c.mode); err != nil {
				t.Fatal(err)
			}
		}
		_, err := files.StartLoop(t.Context(), cudastub.Options{})
		if !errors.Is(err, c.want) || errors.Is(err, cudastub.ErrUnsupported) != errors.Is(c.want, cudastub.ErrUnsupported) {
			t.Errorf("a program of %d bytes, mode %o: %v, want %v", len(c.program), c.mode, err, c.want)
		}
	}
}

func TestStoppedLoopReportsItsTruthAndCleansUp(t *testing.T) {
	files := extract(t)
	for _, fault := range []string{"throttle", "cpu-hog"} {
		t.Run(fault, func(t *testing.T) {
			run, err := files.StartLoop(t.Context(), cudastub.Options{}, "--fault", fault, "--seconds", "60",
				"--start-after", "0", "--thread", "dispatcher", "--dispatchers", "2")
			if err != nil {
				t.Fatal(err)
			}
			waitFor(t, "the loop's program", func() bool { return readProc(t, run.PID(), "comm") == "trainer\n" })
			if err := errors.Join(run.Begin(), run.Stop()); err != nil {
				t.Fatal(err)
			}
			truth, err := run.Wait()
			if errors.Is(err, cudastub.ErrUnsupported) {
				t.Skip(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			if truth.Comm != "dispatcher" || truth.TID == truth.PID || truth.Seconds > 30 {
				t.Errorf("odd truth: %+v", truth)
			}
			checkNothingLeft(t, truth)
		})
	}
}

func TestCancelledLoopReturnsTruthAndError(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	truth, err := extract(t).Loop(ctx, "--seconds", "60")
	if !errors.Is(err, context.DeadlineExceeded) || truth.PID == 0 {
		t.Errorf("truth %+v, error %v", truth, err)
	}
}

func TestChildrenDieWithAKilledLoop(t *testing.T) {
	files := extract(t)
	for fault, n := range map[string]int{"cpu-hog": 1, "peer-tcp": 1, "gpu-peer": 1, "loader-hog": 2, "loader-crowd": 4} {
		t.Run(fault, func(t *testing.T) {
			run, err := files.StartLoop(t.Context(), cudastub.Options{}, "--fault", fault, "--ping-pong", "0",
				"--seconds", "60", "--start-after", "60")
			if err != nil {
				t.Fatal(err)
			}
			if err := run.Begin(); err != nil {
				t.Fatal(err)
			}
			var children []string
			waitFor(t, "the children and the ping-pong's two", func() bool {
				children = strings.Fields(readProc(t, run.PID(), fmt.Sprintf("task/%d/children", run.PID())))
				return len(children) == n+2
			})
			if err := syscall.Kill(run.PID(), syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			if _, err := run.Wait(); err == nil {
				t.Error("a killed loop ended well")
			}
			for _, child := range children {
				waitFor(t, "the end of child "+child, func() bool { return ended(child) })
			}
		})
	}
}

// ended reports whether the process is gone or a zombie that init has not reaped yet.
func ended(pid string) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
	return err != nil || strings.Contains(string(stat), ") Z ")
}

func waitFor(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}
