package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/capture/doctor"
	"github.com/ingero-io/ingero/internal/cudastub"
	"github.com/ingero-io/ingero/internal/kerneltest"
)

// hardened are places that forbid something, and what check and trace say there.
var hardened = []struct {
	name    string
	command []string // before "ingero check"
	attr    *syscall.SysProcAttr
	works   bool
	check   string // of which check
	status  doctor.Status
	says    string // in its detail or remedy
}{
	{
		name: "seccomp refuses bpf", command: []string{"confined", "bpf"},
		check: "backend", status: doctor.Problem, says: "a seccomp filter refuses the system call bpf",
	},
	{
		name: "seccomp refuses perf_event_open", command: []string{"confined", "perf_event_open"}, works: true,
		check: "watcher", status: doctor.Warning, says: "a seccomp filter refuses the system call perf_event_open",
	},
	{
		name: "seccomp refuses ptrace", command: []string{"confined", "ptrace"}, works: true,
		check: "seccomp", status: doctor.Warning, says: "a seccomp filter refuses the system call ptrace",
	},
	{
		name: "rootless container",
		attr: &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: 0, Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: 0, Size: 1}},
		},
		check: "backend", status: doctor.Problem, says: "user namespace",
	},
	{
		name: "no capability", attr: as(nobody),
		check: "backend", status: doctor.Problem, says: "without CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH",
	},
	{
		name: "without CAP_BPF", attr: as(nobody, unix.CAP_PERFMON, unix.CAP_SYS_PTRACE, unix.CAP_DAC_READ_SEARCH),
		check: "backend", status: doctor.Problem, says: "without CAP_BPF",
	},
	{
		name: "without CAP_PERFMON", attr: as(nobody, unix.CAP_BPF, unix.CAP_SYS_PTRACE, unix.CAP_DAC_READ_SEARCH),
		check: "backend", status: doctor.Problem, says: "CAP_PERFMON",
	},
	{
		name: "without CAP_SYS_PTRACE", attr: as(nobody, unix.CAP_BPF, unix.CAP_PERFMON, unix.CAP_DAC_READ_SEARCH),
		works: true,
		check: "privileges", status: doctor.Warning, says: "without CAP_SYS_PTRACE",
	},
	{
		name: "only the capabilities that are needed",
		attr: as(nobody, unix.CAP_BPF, unix.CAP_PERFMON, unix.CAP_SYS_PTRACE, unix.CAP_DAC_READ_SEARCH), works: true,
		check: "privileges", status: doctor.OK, says: "all capabilities",
	},
	{
		name: "no tracefs", works: true,
		command: mounted("umount /sys/kernel/tracing; umount /sys/kernel/debug; true"),
		check:   "tracefs", status: doctor.Info, says: "not mounted, and not needed",
	},
	{
		name: "no BTF", command: mounted("mount -t tmpfs none /sys/kernel/btf"),
		check: "btf", status: doctor.Problem, says: "CONFIG_DEBUG_INFO_BTF",
	},
	{
		name: "lockdown", command: mounted("mount -t tmpfs none /sys/kernel/security && echo 'none integrity " +
			"[confidentiality]' >/sys/kernel/security/lockdown"),
		check: "lockdown", status: doctor.Problem, says: "lockdown=integrity",
	},
}

// as runs as a user with capabilities.
func as(user uint32, capabilities ...uintptr) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}, AmbientCaps: capabilities}
}

// mounted runs after a shell command in a mount namespace of its own.
func mounted(setup string) []string {
	return []string{"unshare", "-m", "sh", "-c", "{ " + setup + "; } 2>/dev/null; exec \"$@\"", "sh"}
}

// TestHardenedHosts runs check in places that forbid something.
func TestHardenedHosts(t *testing.T) {
	kerneltest.Require(t)
	lowers := static(t) // it lowers capabilities, which a program with cgo cannot
	open(t, filepath.Dir(lowers))
	for _, h := range hardened {
		t.Run(h.name, func(t *testing.T) {
			cmd := ingero(t, h.command, "check", "--json")
			if h.attr != nil && len(h.attr.AmbientCaps) > 0 {
				cmd.Path = lowers
			}
			cmd.SysProcAttr = h.attr
			var out, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &stderr
			err := cmd.Run()
			var r doctor.Report
			if e := json.Unmarshal(out.Bytes(), &r); e != nil {
				t.Fatalf("%v: %v\n%s%s", err, e, out.String(), stderr.String())
			}
			if r.OK != h.works || (err == nil) != h.works {
				t.Errorf("tracing works: %v (%v), want %v", r.OK, err, h.works)
			}
			found := false
			for _, c := range r.Checks {
				if c.Name != h.check {
					continue
				}
				found = true
				if c.Status != h.status || !strings.Contains(c.Detail+" "+c.Remedy, h.says) {
					t.Errorf("%+v, want %s with %q", c, h.status, h.says)
				}
			}
			if !found {
				t.Errorf("there is no check %s", h.check)
			}
		})
	}
}

// ingero prepares the program behind other commands, where everybody may run it.
func ingero(t *testing.T, before []string, args ...string) *exec.Cmd {
	t.Helper()
	path, err := exec.LookPath("ingero")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Dir(filepath.Dir(path)), 0o755); err != nil { // testscript's own folder is 0700
		t.Fatal(err)
	}
	all := append(append(append([]string{}, before...), path), args...)
	cmd := exec.Command(all[0], all[1:]...)
	cmd.Dir = "/"
	return cmd
}

// TestTraceNamesWhatForbidsTracing: the error of trace names what forbids it.
func TestTraceNamesWhatForbidsTracing(t *testing.T) {
	kerneltest.Require(t)
	cmd := ingero(t, []string{"confined", "bpf"}, "trace", "--record=false", "--duration", "1s")
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "why: a seccomp filter refuses the system call bpf") ||
		!strings.Contains(string(out), "next: ") {
		t.Errorf("%v: %s", err, out)
	}
}

// TestTracingContinuesWithoutSomePermissions traces where stopping a program (ptrace), or watching
// mappings (perf_event_open), is forbidden. Calls are recorded, and a warning says what may be missing.
func TestTracingContinuesWithoutSomePermissions(t *testing.T) {
	kerneltest.Require(t)
	files, err := cudastub.Extract(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for calls, warns := range map[string]string{
		"ptrace":          "its first calls may be missed",
		"perf_event_open": "noticed only once a second",
	} {
		cmd := ingero(t, []string{"confined", calls}, "trace", "--record=false", "--json", "--", files.Victim, "loop",
			"--seconds", "3")
		cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+files.LibDir)
		var out, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &stderr
		if err := cmd.Run(); err != nil {
			t.Fatalf("without %s: %v\n%s", calls, err, stderr.String())
		}
		seen := summaryCalls(t, out.Bytes())
		if seen == 0 || !strings.Contains(stderr.String(), warns) {
			t.Errorf("without %s: %d calls seen; said:\n%s", calls, seen, stderr.String())
		}
	}
}
