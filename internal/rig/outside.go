package rig

import (
	"fmt"
	"os"
	"time"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
)

// CPU time by /proc/stat differs from that of the kernel's events by a share and some ticks: it is counted in ticks of
// 10 ms on each CPU.
const (
	slackShare = 0.1
	slack      = 50 * time.Millisecond
)

// Wrong says why a finding of a run without a fault is wrong. It is not wrong ("") if another program did take CPU time
// from the traced one: a process that the run did not start, and no more time than other programs used by /proc/stat,
// which knows nothing of the recording.
func (r *Result) Wrong(c *report.Chain) string {
	blamed := time.Duration(float64(c.LostNS) * c.ExplainedPct / 100)
	most := time.Duration(float64(r.OtherTime)*(1+slackShare)) + slack
	switch {
	case c.Cause.Kind != event.CauseCPUContention:
		return fmt.Sprintf("nothing of kind %s was done", c.Cause.Kind)
	case r.started(c.Cause.PID):
		return fmt.Sprintf("it blames %s (%d), a process of the run", c.Cause.Process, c.Cause.PID)
	case blamed > most:
		return fmt.Sprintf("it says that %s took %s of CPU time; all other programs used %s", c.Cause.Process,
			blamed.Round(time.Millisecond), r.OtherTime.Round(time.Millisecond))
	}
	return ""
}

// started reports whether a process is the traced one, this one, or was started by one of them.
func (r *Result) started(pid uint32) bool {
	parents := map[uint32]uint32{}
	for i := range r.Input.Processes {
		parents[r.Input.Processes[i].PID] = r.Input.Processes[i].Parent
	}
	for _, l := range r.Input.Lives {
		if l.Kind == event.LifeFork && l.PID == l.TID && l.PID != l.Parent.PID && parents[l.PID] == 0 {
			parents[l.PID] = l.Parent.PID
		}
	}
	for range len(parents) + 1 { // not for ever: a PID may have been used twice
		if pid == uint32(r.Truth.PID) || pid == uint32(os.Getpid()) {
			return true
		}
		pid = parents[pid]
	}
	return false
}
