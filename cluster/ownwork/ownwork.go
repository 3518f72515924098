// Package ownwork measures the own work of ranks: how long each took for a step without its waits in collectives. It
// uses the calls of NCCL and CUDA that a tracer records. Package health compares the steps.
//
// It only sees the host. communicator.go decides which communicator steps are counted by, pattern.go what a step is,
// and wait.go what counts as a wait. If own work cannot be measured, it says why. docs/fleet-design.md has the
// consequences for users.
//
// The package has no clock, no I/O and no goroutines.
package ownwork

import (
	"slices"
	"time"

	"github.com/ingero-io/ingero/cluster/health"
	"github.com/ingero-io/ingero/event"
)

// Source identifies how steps are counted. Steps of different sources cannot be compared. If the source of a process
// changes, what was learned of it applies to another rank.
type Source struct {
	PID uint32
	// Comm identifies the communicator: event.Collective.CommID.
	Comm  uint64
	Rank  int32  // in the communicator; -1: not known
	Ranks int32  // size of the communicator; 0: not known
	Every uint32 // collectives of the communicator per step
}

// Key returns a number that is the same for all ranks whose steps can be compared. It is not 0.
func (s *Source) Key() uint64 {
	h := (s.Comm ^ uint64(s.Every)*0x9e3779b97f4a7c15) * 1099511628211
	return max(h^h>>32, 1)
}

// Step is a step of a rank. Seq counts steps since the communicator was made, so it is the same for all ranks. Times
// are since the Unix epoch. Work is the number of launches, graphs and copies. Measured is health.MeasuredHost.
type Step struct {
	Source
	health.Step
	// GPU is the part of Own in which a dispatching thread waited for the rank's own GPU: in synchronisations that came
	// after no collective.
	GPU time.Duration
}

// Tracker follows any number of processes. Calls need not be stored one by one: the weight of a call counts.
type Tracker struct {
	procs map[uint32]*process
	// recent caches processes with recent calls, by pid: the calls of several ranks come interleaved.
	recent [64]*process
	drops  []span // intervals in which records were dropped, oldest first
	heard  uint64 // Unix ns of the last Losses
	find   finder
}

// NewTracker makes a Tracker.
func NewTracker() *Tracker { return &Tracker{procs: map[uint32]*process{}} }

// Calls takes in calls, in the order in which they returned.
func (t *Tracker) Calls(calls []event.Call) {
	first := 0
	for len(t.procs) == 0 && first < len(calls) && calls[first].Op.Source() != event.SourceNCCL { // as in most programs
		first++
	}
	calls = calls[first:]
	for i := range calls {
		c := &calls[i]
		p := t.recent[c.PID%uint32(len(t.recent))]
		if p == nil || p.pid != c.PID {
			if p = t.procs[c.PID]; p == nil {
				if c.Op.Source() != event.SourceNCCL {
					continue // it has no collectives so far
				}
				p = newProcess(c.PID)
				t.procs[c.PID] = p
			}
			t.recent[c.PID%uint32(len(t.recent))] = p
		}
		p.call(c, kinds[c.Op.Slot()])
	}
}

// Collectives takes in finished collectives (collective.Tracker.Take). Pass their calls first, and the
// synchronisations that they were matched with.
func (t *Tracker) Collectives(list []event.Collective) {
	for i := range list {
		if p := t.procs[list[i].PID]; p != nil {
			p.collective(&list[i])
		}
	}
}

// Lives forgets processes that execute a new program.
func (t *Tracker) Lives(lives []event.Life) {
	for i := range lives {
		if lives[i].Kind == event.LifeExec {
			t.forget(lives[i].PID)
		}
	}
}

// Ended forgets threads, and processes whose main thread has ended. Call it after Take, when no more of their calls
// can come.
func (t *Tracker) Ended(ends []event.Life) {
	for i := range ends {
		l := &ends[i]
		if l.PID == l.TID {
			t.forget(l.PID)
		} else if p := t.procs[l.PID]; p != nil {
			delete(p.threads, l.TID)
			p.thread = nil
		}
	}
}

// Processes appends the processes that it follows: those that have called NCCL.
func (t *Tracker) Processes(list []uint32) []uint32 {
	for pid := range t.procs {
		list = append(list, pid)
	}
	return list
}

func (t *Tracker) forget(pid uint32) {
	delete(t.procs, pid)
	t.recent[pid%uint32(len(t.recent))] = nil
}

// losing marks the losses that mean missing calls, of an unknown process.
var losing = [event.NumLossKinds]bool{
	event.LostCall: true, event.LostNested: true, event.LostThread: true, event.LostMalformed: true,
	event.LostLate: true, event.LostComm: true,
}

// Losses takes in what was dropped between the last call of Losses and at (Unix ns). Call it before Take, also if
// nothing was dropped. Steps that overlap that time are left out.
func (t *Tracker) Losses(at uint64, list []event.Loss) {
	from := t.heard
	t.heard = at
	for _, l := range list {
		if l.Kind < event.NumLossKinds && losing[l.Kind] && l.Count > 0 {
			t.drops = append(t.drops, span{from, at})
			break
		}
	}
	for len(t.drops) > 0 && t.drops[0].to+uint64(dropsKept) < at || len(t.drops) > maxDrops {
		t.drops = slices.Delete(t.drops, 0, 1)
	}
}

// Clock takes in a reading of the clock of the process's GPU, as a share of its maximum.
func (t *Tracker) Clock(pid uint32, at uint64, share float64) {
	if p := t.procs[pid]; p != nil && share > 0 && share <= 1 {
		p.clock(at, share)
	}
}

// Take appends the steps that ended since the last Take, those of a process in order. Call it about once a second,
// after Collectives, with the time up to which records have been passed (Unix ns).
func (t *Tracker) Take(at uint64, list []Step) []Step {
	for _, p := range t.procs {
		list = p.takeSteps(t, at, list)
	}
	return list
}

// Limits.
const (
	maxComms   = 16 // communicators of a process
	maxThreads = 64 // dispatching threads of a process
	maxWaits   = 1 << 16
	maxClocks  = 64
	maxDrops   = 128
	dropsKept  = 2 * time.Minute
	// silentAfter is the time without a collective after which a rank makes no steps. Validation and checkpoints take
	// less, or are not training.
	silentAfter = 30 * time.Second
	// clockFor is how far from a step a reading of the clock may be: readings come once a second.
	clockFor = 1500 * time.Millisecond
)

// span is an interval, Unix ns.
type span struct{ from, to uint64 }

// overlap returns how much of the span is between from and to, ns.
func (s span) overlap(from, to uint64) uint64 {
	from, to = max(s.from, from), min(s.to, to)
	return to - min(from, to)
}
