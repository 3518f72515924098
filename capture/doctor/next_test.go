package doctor_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ingero-io/ingero/capture/doctor"
	"github.com/ingero-io/ingero/capture/probe/coverage"
)

func TestTheNextStep(t *testing.T) {
	t.Parallel()
	denied := &coverage.Reason{Code: "capabilities", What: doctor.Everything, Why: "without CAP_BPF", Next: "run it with sudo"}
	locked := &coverage.Reason{Code: "lockdown", What: doctor.Everything, Why: "it is locked down", Next: "boot otherwise"}
	for _, c := range []struct {
		name    string
		s       doctor.Situation
		do, why string
	}{
		{"nothing known, a GPU", doctor.Situation{GPU: true}, "ingero check", "whether this machine can be traced"},
		{"the same by sudo", doctor.Situation{GPU: true, Sudo: true}, "sudo ingero check", "whether"},
		{"no root", doctor.Situation{GPU: true, Refused: denied}, "sudo ingero check", "sudo setcap cap_bpf,cap_perfmon"},
		{"no root, and tried", doctor.Situation{GPU: true, Tried: true, Refused: denied}, "sudo ingero check", "needs root"},
		{
			"no right in a container",
			doctor.Situation{GPU: true, Refused: denied, Container: true},
			"start the container with --pid=host --cap-add BPF --cap-add PERFMON --cap-add SYS_PTRACE --cap-add DAC_READ_SEARCH",
			"rights",
		},
		{"no GPU library", doctor.Situation{}, "ingero demo incident", "no GPU library"},
		{"no GPU library and no root", doctor.Situation{Refused: denied}, "ingero demo incident", "no GPU library"},
		{"no GPU library, too old a kernel", doctor.Situation{Tried: true, Remedy: "use Linux 5.15"}, "ingero demo incident", "explains"},
		{"no GPU library, and it works", doctor.Situation{Tried: true, Works: true, Sudo: true}, "sudo ingero demo incident", "traces"},
		{"it works", doctor.Situation{Tried: true, Works: true, GPU: true}, "ingero trace -- YOUR PROGRAM", "first call"},
		{
			"it works, by sudo, and programs run",
			doctor.Situation{Tried: true, Works: true, GPU: true, Processes: 2, Sudo: true},
			"sudo ingero trace", "Ctrl+C",
		},
		{
			"a service",
			doctor.Situation{Tried: true, Works: true, GPU: true, Processes: 2, Sudo: true, Service: doctor.ServiceStopped},
			"sudo systemctl enable --now ingero", "to record once: sudo ingero trace",
		},
		{
			"a service, and no GPU library",
			doctor.Situation{Tried: true, Works: true, Service: doctor.ServiceStopped},
			"systemctl enable --now ingero", "no GPU library here: ingero demo incident",
		},
		{
			"a service that runs",
			doctor.Situation{Tried: true, Works: true, GPU: true, Sudo: true, Service: doctor.ServiceRuns},
			"sudo ingero explain", "what ingero.service records",
		},
		{
			"a service that could not trace",
			doctor.Situation{GPU: true, Refused: locked, Service: doctor.ServiceStopped},
			"boot otherwise", "it is locked down",
		},
		{"locked down", doctor.Situation{GPU: true, Refused: locked}, "boot otherwise", "it is locked down"},
		{"another problem", doctor.Situation{GPU: true, Tried: true, Remedy: "use Linux 5.15"}, "use Linux 5.15", "until then"},
		{"a problem without a remedy", doctor.Situation{GPU: true, Tried: true}, "ingero check", "whether"},
	} {
		got := doctor.Next(&c.s)
		if got.Do != c.do || !strings.Contains(got.Why, c.why) {
			t.Errorf("%s: %+v\nwant %q, because of %q", c.name, got, c.do, c.why)
		}
	}
}

// The driver shows that a machine has a GPU, also where its libraries are in containers only.
func TestTheFirstStepOnAMachineWithADriver(t *testing.T) {
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "driver/nvidia"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "driver/nvidia/version"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := doctor.First(doctor.Options{Proc: root, Sys: root}); strings.Contains(got.Why, "no GPU library") || got.Do == "" {
		t.Errorf("with a driver: %+v", got)
	}
	t.Setenv("LD_LIBRARY_PATH", root)
	if err := os.WriteFile(filepath.Join(root, "libcudart.so.12"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(root, "driver")); err != nil {
		t.Fatal(err)
	}
	if got := doctor.First(doctor.Options{Proc: root, Sys: root}); strings.Contains(got.Why, "no GPU library") || got.Do == "" {
		t.Errorf("with a library: %+v", got)
	}
}
