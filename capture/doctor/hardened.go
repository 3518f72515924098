package doctor

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/capture/probe/coverage"
)

// Hardening is what the machine, or the container or namespace of this process, forbids
// or says that it forbids.
type Hardening struct {
	Capabilities  uint64 // permitted ones of this process: they are raised only where they are needed
	UserNamespace bool   // capabilities are valid only in a namespace
	Seccomp       bool   // system calls are filtered
	Lockdown      string // none, integrity or confidentiality; empty: the kernel has no lockdown
	PtraceScope   int    // kernel.yama.ptrace_scope; -1: no Yama
	PerfParanoid  int    // kernel.perf_event_paranoid; -1 if unknown, too
	BPFDisabled   int    // kernel.unprivileged_bpf_disabled; -1 if unknown
	BTF           bool
	Tracefs       bool
	Memlock       uint64 // bytes that may be locked
	NeedsMemlock  bool   // the kernel counts eBPF maps as locked memory: before 5.11
}

// Trials are the errors of trying what tracing needs; nil if it works.
type Trials struct {
	BPF    error // making a map
	Perf   error // watching every process on a CPU
	Ptrace error // holding a process
}

// ReadHardening reads it from the proc and sys file systems at these roots.
func ReadHardening(proc, sys string) Hardening {
	h := Hardening{PtraceScope: -1, PerfParanoid: -1, BPFDisabled: -1}
	for _, x := range []struct {
		name string
		to   *int
	}{
		{"yama/ptrace_scope", &h.PtraceScope},
		{"perf_event_paranoid", &h.PerfParanoid},
		{"unprivileged_bpf_disabled", &h.BPFDisabled},
	} {
		if b, err := os.ReadFile(filepath.Join(proc, "sys/kernel", x.name)); err == nil {
			if n, err := strconv.Atoi(strings.TrimSpace(string(b))); err == nil {
				*x.to = n
			}
		}
	}
	status, _ := os.ReadFile(filepath.Join(proc, "self/status")) // without it no capabilities are assumed
	for line := range strings.Lines(string(status)) {
		key, value, _ := strings.Cut(line, ":")
		switch value = strings.TrimSpace(value); key {
		case "CapPrm":
			h.Capabilities, _ = strconv.ParseUint(value, 16, 64)
		case "Seccomp":
			h.Seccomp = value == "2" // a filter
		}
	}
	if b, err := os.ReadFile(filepath.Join(proc, "self/uid_map")); err == nil {
		h.UserNamespace = strings.Join(strings.Fields(string(b)), " ") != "0 0 4294967295"
	}
	if b, err := os.ReadFile(filepath.Join(sys, "kernel/security/lockdown")); err == nil {
		_, after, _ := strings.Cut(string(b), "[")
		h.Lockdown, _, _ = strings.Cut(after, "]")
	}
	exists := func(path ...string) bool {
		_, err := os.Stat(filepath.Join(path...))
		return err == nil
	}
	h.BTF = exists(sys, "kernel/btf/vmlinux")
	h.Tracefs = exists(sys, "kernel/tracing/events") || exists(sys, "kernel/debug/tracing/events")
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_MEMLOCK, &limit) == nil {
		h.Memlock = limit.Cur
	}
	b, _ := os.ReadFile(filepath.Join(proc, "sys/kernel/osrelease"))
	major, minor := 0, 0
	if n, _ := fmt.Sscanf(string(b), "%d.%d", &major, &minor); n == 2 {
		h.NeedsMemlock = major < 5 || major == 5 && minor < 11
	}
	return h
}

// lacks lists the capabilities that tracing needs and the process does not have.
func (h *Hardening) lacks() []string {
	admin := h.Capabilities&(1<<unix.CAP_SYS_ADMIN) != 0
	var missing []string
	for _, c := range capabilities {
		if h.Capabilities&(1<<c.bit) == 0 && !(admin && (c.bit == unix.CAP_BPF || c.bit == unix.CAP_PERFMON)) {
			missing = append(missing, c.name)
		}
	}
	return missing
}

// What is not seen for a reason.
const (
	// Everything: tracing does not work at all.
	Everything    = "any call"
	lateLibraries = "the first second of programs and libraries that are loaded later"
	heldPrograms  = "the first milliseconds of a program that trace starts, " +
		"and names of kernels that are in memory nobody has read"
)

// memlockNeeded is the size of the maps and rings, in bytes.
const memlockNeeded = 64 << 20

// Reasons says why tracing does not work, or not fully. A restriction that a trial
// shows to be harmless is not listed.
func Reasons(h Hardening, t Trials) []coverage.Reason {
	var r []coverage.Reason
	if t.BPF != nil {
		r = append(r, h.whyNot("bpf", Everything, t.BPF))
	}
	if t.BPF == nil && !h.BTF {
		r = append(r, coverage.Reason{
			Code: "no_btf", What: Everything, Why: "the kernel does not describe its types (/sys/kernel/btf/vmlinux is missing)",
			Next: "use a kernel built with CONFIG_DEBUG_INFO_BTF=y, as those of the distributions are; in a container, " +
				"mount /sys",
		})
	}
	if h.Lockdown == "confidentiality" {
		r = append(r, coverage.Reason{
			Code: "lockdown", What: Everything,
			Why:  "the kernel is locked down to confidentiality, which forbids eBPF programs to read its memory",
			Next: "boot with lockdown=integrity, or without secure boot",
		})
	}
	if h.NeedsMemlock && h.Memlock < memlockNeeded && h.Capabilities&(1<<unix.CAP_SYS_RESOURCE) == 0 {
		r = append(r, coverage.Reason{
			Code: "memlock", What: Everything,
			Why:  fmt.Sprintf("only %d kB may be locked, and this kernel counts eBPF maps as locked memory", h.Memlock>>10),
			Next: "raise it: ulimit -l unlimited, or LimitMEMLOCK=infinity in the unit",
		})
	}
	if t.Perf != nil {
		r = append(r, h.whyNot("perf", lateLibraries, t.Perf))
	}
	switch {
	case h.PtraceScope >= 3:
		r = append(r, coverage.Reason{
			Code: "ptrace_scope", What: heldPrograms,
			Why: fmt.Sprintf("kernel.yama.ptrace_scope is %d, which forbids everybody to hold a process or to read its memory",
				h.PtraceScope),
			Next: "it can be lowered only by booting again: kernel.yama.ptrace_scope=2 in /etc/sysctl.d",
		})
	case t.Ptrace != nil:
		r = append(r, h.whyNot("ptrace", heldPrograms, t.Ptrace))
	}
	return r
}

// whyNot finds out what refused a system call.
func (h *Hardening) whyNot(call, what string, err error) coverage.Reason {
	r := coverage.Reason{What: what}
	denied := errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES)
	lacks := h.lacks()
	has := func(name string) bool { return !strings.Contains(strings.Join(lacks, " "), name) }
	needed := map[string]string{"bpf": "CAP_BPF", "perf": "CAP_PERFMON", "ptrace": "CAP_SYS_PTRACE"}[call]
	switch {
	case !denied && !errors.Is(err, unix.ENOSYS):
		r.Code, r.Why, r.Next = call+"_failed", err.Error(), "report this message, with the kernel's version"
	case denied && call != "ptrace" && !has(needed):
		r.Code, r.Why = "capabilities", "this process is without "+strings.Join(lacks, ", ")
		if call == "bpf" && h.BPFDisabled > 0 {
			r.Why += fmt.Sprintf(" (kernel.unprivileged_bpf_disabled is %d)", h.BPFDisabled)
		}
		if call == "perf" && h.PerfParanoid > 0 {
			r.Why += fmt.Sprintf(" (kernel.perf_event_paranoid is %d)", h.PerfParanoid)
		}
		r.Next = "run it with sudo, or once: " + GiveCapabilities(self())
	case h.Seccomp:
		r.Code, r.Why = "seccomp_"+call, fmt.Sprintf("a seccomp filter refuses the system call %s", syscalls[call])
		r.Next = "in a container, use --security-opt seccomp=unconfined or a profile that allows " + syscalls[call] +
			"; in a systemd unit, SystemCallFilter="
	case errors.Is(err, unix.ENOSYS):
		r.Code, r.Why = "no_"+call, "the kernel has no "+syscalls[call]
		r.Next = "use a kernel built with CONFIG_BPF_SYSCALL=y and CONFIG_PERF_EVENTS=y"
	case h.UserNamespace:
		r.Code, r.Why = "user_namespace",
			"this is a user namespace (rootless container), whose capabilities do not reach the kernel"
		r.Next = "run it on the host, or in a container that is not rootless, with --privileged"
	default:
		r.Code, r.Why = "security_module",
			fmt.Sprintf("a security module (SELinux, AppArmor or another) refuses the system call %s", syscalls[call])
		r.Next = "look into the audit log (ausearch -m avc; journalctl -k), or run it outside the confined domain"
	}
	return r
}

// GiveCapabilities is the command that lets the members of a group trace with the program at path, and nobody else.
func GiveCapabilities(path string) string {
	return "sudo chown root:ingero " + path + "; sudo chmod 750 " + path + "; sudo setcap " + setcap + " " + path
}

// OnlyOwn says why a user may trace only his own processes, and what to do.
func OnlyOwn() string {
	return "everybody can execute this program, which has capabilities, so each user traces only what is his own; " +
		"run it with sudo, or let only a group execute it, which may then trace all: " + GiveCapabilities(self())
}

// setcap is the argument of setcap that lets a program trace without root.
const setcap = "cap_bpf,cap_perfmon,cap_sys_ptrace,cap_dac_read_search+ep"

// syscalls are the names of what was tried.
var syscalls = map[string]string{"bpf": "bpf", "perf": "perf_event_open", "ptrace": "ptrace"}
