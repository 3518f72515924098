package agent

import (
	"slices"
	"time"

	"github.com/ingero-io/ingero/probe"
)

const (
	maxUnborn = 4096             // mappings kept; the oldest go first
	unbornFor = 10 * time.Second // longer than births take to be told on a machine that is busy
)

// unborn is what was mapped by processes that may turn out to be children of watched
// ones: births are told later than mappings, on a busy machine by seconds.
type unborn []probe.Mapped

func (u *unborn) add(m probe.Mapped) {
	if len(*u) == maxUnborn {
		*u = slices.Delete(*u, 0, maxUnborn/8)
	}
	*u = append(*u, m)
}

// of tells what a process mapped.
func (u unborn) of(pid uint32, mapped func(*probe.Mapped)) {
	for i := range u {
		if uint32(u[i].PID) == pid {
			mapped(&u[i])
		}
	}
}

// forget drops what is too old for a birth to come. age is that of a moment of
// CLOCK_MONOTONIC.
func (u *unborn) forget(age func(ktime uint64) time.Duration) {
	*u = slices.DeleteFunc(*u, func(m probe.Mapped) bool { return age(m.At) > unbornFor })
}
