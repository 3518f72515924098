package agent_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ingero-io/ingero/agent"
	"github.com/ingero-io/ingero/capture/host/owner"
	"github.com/ingero-io/ingero/internal/kerneltest"
)

const (
	podUID      = "3e9f8a56-7c1d-4a2b-9e3f-0123456789ab"
	containerID = "1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f708192a3b4c5d6e7f809"
)

// unifiedMount is where the version 2 hierarchy is mounted.
func unifiedMount(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		before, after, _ := strings.Cut(line, " - ")
		if f := strings.Fields(before); strings.HasPrefix(after, "cgroup2 ") && len(f) > 4 {
			return f[4]
		}
	}
	kerneltest.Lacks(t, "no version 2 hierarchy of control groups is mounted")
	return ""
}

// podGroup makes a control group as the kubelet and containerd do.
func podGroup(t *testing.T) (dir string, fd int) {
	t.Helper()
	dir = unifiedMount(t)
	for _, name := range []string{
		"kubepods.slice", "kubepods-burstable.slice",
		"kubepods-burstable-pod" + strings.ReplaceAll(podUID, "-", "_") + ".slice",
		"cri-containerd-" + containerID + ".scope",
	} {
		dir = filepath.Join(dir, name)
		switch err := os.Mkdir(dir, 0o755); {
		case errors.Is(err, os.ErrExist):
		case err != nil:
			kerneltest.Lacks(t, "cannot make a control group: "+err.Error())
		default:
			made := dir
			t.Cleanup(func() {
				if err := syscall.Rmdir(made); err != nil {
					t.Errorf("remove control group: %v", err)
				}
			})
		}
	}
	f, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return dir, int(f.Fd())
}

// A process in a container of a pod, in a PID namespace of its own, is recorded
// with its pod, its rank, and its id inside.
func TestAProcessInAPodIsRecordedAsThePods(t *testing.T) {
	files := extract(t)
	dir, fd := podGroup(t)
	victim := exec.Command(files.Victim, "serve")
	victim.Env = append(os.Environ(), "LD_LIBRARY_PATH="+files.LibDir, "RANK=3", "LOCAL_RANK=1", "WORLD_SIZE=8",
		"HOSTNAME=train-0",
		"POD_NAMESPACE=ml", "KUBERNETES_SERVICE_HOST=10.0.0.1")
	victim.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: fd, Cloneflags: syscall.CLONE_NEWPID}
	in, err := victim.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := victim.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	pid := victim.Process.Pid
	t.Cleanup(func() { _ = victim.Process.Kill() }) // it has ended, unless the test failed
	answers := bufio.NewReader(out)
	fmt.Fprintln(in, "pid") // by its answer it has loaded its libraries
	if answer, err := answers.ReadString('\n'); err != nil || !strings.Contains(answer, "pid=1 ") {
		t.Fatalf("the victim says %q (%v)", answer, err)
	}
	c := newCounter()
	o := c.options()
	o.PIDs = []int{pid}
	o.Started = func(agent.Start) {
		go func() {
			fmt.Fprintln(in, "call cudaLaunchKernel 11")
			_, _ = answers.ReadString('\n') // without one the test fails anyway
			in.Close()                      // it ends
		}()
	}
	if o, _ := owner.New("").Of(pid); o.NSPID != 1 {
		t.Errorf("inside its namespace the process is %d, want 1", o.NSPID)
	}
	if _, err := agent.Run(t.Context(), o); err != nil {
		t.Error(err)
	}
	_ = victim.Wait()
	info, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := owner.Owner{
		CgroupID: info.Sys().(*syscall.Stat_t).Ino, Container: containerID, Runtime: "containerd", PodUID: podUID,
		Namespace: "ml", Pod: "train-0", NSPID: 1,
	}
	p := c.procs[uint32(pid)]
	if diff := cmp.Diff(want, p.Owner); diff != "" {
		t.Error(diff)
	}
	if want := filepath.Base(dir); filepath.Base(p.Cgroup) != want {
		t.Errorf("control group %q, want %s", p.Cgroup, want)
	}
	if p.Rank != 3 || p.LocalRank != 1 || p.WorldSize != 8 {
		t.Errorf("rank %d, local %d, of %d", p.Rank, p.LocalRank, p.WorldSize)
	}
	if n := c.calls[uint32(pid)]["cudaLaunchKernel"]; n != 11 {
		t.Errorf("%d launches recorded, want 11", n)
	}
}
