package doctor_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/capture/doctor"
)

// allCaps is what root has; nothing is held against it.
const allCaps = 1<<41 - 1

func TestEachRefusalHasItsReason(t *testing.T) {
	free := doctor.Hardening{
		Capabilities: allCaps, PtraceScope: -1, PerfParanoid: 2, BPFDisabled: 2, BTF: true,
		Tracefs: true, Memlock: 8 << 20,
	}
	with := func(change func(*doctor.Hardening)) doctor.Hardening {
		h := free
		change(&h)
		return h
	}
	none := doctor.Trials{}
	bpf, perf, ptrace := doctor.Trials{BPF: unix.EPERM}, doctor.Trials{Perf: unix.EACCES},
		doctor.Trials{Ptrace: unix.EPERM}
	for _, c := range []struct {
		name  string
		h     doctor.Hardening
		t     doctor.Trials
		codes string
		says  string // in why or next
	}{
		{"nothing held", free, none, "", ""},
		{"no tracefs", with(func(h *doctor.Hardening) { h.Tracefs = false }), none, "", ""},
		{
			"no capabilities", with(func(h *doctor.Hardening) { h.Capabilities = 0 }), bpf, "capabilities",
			"without CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH (kernel.unprivileged_bpf_disabled is 2)",
		},
		{
			"CAP_PERFMON missing",
			with(func(h *doctor.Hardening) { h.Capabilities = allCaps &^ (1<<unix.CAP_PERFMON | 1<<unix.CAP_SYS_ADMIN) }), perf,
			"capabilities", "without CAP_PERFMON (kernel.perf_event_paranoid is 2)",
		},
		{
			"CAP_SYS_ADMIN stands for both",
			with(func(h *doctor.Hardening) { h.Capabilities = allCaps &^ (1<<unix.CAP_PERFMON | 1<<unix.CAP_BPF) }), bpf,
			"security_module", "audit log",
		},
		{"seccomp on bpf", with(func(h *doctor.Hardening) { h.Seccomp = true }), bpf, "seccomp_bpf", "seccomp=unconfined"},
		{
			"seccomp hides bpf", with(func(h *doctor.Hardening) { h.Seccomp = true }),
			doctor.Trials{BPF: unix.ENOSYS},
			"seccomp_bpf", "bpf",
		},
		{
			"seccomp on perf_event_open", with(func(h *doctor.Hardening) { h.Seccomp = true }), perf, "seccomp_perf",
			"perf_event_open",
		},
		{"seccomp on ptrace", with(func(h *doctor.Hardening) { h.Seccomp = true }), ptrace, "seccomp_ptrace", "ptrace"},
		{"seccomp that lets all pass", with(func(h *doctor.Hardening) { h.Seccomp = true }), none, "", ""},
		{"rootless container", with(func(h *doctor.Hardening) { h.UserNamespace = true }), bpf, "user_namespace", "rootless"},
		{"rootless container, nothing refused", with(func(h *doctor.Hardening) { h.UserNamespace = true }), none, "", ""},
		{"security module", free, bpf, "security_module", "ausearch"},
		{"lockdown integrity", with(func(h *doctor.Hardening) { h.Lockdown = "integrity" }), none, "", ""},
		{
			"lockdown confidentiality", with(func(h *doctor.Hardening) { h.Lockdown = "confidentiality" }), none, "lockdown",
			"lockdown=integrity",
		},
		{"no BTF", with(func(h *doctor.Hardening) { h.BTF = false }), none, "no_btf", "CONFIG_DEBUG_INFO_BTF"},
		{"ptrace_scope 2", with(func(h *doctor.Hardening) { h.PtraceScope = 2 }), none, "", ""},
		{
			"ptrace_scope 3", with(func(h *doctor.Hardening) { h.PtraceScope = 3 }), none, "ptrace_scope",
			"kernel.yama.ptrace_scope is 3",
		},
		{"memory cannot be locked", with(func(h *doctor.Hardening) {
			h.NeedsMemlock, h.Capabilities = true,
				allCaps&^(1<<unix.CAP_SYS_RESOURCE)
		}), none, "memlock", "ulimit -l"},
		{"the limit can be raised", with(func(h *doctor.Hardening) { h.NeedsMemlock = true }), none, "", ""},
		{"no bpf in the kernel", free, doctor.Trials{BPF: unix.ENOSYS}, "no_bpf", "CONFIG_BPF_SYSCALL"},
		{"out of memory", free, doctor.Trials{BPF: unix.ENOMEM}, "bpf_failed", "report"},
		{
			"two at once", with(func(h *doctor.Hardening) { h.Seccomp = true }),
			doctor.Trials{BPF: unix.EPERM, Perf: unix.EPERM},
			"seccomp_bpf seccomp_perf", "",
		},
	} {
		var codes, words []string
		for _, r := range doctor.Reasons(c.h, c.t) {
			codes = append(codes, r.Code)
			words = append(words, r.Why, r.Next)
			if r.What == "" || r.Why == "" || r.Next == "" {
				t.Errorf("%s: %+v leaves something open", c.name, r)
			}
		}
		if got := strings.Join(codes, " "); got != c.codes || !strings.Contains(strings.Join(words, "\n"), c.says) {
			t.Errorf("%s: %q, want %q with %q:\n%s", c.name, got, c.codes, c.says, strings.Join(words, "\n"))
		}
	}
}

func TestHardeningIsRead(t *testing.T) {
	root := t.TempDir()
	for name, content := range map[string]string{
		"proc/sys/kernel/yama/ptrace_scope":         "3\n",
		"proc/sys/kernel/perf_event_paranoid":       "4\n",
		"proc/sys/kernel/unprivileged_bpf_disabled": "1\n",
		"proc/sys/kernel/osrelease":                 "5.10.0-26-amd64\n",
		"proc/self/status":                          "Name:\tx\nCapPrm:\t0000000000000400\nSeccomp:\t2\nSeccomp_filters:\t1\n",
		"proc/self/uid_map":                         "         0       1000          1\n",
		"sys/kernel/security/lockdown":              "none integrity [confidentiality]\n",
		"sys/kernel/btf/vmlinux":                    "",
		"sys/kernel/tracing/events/x":               "",
	} {
		p := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got := doctor.ReadHardening(filepath.Join(root, "proc"), filepath.Join(root, "sys"))
	got.Memlock = 0 // this process's own
	want := doctor.Hardening{
		Capabilities: 0x400, UserNamespace: true, Seccomp: true, Lockdown: "confidentiality",
		PtraceScope: 3, PerfParanoid: 4, BPFDisabled: 1, BTF: true, Tracefs: true, NeedsMemlock: true,
	}
	if got != want {
		t.Errorf("read %+v\nwant %+v", got, want)
	}
	nothing := doctor.ReadHardening(root, root)
	nothing.Memlock = 0
	if want := (doctor.Hardening{PtraceScope: -1, PerfParanoid: -1, BPFDisabled: -1}); nothing != want {
		t.Errorf("without any file: %+v", nothing)
	}
}

// TestTriesLeaveNoOpenFiles checks that trying leaves no open files and can be repeated.
func TestTriesLeaveNoOpenFiles(t *testing.T) {
	count := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	first, before := doctor.Try(), count()
	for range 10 {
		if again := doctor.Try(); again != first {
			t.Fatalf("%+v, then %+v", first, again)
		}
	}
	if after := count(); after != before {
		t.Errorf("%d descriptors are open, %d were before", after, before)
	}
}
