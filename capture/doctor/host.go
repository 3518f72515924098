package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/capture/privilege"
	"github.com/ingero-io/ingero/capture/probe"
)

func (e *exam) kernel() Check {
	c := Check{Name: "kernel", Status: OK}
	b, err := os.ReadFile(filepath.Join(e.opts.Proc, "sys/kernel/osrelease"))
	if err != nil {
		return Check{Name: "kernel", Status: Warning, Detail: fmt.Sprintf("version unknown: %v", err), Remedy: "mount /proc"}
	}
	release := strings.TrimSpace(string(b))
	c.Detail = "Linux " + release
	if probe.TooOld(release) {
		c.Status = Warning // the trial of the back end decides: some distributions' kernels have more than their version says
		c.Remedy = fmt.Sprintf("use Linux %d.%d or later; 6.6 and later trace at a lower cost", probe.MinMajor,
			probe.MinMinor)
	}
	return c
}

func (e *exam) btf() Check {
	info, err := os.Stat(filepath.Join(e.opts.Sys, "kernel/btf/vmlinux"))
	if err != nil {
		return Check{
			Name: "btf", Status: Problem, Detail: "the kernel does not describe its types (/sys/kernel/btf/vmlinux is missing)",
			Remedy: "use a kernel built with CONFIG_DEBUG_INFO_BTF=y, as those of the distributions are; in a container, " +
				"mount /sys",
		}
	}
	return Check{Name: "btf", Status: OK, Detail: fmt.Sprintf("type information is there (%d kB)", info.Size()/1000)}
}

// capabilities are the capabilities that tracing needs, with the reason.
var capabilities = []struct {
	name string
	bit  int
}{
	{"CAP_BPF", unix.CAP_BPF},
	{"CAP_PERFMON", unix.CAP_PERFMON},
	{"CAP_SYS_PTRACE", unix.CAP_SYS_PTRACE},
	{"CAP_DAC_READ_SEARCH", unix.CAP_DAC_READ_SEARCH},
}

func (e *exam) privileges() Check {
	who := fmt.Sprintf("user %d", os.Geteuid())
	if os.Geteuid() == 0 {
		who = "root"
	}
	missing := e.hardening.lacks()
	switch {
	case e.opts.Scope == privilege.Own && e.hardening.Capabilities != 0:
		return Check{
			Name: "privileges", Status: Warning, Detail: who + ", who may trace only own processes",
			Remedy: OnlyOwn(),
		}
	case len(missing) > 0:
		return Check{
			// the trial of the back end decides
			Name: "privileges", Status: Warning, Detail: who + ", without " + strings.Join(missing, ", "),
			Remedy: "run it with sudo, or once: " + GiveCapabilities(self()),
		}
	case e.hardening.UserNamespace:
		return Check{
			Name: "privileges", Status: Warning,
			Detail: who + " of a user namespace (rootless container): its capabilities do not reach the kernel",
			Remedy: "run it on the host, or in a container that is not rootless",
		}
	}
	if e.opts.Scope == privilege.Group {
		who += ", who may trace all processes, as only members of a group can execute this program"
	}
	return Check{Name: "privileges", Status: OK, Detail: who + ", with all capabilities that tracing needs"}
}

// filters says whether system calls that tracing needs are refused.
func (e *exam) filters() Check {
	c := Check{Name: "seccomp", Status: OK, Detail: "system calls are not filtered"}
	if e.hardening.Seccomp {
		c.Detail = "system calls are filtered, but not those that tracing needs"
	}
	for _, r := range e.reasons {
		if call, ok := strings.CutPrefix(r.Code, "seccomp_"); ok {
			c.Status, c.Detail, c.Remedy = Warning, r.Why+": not seen is "+r.What, r.Next
			if call == "bpf" {
				c.Status = Problem
				break
			}
		}
	}
	return c
}

// ptrace says whether processes can be held and their memory be read.
func (e *exam) ptrace() Check {
	for _, r := range e.reasons {
		if r.Code == "ptrace_scope" {
			return Check{Name: "ptrace", Status: Warning, Detail: r.Why + ": not seen are " + r.What, Remedy: r.Next}
		}
	}
	return Check{Name: "ptrace", Status: OK, Detail: "programs that trace starts are held until they are attached to"}
}

// tracefs says that a missing tracefs does no harm.
func (e *exam) tracefs() Check {
	c := Check{Name: "tracefs", Status: Info, Detail: "mounted, and not needed"}
	if !e.hardening.Tracefs {
		c.Detail = "not mounted, and not needed"
	}
	return c
}

func self() string {
	p, err := os.Executable()
	if err != nil {
		return "ingero"
	}
	return p
}

func (e *exam) lockdown() Check {
	for _, r := range e.reasons {
		if r.Code == "lockdown" {
			return Check{Name: "lockdown", Status: Problem, Detail: r.Why, Remedy: r.Next}
		}
	}
	if e.hardening.Lockdown == "integrity" {
		return Check{
			Name: "lockdown", Status: OK,
			Detail: "the kernel is locked down to integrity, which does not concern tracing",
		}
	}
	return Check{Name: "lockdown", Status: OK, Detail: "the kernel is not locked down"}
}

// memlock says whether enough memory may be locked, where that matters.
func (e *exam) memlock() Check {
	for _, r := range e.reasons {
		if r.Code == "memlock" {
			return Check{Name: "memlock", Status: Problem, Detail: r.Why, Remedy: r.Next}
		}
	}
	return Check{Name: "memlock", Status: OK, Detail: "the limit of locked memory does not concern tracing here"}
}

// initPIDNamespace is PROC_PID_INIT_INO of include/linux/proc_ns.h.
const initPIDNamespace = "pid:[4026531836]"

func (e *exam) namespace() Check {
	link, err := os.Readlink(filepath.Join(e.opts.Proc, "self/ns/pid"))
	switch {
	case err != nil:
		return Check{Name: "pid_namespace", Status: Warning, Detail: fmt.Sprintf("unknown: %v", err), Remedy: "mount /proc"}
	case link != initPIDNamespace:
		return Check{
			Name: "pid_namespace", Status: Warning,
			Detail: "this is a container: process ids here are not those the kernel reports",
			Remedy: "run it on the host, or in a container that shares its process ids (--pid=host, hostPID: true)",
		}
	}
	return Check{Name: "pid_namespace", Status: OK, Detail: "process ids are the host's"}
}

func (e *exam) gpu() Check {
	c := Check{
		Name: "gpu", Status: Info,
		Detail: "no NVIDIA driver is loaded: CUDA programs will not run here, recordings can be explained",
	}
	b, err := os.ReadFile(filepath.Join(e.opts.Proc, "driver/nvidia/version"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Stat("/dev/dxg"); err == nil {
			c.Detail = "GPU through WSL (/dev/dxg)"
		}
		return c
	case err != nil:
		c.Detail = fmt.Sprintf("NVIDIA driver: %v", err)
		return c
	}
	first, _, _ := strings.Cut(string(b), "\n")
	cards, _ := filepath.Glob(filepath.Join(e.opts.Proc, "driver/nvidia/gpus/*")) // the pattern is well-formed
	c.Status = OK
	c.Detail = fmt.Sprintf("%s (%d GPUs)", strings.TrimSpace(strings.TrimPrefix(first, "NVRM version:")), len(cards))
	return c
}
