package diagnose

import (
	"regexp"
	"strings"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
)

// Settings that make a state possible are quoted where the evidence has the pattern: by the code that ran, as here, or
// by the cause (its settings). Only those that are known are.
var (
	quotedByCode = []struct {
		code     *regexp.Regexp // in its functions or its system call
		settings []string
	}{
		{
			regexp.MustCompile(`clock_gettime|gettimeofday|read_hpet|acpi_pm_read|clocksource`),
			[]string{event.SettingClockSource},
		},
		{
			regexp.MustCompile(`compact|huge_pmd|clear_huge_page|khugepaged`),
			[]string{event.SettingHugePages, event.SettingDefrag, event.SettingCompaction},
		},
		{regexp.MustCompile(`numa_page|numa_fault|change_prot_numa`), []string{event.SettingNUMABalancing}},
		{regexp.MustCompile(`\b(gomp|kmp|__kmp|GOMP)_|OpenMP`), openMP},
		{
			regexp.MustCompile(`malloc|_int_free|systrim|madvise|\bbrk\b`),
			[]string{"MALLOC_ARENA_MAX", "MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "PYTHONMALLOC"},
		},
		{regexp.MustCompile(`shrink_|try_to_free`), []string{event.SettingSwappiness, event.SettingZoneReclaim}},
		{
			regexp.MustCompile(`balance_dirty_pages`),
			[]string{event.SettingDirty, event.SettingDirtyBackground},
		},
	}
	openMP = []string{
		"OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME",
	}
)

// launchBlocking makes each launch wait for its kernel, if it is 1.
const launchBlocking = "CUDA_LAUNCH_BLOCKING"

// setting is the value that a setting of a process, or else of the machine, had last; false if it is not known, or not
// set.
func (hs *hostState) setting(pid uint32, name string) (value string, ok bool) {
	var at uint64
	for i := range hs.in.Settings {
		s := &hs.in.Settings[i]
		if s.Name == name && (s.PID == pid || s.PID == 0) && s.At >= at {
			at, value = s.At, s.Value
		}
	}
	return value, value != ""
}

// SettingsOf returns the settings that a process had last, by name; pid 0: the machine. nil: none are known.
func (in *Input) SettingsOf(pid uint32) map[string]string {
	var last map[string]string
	for i := range in.Settings {
		if s := &in.Settings[i]; s.PID == pid {
			if last == nil {
				last = map[string]string{}
			}
			last[s.Name] = s.Value
		}
	}
	return last
}

// quoted lists settings that are known, as NAME=VALUE.
func (hs *hostState) quoted(pid uint32, names []string) (list []string) {
	for _, name := range names {
		if v, ok := hs.setting(pid, name); ok {
			list = append(list, name+"="+printable(v))
		}
	}
	return list
}

// quoteCode adds the settings that have to do with the code that ran in a process.
func (hs *hostState) quoteCode(pid uint32, c *report.Code) {
	if c == nil || len(hs.in.Settings) == 0 {
		return
	}
	what := strings.Join([]string{c.Function, c.Syscall, c.Kernel}, " ")
	for _, q := range quotedByCode {
		if q.code.MatchString(what) {
			c.Settings = append(c.Settings, hs.quoted(pid, q.settings)...)
		}
	}
}

// quoteCause adds the settings that have to do with a finding's cause to its detail.
func (ev *evidence) quoteCause(f *finding, c *report.Chain) {
	names := f.cause.settings
	if f.cause.ownSettings != nil && (c.Cause.PID == f.sub.PID || ev.procs.worksFor(c.Cause.PID, f.sub.PID)) {
		names = f.cause.ownSettings
	}
	if list := ev.host.quoted(f.sub.PID, names); len(list) > 0 {
		c.Cause.Detail += "; " + strings.Join(list, ", ")
	}
}
