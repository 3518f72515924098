package rig

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/capture/host/proc"
)

// ticksPerSecond is USER_HZ, the unit of /proc/stat; it is the same on all Linux systems (proc(5)).
const ticksPerSecond = 100

// Usage is the CPU time used so far, in ticks: by the whole machine, and by this
// process and its children that have ended.
type Usage struct {
	all proc.CPUTime
	own float64
}

// ReadUsage reads it.
func ReadUsage() (u Usage, err error) {
	if u.all, _, err = proc.New("/proc").CPUTime(); err != nil {
		return u, err
	}
	for _, who := range []int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		var r unix.Rusage
		if err := unix.Getrusage(who, &r); err != nil {
			return u, err
		}
		u.own += ticksPerSecond * float64(r.Utime.Nano()+r.Stime.Nano()) / 1e9
	}
	return u, nil
}

// Others is the share of all CPUs' time between two readings that was used by other programs than this
// process and its children.
func Others(before, after Usage) float64 {
	total := float64(after.all.Total - before.all.Total)
	if total <= 0 {
		return 0
	}
	return others(before, after) / total
}

// Stolen is the share of the CPUs' busy time between two readings that the hypervisor took.
func Stolen(before, after Usage) float64 {
	busy := float64(after.all.Busy - before.all.Busy)
	if busy <= 0 {
		return 0
	}
	return float64(after.all.Stolen-before.all.Stolen) / busy
}

// OtherTime is the CPU time between two readings that was used by other programs than this process and its children.
func OtherTime(before, after Usage) time.Duration {
	return time.Duration(others(before, after) * float64(time.Second) / ticksPerSecond)
}

// others is OtherTime in ticks.
func others(before, after Usage) float64 {
	busy := float64(after.all.Busy-before.all.Busy) - float64(after.all.Stolen-before.all.Stolen)
	return max(0, busy-(after.own-before.own))
}
