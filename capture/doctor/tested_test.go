package doctor

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/ingero-io/ingero/capture/tested"
)

func TestCheckSaysWhatWasTestedNearby(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ release, arch, want string }{
		{
			"6.5.0-26-generic", "amd64", "Linux 6.5.0-26-generic on amd64 lies between two that were tested: " +
				"6.1.0-56-cloud-amd64 by make test-vm (perf, 26 of 26 passed), and 6.1 by make test-vm FEW=1 (perf, 15 of 15 passed), " +
				"and 6.12.95+deb12-cloud-amd64 by make test-vm (multi, 30 of 30 passed; perf, 4 of 4 passed)",
		},
		{
			"5.4.0", "amd64", "Linux 5.4.0 on amd64 is older than all that were tested; the next is " +
				"5.10.0-46-cloud-amd64 by make test-vm (refused)",
		},
		{"7.9.0", "arm64", "is newer than all that were tested; the last is 6.12.95 by make test-vm ARCH=arm64 (multi, 20 of 20"},
		{"6.12.1", "arm64", "Linux 6.12.1 on arm64 was tested: 6.12.95"},
		{"6.12.1", "riscv64", "no kernel was tested on riscv64, or this one's version is unknown"},
	} {
		n := tested.NearestKernel(c.release, c.arch)
		if got := kernelTested(&n, c.arch); !strings.Contains(got, c.want) {
			t.Errorf("%s on %s:\n got %s\nwant %s", c.release, c.arch, got, c.want)
		}
	}
	for version, want := range map[string]string{
		"580.65.06":  "driver 580.65.06 was tested: 580.159.04 (NVIDIA H100 80GB HBM3, Linux 6.18, attached by session)",
		"550.54.15":  "driver 550.54.15 lies between two that were tested: 535 (no GPU), and 580.159.04",
		"470.256.02": "driver 470.256.02 is older than all that were tested; the next is 535",
		"600.1":      "driver 600.1 is newer than all that were tested; the last is 580.159.04",
	} {
		n := tested.NearestDriver(version)
		if got := driverTested(&n); !strings.Contains(got, want) {
			t.Errorf("%s:\n got %s\nwant %s", version, got, want)
		}
	}
}

func TestTheMachinesVersionsAreRead(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for name, text := range map[string]string{
		"sys/kernel/osrelease": "6.12.3-1-generic\n",
		"driver/nvidia/version": "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build  (dvs-builder)\n" +
			"GCC version:  gcc version 12.2.0 (Debian 12.2.0-14)\n",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	e := &exam{opts: Options{Proc: root}, r: &Report{}}
	c := e.tested()
	got := e.r.Tested
	if got.Arch != runtime.GOARCH || got.Kernel.Is != "6.12.3-1-generic" || got.Kernel.Relation != tested.Same ||
		got.Driver == nil || got.Driver.Is != "580.65.06" || got.Driver.Relation != tested.Same ||
		c.Status != Info || !strings.Contains(c.Detail, "driver 580.65.06 was tested") {
		t.Errorf("%+v\n%+v", c, got)
	}
	nothing := &exam{opts: Options{Proc: t.TempDir()}, r: &Report{}}
	c = nothing.tested()
	if nothing.r.Tested.Driver != nil || nothing.r.Tested.Kernel.Relation != tested.Unknown || !strings.Contains(c.Detail, "unknown") {
		t.Errorf("%+v\n%+v", c, nothing.r.Tested)
	}
	closed := "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.183.01  Sun May 12 19:39:15 UTC 2024\n"
	if got := driverNumber.FindString(closed); got != "535.183.01" {
		t.Errorf("%q of %q", got, closed)
	}
}
