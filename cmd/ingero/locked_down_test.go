package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/capture/doctor"
	"github.com/ingero-io/ingero/internal/cudastub"
	"github.com/ingero-io/ingero/internal/kerneltest"
	"github.com/ingero-io/ingero/internal/vm"
)

// locks are what an administrator can lock a kernel down with. None can be undone
// before it is booted again, so each holds for those after it.
var locks = []struct {
	name, file, value string
	check             string // of check
	status            doctor.Status
	says              string // in its detail or remedy
	traces            bool
	warns             string // by trace
}{
	{
		name: "ptrace_scope", file: "/proc/sys/kernel/yama/ptrace_scope", value: "3",
		check: "ptrace", status: doctor.Warning, says: "kernel.yama.ptrace_scope is 3", traces: true,
		warns: "its first calls may be missed",
	},
	{
		name: "integrity", file: "/sys/kernel/security/lockdown", value: "integrity",
		check: "lockdown", status: doctor.OK, says: "does not concern tracing", traces: true,
	},
	{
		name: "confidentiality", file: "/sys/kernel/security/lockdown", value: "confidentiality",
		check: "lockdown", status: doctor.Problem, says: "lockdown=integrity", warns: "locked down to confidentiality",
	},
}

// TestLockedDownKernels locks down the kernel it runs on, step by step, and traces.
func TestLockedDownKernels(t *testing.T) {
	if os.Getenv(vm.GuestEnv) == "" {
		t.Skip("locks the kernel down until it is booted again: make test-vm runs it, in a virtual machine")
	}
	kerneltest.Require(t)
	const security = "/sys/kernel/security"
	if err := unix.Mount("securityfs", security, "securityfs", 0, ""); err != nil && !errors.Is(err, unix.EBUSY) {
		t.Fatalf("mount securityfs: %v", err)
	}
	files, err := cudastub.Extract(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range locks {
		t.Run(l.name, func(t *testing.T) {
			if err := os.WriteFile(l.file, []byte(l.value), 0); errors.Is(err, fs.ErrNotExist) {
				t.Skipf("this kernel has no %s", l.file)
			} else if err != nil {
				t.Fatal(err)
			}
			out, err := ingero(t, nil, "check", "--json").Output()
			var r doctor.Report
			if e := json.Unmarshal(out, &r); e != nil {
				t.Fatalf("%v: %v\n%s", err, e, out)
			}
			if r.OK != l.traces || (err == nil) != l.traces {
				t.Errorf("check says that tracing works: %v (%v), want %v", r.OK, err, l.traces)
			}
			i := slices.IndexFunc(r.Checks, func(c doctor.Check) bool { return c.Name == l.check })
			if i < 0 || r.Checks[i].Status != l.status || !strings.Contains(r.Checks[i].Detail+r.Checks[i].Remedy, l.says) {
				t.Errorf("%+v, want %s %s with %q", r.Checks, l.check, l.status, l.says)
			}

			cmd := ingero(t, nil, "trace", "--record=false", "--json", "--", files.Victim, "loop", "--seconds", "2")
			cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+files.LibDir)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			out, err = cmd.Output()
			if (err == nil) != l.traces || !strings.Contains(stderr.String(), l.warns) {
				t.Fatalf("trace: %v, saying %q; want %q", err, stderr.String(), l.warns)
			}
			if n := summaryCalls(t, out); l.traces && n == 0 {
				t.Error("no call was seen")
			}
		})
	}
}

// summaryCalls is the number of calls in the last line of trace --json, 0 if there
// is no line.
func summaryCalls(t *testing.T, out []byte) int64 {
	t.Helper()
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	last := lines[len(lines)-1]
	var s struct {
		Type  string `json:"type"`
		Calls int64  `json:"calls"`
	}
	if len(last) > 0 {
		if err := json.Unmarshal(last, &s); err != nil || s.Type != "summary" {
			t.Fatalf("%v in %q", err, last)
		}
	}
	return s.Calls
}
