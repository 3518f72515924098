package probe

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/capture/probe/sched"
	"github.com/ingero-io/ingero/internal/kerneltest"
)

func TestErrorsOfOldKernelsNameTheRequiredVersion(t *testing.T) {
	broken := fmt.Errorf("load scheduler programs: %w", unix.EINVAL)
	for _, c := range []struct {
		release string
		err     error
		old     bool
	}{
		{"5.10.0-46-cloud-amd64", broken, true},
		{"4.18.0", broken, true},
		{"5.14.21-generic", broken, true},
		{"5.15.0", broken, false},
		{"6.1", broken, false},
		{"10.0.1", broken, false},
		{"unknown", broken, false},
		{"5.10.0", explain(unix.EPERM), false},
	} {
		err := explainAge(c.err, c.release)
		said := errors.Is(err, ErrUnsupported) && strings.Contains(err.Error(), "5.15 on") &&
			strings.Contains(err.Error(), c.release)
		if said != c.old || !errors.Is(err, c.err) {
			t.Errorf("%s: %v", c.release, err)
		}
	}
}

// Kernels without the state in sched_switch cannot be had everywhere; their program
// fits later ones too.
func TestTheSwitchProgramOfOlderKernelsLoads(t *testing.T) {
	kerneltest.Require(t)
	s, err := sched.LoadSched()
	if err != nil {
		t.Fatal(err)
	}
	delete(s.Programs, "on_switch")
	c, err := ebpf.NewCollection(s)
	if err != nil {
		t.Fatalf("%+v", err)
	}
	defer c.Close()
	if c.Programs["on_switch_stateless"] == nil {
		t.Error("there is no such program")
	}
}
