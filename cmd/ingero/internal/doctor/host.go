package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/probe"
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
		c.Status = Warning // the trial of the back end decides: some distributions' kernels have more than their number says
		c.Remedy = fmt.Sprintf("use Linux %d.%d or later; 6.6 and later trace at a lower cost", probe.MinMajor, probe.MinMinor)
	}
	return c
}

func (e *exam) btf() Check {
	info, err := os.Stat(filepath.Join(e.opts.Sys, "kernel/btf/vmlinux"))
	if err != nil {
		return Check{
			Name: "btf", Status: Problem, Detail: "the kernel does not describe its types (/sys/kernel/btf/vmlinux is missing)",
			Remedy: "use a kernel built with CONFIG_DEBUG_INFO_BTF=y, as those of the distributions are; in a container, mount /sys",
		}
	}
	return Check{Name: "btf", Status: OK, Detail: fmt.Sprintf("type information is there (%d kB)", info.Size()/1000)}
}

// capabilities are those tracing needs, and what for.
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
	c := Check{Name: "privileges", Status: OK}
	caps, err := e.effective()
	if err != nil {
		return Check{Name: "privileges", Status: Warning, Detail: err.Error(), Remedy: "mount /proc"}
	}
	admin := caps&(1<<unix.CAP_SYS_ADMIN) != 0
	var missing []string
	for _, p := range capabilities {
		if caps&(1<<p.bit) == 0 && !(admin && (p.bit == unix.CAP_BPF || p.bit == unix.CAP_PERFMON)) {
			missing = append(missing, p.name)
		}
	}
	who := fmt.Sprintf("user %d", os.Geteuid())
	if os.Geteuid() == 0 {
		who = "root"
	}
	if len(missing) == 0 {
		c.Detail = who + ", with all capabilities that tracing needs"
		return c
	}
	c.Detail = who + ", without " + strings.Join(missing, ", ")
	c.Remedy = "run it with sudo, or once: sudo setcap cap_bpf,cap_perfmon,cap_sys_ptrace,cap_dac_read_search+ep " + self()
	c.Status = Warning // the trial of the back end decides
	return c
}

func self() string {
	p, err := os.Executable()
	if err != nil {
		return "ingero"
	}
	return p
}

// effective is this process's effective capabilities.
func (e *exam) effective() (uint64, error) {
	b, err := os.ReadFile(filepath.Join(e.opts.Proc, "self/status"))
	if err != nil {
		return 0, fmt.Errorf("read own capabilities: %w", err)
	}
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(line, "CapEff:"); ok {
			return strconv.ParseUint(strings.TrimSpace(v), 16, 64)
		}
	}
	return 0, errors.New("read own capabilities: /proc/self/status does not list them")
}

func (e *exam) lockdown() Check {
	b, err := os.ReadFile(filepath.Join(e.opts.Sys, "kernel/security/lockdown"))
	if err != nil {
		return Check{Name: "lockdown", Status: OK, Detail: "the kernel is not locked down"}
	}
	if strings.Contains(string(b), "[confidentiality]") {
		return Check{
			Name: "lockdown", Status: Problem, Detail: "the kernel is locked down to confidentiality, which forbids eBPF to read memory",
			Remedy: "boot with lockdown=integrity or without secure boot",
		}
	}
	return Check{Name: "lockdown", Status: OK, Detail: strings.TrimSpace(string(b))}
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
			Name: "pid_namespace", Status: Warning, Detail: "this is a container: process ids here are not those the kernel reports",
			Remedy: "run it on the host, or in a container that shares its process ids (--pid=host, hostPID: true)",
		}
	}
	return Check{Name: "pid_namespace", Status: OK, Detail: "process ids are the host's"}
}

func (e *exam) gpu() Check {
	c := Check{Name: "gpu", Status: Info, Detail: "no NVIDIA driver is loaded: CUDA programs will not run here, recordings can be explained"}
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
