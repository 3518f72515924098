package doctor

import (
	"maps"
	"slices"
	"strings"

	"github.com/ingero-io/ingero/capture/host/setting"
	"github.com/ingero-io/ingero/event"
)

// quickClocks are the clock sources that programs read without a system call (vDSO): drivers, frameworks and Python
// read the clock thousands of times a second.
var quickClocks = []string{"tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter"}

// settings says which settings the machine has that often explain where time goes. They are recorded with each trace.
func (e *exam) settings() Check {
	found := setting.Machine(e.opts.Proc, e.opts.Sys)
	c := Check{Name: "settings", Status: Info}
	var list []string
	for _, name := range slices.Sorted(maps.Keys(found)) {
		list = append(list, name+"="+found[name])
	}
	if c.Detail = strings.Join(list, ", "); len(list) == 0 {
		c.Detail = "none could be read"
	}
	if clock := found[event.SettingClockSource]; clock != "" && !slices.Contains(quickClocks, clock) {
		c.Status = Warning
		c.Remedy = "each time that a program reads the clock is a system call with this clock_source: see why the kernel " +
			"left tsc (dmesg | grep -i clocksource), or choose it in " +
			"/sys/devices/system/clocksource/clocksource0/current_clocksource"
	}
	return c
}
