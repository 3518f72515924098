package agent

import (
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/capture/probe"
)

const (
	maxPending = 4096             // mappings kept; the oldest are dropped first
	pendingFor = 10 * time.Second // longer than a fork takes to be reported on a busy machine
)

// pendingMaps are mappings of processes that may turn out to be children of traced ones:
// forks are reported later than mappings, on a busy machine by seconds.
type pendingMaps []probe.Mapped

func (p *pendingMaps) addMapped(m probe.Mapped) {
	if len(*p) == maxPending {
		*p = slices.Delete(*p, 0, maxPending/8)
	}
	*p = append(*p, m)
}

// of calls mapped for each mapping of a process.
func (p pendingMaps) of(pid uint32, mapped func(*probe.Mapped)) {
	for i := range p {
		if uint32(p[i].PID) == pid {
			mapped(&p[i])
		}
	}
}

// forget drops mappings whose process will no longer be reported as a child. age is the time since
// a moment of CLOCK_MONOTONIC.
func (p *pendingMaps) forget(age func(ktime uint64) time.Duration) {
	*p = slices.DeleteFunc(*p, func(m probe.Mapped) bool { return age(m.At) > pendingFor })
}

// since is the time since a moment of the kernel's clock, CLOCK_MONOTONIC.
func since(ktime uint64) time.Duration {
	now := kernelTime()
	return time.Duration(now - min(ktime, now))
}

// kernelTime is that clock's time, ns; 0 if it cannot be read.
func kernelTime() uint64 {
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) != nil {
		return 0
	}
	return uint64(now.Nano())
}
