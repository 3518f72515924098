// Package setting reads the settings of a machine and of processes that make some states of threads possible: a clock
// that is read by a system call, huge pages that have to be made first, an OpenMP that spins. It reads files of /proc
// and /sys, and judges nothing.
package setting

import (
	"cmp"
	"path/filepath"
	"strings"

	"github.com/ingero-io/ingero/capture/host/proc"
	"github.com/ingero-io/ingero/capture/limit"
	"github.com/ingero-io/ingero/event"
)

// machine are the files of settings of the machine, in /proc or /sys.
var machine = []struct {
	name string
	sys  bool
	file string
}{
	{event.SettingClockSource, true, "devices/system/clocksource/clocksource0/current_clocksource"},
	{event.SettingHugePages, true, "kernel/mm/transparent_hugepage/enabled"},
	{event.SettingDefrag, true, "kernel/mm/transparent_hugepage/defrag"},
	{event.SettingGovernor, true, "devices/system/cpu/cpu0/cpufreq/scaling_governor"},
	{event.SettingSMT, true, "devices/system/cpu/smt/active"},
	{event.SettingCompaction, false, "sys/vm/compaction_proactiveness"},
	{event.SettingNUMABalancing, false, "sys/kernel/numa_balancing"},
	{event.SettingSwappiness, false, "sys/vm/swappiness"},
	{event.SettingZoneReclaim, false, "sys/vm/zone_reclaim_mode"},
	{event.SettingDirty, false, "sys/vm/dirty_ratio"},
	{event.SettingDirtyBackground, false, "sys/vm/dirty_background_ratio"},
}

// environment are the variables that are recorded of a process. No other one is: their values may be secrets.
var environment = []string{
	"OMP_NUM_THREADS", "OMP_WAIT_POLICY", "OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY", "GOMP_SPINCOUNT",
	"KMP_BLOCKTIME", "KMP_AFFINITY", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "TOKENIZERS_PARALLELISM",
	"MALLOC_ARENA_MAX", "MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "PYTHONMALLOC",
	"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF", "PYTORCH_NO_CUDA_MEMORY_CACHING",
	"CUDA_LAUNCH_BLOCKING", "CUDA_DEVICE_MAX_CONNECTIONS", "CUDA_MODULE_LOADING", "CUDA_VISIBLE_DEVICES",
	"TORCH_NCCL_BLOCKING_WAIT", "TORCH_NCCL_ASYNC_ERROR_HANDLING", "NCCL_P2P_DISABLE", "NCCL_IB_DISABLE",
	"NCCL_SOCKET_IFNAME", "NCCL_ALGO", "NCCL_PROTO",
}

// limits are the lines of /proc/PID/limits that are recorded, and the setting's name.
var limits = []struct{ line, name string }{
	{"Max locked memory", event.SettingLocked}, {"Max open files", event.SettingOpenFiles},
}

// Machine returns the settings of a machine by name. procFS and sysFS are where /proc and /sys are; empty: there. What
// the machine does not have is left out.
func Machine(procFS, sysFS string) map[string]string {
	found := map[string]string{}
	for _, m := range machine {
		root := cmp.Or(procFS, "/proc")
		if m.sys {
			root = cmp.Or(sysFS, "/sys")
		}
		if b, _, err := limit.ReadFile(filepath.Join(root, m.file), most); err == nil && len(b) > 0 {
			found[m.name] = chosen(strings.TrimSpace(string(b)))
		}
	}
	return found
}

// Process returns the settings of a process: its variables when it was started, and its limits. What cannot be read is
// left out.
func Process(fs proc.FS, pid int) map[string]string {
	found := Limits(fs, pid)
	if env, err := fs.Environ(pid, environment...); err == nil {
		for name, value := range env {
			found[name] = cut(value)
		}
	}
	return found
}

// Limits returns what may change of the settings of a process. Reading it takes no lock of the process's memory.
func Limits(fs proc.FS, pid int) map[string]string {
	found := map[string]string{}
	text, err := fs.Limits(pid)
	if err != nil {
		return found
	}
	for line := range strings.Lines(text) {
		for _, l := range limits {
			if rest, ok := strings.CutPrefix(line, l.line); ok {
				soft, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
				found[l.name] = soft
			}
		}
	}
	return found
}

// most is how long a value may be, bytes; the rest is cut off.
const most = 256

func cut(v string) string { return strings.ToValidUTF8(v[:min(len(v), most)], "") }

// chosen is the choice of a list, as in "always [madvise] never"; other values are as they are.
func chosen(v string) string {
	_, rest, _ := strings.Cut(v, "[")
	if choice, _, ok := strings.Cut(rest, "]"); ok {
		return choice
	}
	return cut(v)
}
