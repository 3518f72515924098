package diagnose

import (
	"cmp"
	"slices"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/stats"
)

// While the GPU has work queued, a thread of the program that has to wait for a CPU delays
// nothing: the program waits for the GPU at the end of its step for that much less. A
// training loop that keeps its GPU busy loses nothing when its threads get in each other's
// way now and then.

// queuedSpell is the time between two long waits of a process for the GPU.
type queuedSpell struct {
	from  uint64 // Unix ns from which work is queued
	to    uint64 // of the wait's start
	spare uint64 // ns of that wait that no delay has taken yet
}

// usualLead is the quantile of the times from a wait's end to the first launch after it
// that says from when on work is queued.
const usualLead = 0.9

// longCall is a long wait for the GPU, Unix ns.
type longCall struct{ start, end uint64 }

// readQueued finds the spells of each process, by time. Unusual calls are known one by one,
// of the others those in the spans are. Where waits may be missing, a spell begins no sooner
// before its wait than is usual.
func (s *scene) readQueued() {
	waits := map[uint32][]longCall{}
	add := func(pid uint32, o event.Op, depth uint8, start, end uint64) {
		if o.Role() == event.RoleSync && depth == 0 && end-start >= longWait {
			waits[pid] = append(waits[pid], longCall{start, end})
		}
	}
	for i := range s.in.Calls {
		c := &s.in.Calls[i]
		add(c.PID, c.Op, c.Depth, c.Start, c.End())
	}
	for _, span := range s.in.Spans {
		for i := range span {
			c := &span[i]
			add(c.PID, c.Op, c.Depth, c.Start, c.End())
		}
	}
	steps := s.queuedSteps()
	for pid, list := range waits {
		if len(steps[pid].lead) == 0 {
			continue // nothing says when work is queued
		}
		lead, length := stats.Percentile(steps[pid].lead, usualLead), stats.Median(steps[pid].length)
		slices.SortFunc(list, func(a, b longCall) int {
			return cmp.Or(cmp.Compare(a.end, b.end), cmp.Compare(a.start, b.start))
		})
		list = slices.Compact(list) // many are known by both
		for i := 1; i < len(list); i++ {
			wait := list[i]
			from := max(list[i-1].end, wait.start-min(wait.start, length)) + lead
			if from < wait.start {
				s.queued[pid] = append(s.queued[pid], queuedSpell{from, wait.start, wait.end - wait.start})
			}
		}
	}
}

// queuedSteps are what the spans show of the times between long waits, ns: from a wait's end
// to the next launch, and to the next long wait.
type queuedSteps struct{ lead, length []uint64 }

func (s *scene) queuedSteps() map[uint32]queuedSteps {
	steps := map[uint32]queuedSteps{}
	for _, span := range s.in.Spans {
		for pid, calls := range outermostByProcess(span) {
			var ended, launched uint64 // the last long wait, the first launch since then
			for i := range calls {
				c := &calls[i]
				switch c.Op.Role() {
				case event.RoleSync:
					if c.Duration < longWait {
						continue
					}
					if launched != 0 && c.Start >= launched {
						q := steps[pid]
						steps[pid] = queuedSteps{append(q.lead, launched-ended), append(q.length, c.Start-ended)}
					}
					ended, launched = c.End(), 0
				case event.RoleLaunch, event.RoleCollective:
					if ended != 0 && launched == 0 && c.Start >= ended {
						launched = c.Start
					}
				}
			}
		}
	}
	return steps
}

// hidden takes from a delay of a process's thread, in ns, what cost nothing, and returns
// that: the delay ended at a time when work was queued, and the wait at the end of the spell
// was at least as long as all delays in it.
func (s *scene) hidden(pid uint32, ended, ns uint64) uint64 {
	spells := s.queued[pid]
	n, _ := slices.BinarySearchFunc(spells, ended, func(v queuedSpell, at uint64) int { return cmp.Compare(v.to, at) })
	if n == len(spells) || ended < spells[n].from+ns || spells[n].spare < ns {
		return 0
	}
	spells[n].spare -= ns
	s.delays[pid] += ns
	return ns
}
