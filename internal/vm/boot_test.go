package vm

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// machine is one whose emulator is a shell script.
func machine(t *testing.T, script string) (*Machine, *bytes.Buffer) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "emulator")
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	log := new(bytes.Buffer)
	return &Machine{Arch: Arch{Qemu: file}, Log: log, Silence: time.Minute, Longest: time.Minute}, log
}

func TestAMachineReportsItsResult(t *testing.T) {
	r := Result{Release: "6.1.0", Steps: []Outcome{{Passed: 1}}}
	m, log := machine(t, "printf 'up\\r\\n'\necho '"+r.Line()+"'")
	got, err := m.Boot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got.Release != r.Release || !got.Steps[0].OK() || log.String() != "up\n" {
		t.Errorf("result %+v, console %q", got, log)
	}
}

func TestAMachineThatFailsShowsTheEndOfItsConsole(t *testing.T) {
	for name, c := range map[string]struct {
		script, want string
		silence      time.Duration
		longest      time.Duration
	}{
		"panics": {"echo 'Kernel panic'", "before its tests did", time.Minute, time.Minute},
		"hangs":  {"echo 'Kernel panic'; exec sleep 60", "nothing was heard", 500 * time.Millisecond, time.Minute},
		"never ends": {
			"echo 'Kernel panic'; while :; do echo; sleep 0.01; done", "still ran after", time.Minute,
			500 * time.Millisecond,
		},
		"is refused": {"echo 'Kernel panic'; exit 3", "exit status 3", time.Minute, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			m, _ := machine(t, c.script)
			m.Silence, m.Longest = c.silence, c.longest
			_, err := m.Boot(t.Context())
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			if name != "never ends" && !strings.Contains(err.Error(), "Kernel panic") {
				t.Errorf("the console is not shown: %v", err)
			}
		})
	}
}

func TestAnEmulatorThatIsMissingIsNamed(t *testing.T) {
	arch := arm64
	arch.Qemu = filepath.Join(t.TempDir(), "none")
	if _, err := (&Machine{Arch: arch, Silence: time.Minute, Longest: time.Minute}).Boot(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "install qemu-system-arm") {
		t.Error(err)
	}
}
