package doctor

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"github.com/ingero-io/ingero/capture/host/cudalib"
	"github.com/ingero-io/ingero/capture/probe/all"
	"github.com/ingero-io/ingero/capture/probe/coverage"
)

// Step is the one thing to do next.
type Step struct {
	Do  string `json:"do"`  // a command as it is typed, or what has to be changed first
	Why string `json:"why"` // what that shows, or what else is possible
}

// Situation is what the next step depends on.
type Situation struct {
	Tried     bool             // the programs were loaded, which shows whether tracing works
	Works     bool             // tracing works; only if Tried
	GPU       bool             // NVIDIA's driver is loaded, or a CUDA library is there
	Processes int              // that use CUDA now; only if Tried
	Container bool             // process ids are not the host's
	Sudo      bool             // this program was started by sudo
	Service   Service          // of the packages
	Refused   *coverage.Reason // why nothing can be traced, nil: no reason is known
	Remedy    string           // of the first problem, if there is no such reason
}

// Service is the state of ingero.service, which the packages have.
type Service int

// The states. A machine without systemd has no service.
const (
	NoService Service = iota
	ServiceStopped
	ServiceRuns
)

const (
	codeCapabilities = "capabilities"
	demoStep         = "ingero demo incident"
	noGPU            = "there is no GPU library here: "
	enableStep       = "systemctl enable --now ingero"
	// inContainer are the flags with which docs/install.md runs the image.
	inContainer = "--pid=host --cap-add BPF --cap-add PERFMON --cap-add SYS_PTRACE --cap-add DAC_READ_SEARCH"
)

// Next decides what to do next.
func Next(s *Situation) Step {
	as := func(command string) string {
		if s.Sudo {
			return "sudo " + command
		}
		return command
	}
	denied := s.Refused != nil && s.Refused.Code == codeCapabilities
	switch {
	case s.Works && s.Service == ServiceRuns:
		return Step{as("ingero explain"), "explains what ingero.service records"}
	case s.Works && s.Service == ServiceStopped && s.GPU:
		return Step{as(enableStep), "records the programs that use CUDA, from now on; to record once: " + as("ingero trace")}
	case s.Works && s.Service == ServiceStopped:
		return Step{as(enableStep), "records from now on; " + noGPU + demoStep + " explains a program with a known fault"}
	case s.Works && s.Processes > 0:
		return Step{as("ingero trace"), "records the programs that use CUDA now, and those that start; Ctrl+C stops"}
	case s.Works && s.GPU:
		return Step{as("ingero trace -- YOUR PROGRAM"), "records it from its first call on"}
	case s.Works:
		return Step{as(demoStep), noGPU + "it traces a program with a known fault, which needs none"}
	case !s.GPU:
		return Step{as(demoStep), noGPU + "it explains a program with a known fault, which needs none"}
	case denied && s.Container:
		return Step{"start the container with " + inContainer, "tracing needs these rights"}
	case denied:
		return Step{"sudo ingero check", "tracing needs root, or once: " + GiveCapabilities(self())}
	case s.Refused != nil:
		return Step{s.Refused.Next, s.Refused.Why}
	case s.Tried && s.Remedy != "":
		return Step{s.Remedy, "until then nothing can be traced; recordings can be explained"}
	}
	return Step{as("ingero check"), "shows whether this machine can be traced"}
}

// First is what to do first on a machine. It looks at less than Examine: it loads no program.
func First(o Options) Step {
	o.defaults()
	s := Situation{Sudo: o.Sudo, GPU: driverLoaded(o.Proc), Container: contained(o.Proc)}
	var patterns []*regexp.Regexp
	for _, l := range all.Libraries() {
		patterns = append(patterns, l.File)
	}
	s.GPU = s.GPU || len(cudalib.Installed(cudalib.SearchPath(os.Getenv("LD_LIBRARY_PATH")), patterns...)) > 0
	s.Refused = refusal(Why(o))
	return Next(&s)
}

// next decides what to do after the checks.
func (e *exam) next() Step {
	s := Situation{
		Tried: true, Works: e.r.OK, Processes: len(e.r.Processes), Sudo: e.opts.Sudo, Container: contained(e.opts.Proc),
		GPU: len(e.r.Libraries) > 0 || driverLoaded(e.opts.Proc), Refused: refusal(e.reasons),
		Service: service(e.opts.Root, e.opts.Sys),
	}
	for _, c := range e.r.Checks {
		if c.Status == Problem {
			s.Remedy = c.Remedy
			break
		}
	}
	return Next(&s)
}

// refusal is the first reason for which nothing can be traced, nil if there is none.
func refusal(reasons []coverage.Reason) *coverage.Reason {
	for i := range reasons {
		if reasons[i].What == Everything {
			return &reasons[i]
		}
	}
	return nil
}

// driverLoaded reports whether programs can find NVIDIA's driver.
func driverLoaded(proc string) bool {
	for _, path := range []string{filepath.Join(proc, "driver/nvidia/version"), "/dev/dxg"} {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			return true
		}
	}
	return false
}

// service is the state of the packages' service.
func service(root, sys string) Service {
	for _, path := range []string{"run/systemd/system", "usr/lib/systemd/system/ingero.service"} {
		if _, err := os.Stat(filepath.Join(root, path)); err != nil {
			return NoService
		}
	}
	for _, hierarchy := range []string{"", "systemd"} { // of cgroups: version 2, 1
		if _, err := os.Stat(filepath.Join(sys, "fs/cgroup", hierarchy, "system.slice/ingero.service")); err == nil {
			return ServiceRuns
		}
	}
	return ServiceStopped
}

// contained reports whether process ids are others than the host's.
func contained(proc string) bool {
	link, err := os.Readlink(filepath.Join(proc, "self/ns/pid"))
	return err == nil && link != initPIDNamespace
}
