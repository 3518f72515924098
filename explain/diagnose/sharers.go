package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
)

// sharer is one of several threads that a finding is about, and the time lost to it.
type sharer struct {
	event.Thread
	comm            string
	lost, explained uint64 // ns
}

// process names the thread's process. A process has the name of its main thread; what that was called when it ran is
// right also if its id was another process's before or after, whose end nobody reported.
func (s *sharer) process(ps *processes) string {
	if s.TID == s.PID && s.comm != "" {
		return printable(s.comm)
	}
	return ps.name(s.PID, s.comm)
}

// sharers are the threads that a finding is about. There are none if it is about one only.
type sharers []sharer

// sort puts the one with most time first.
func (ss sharers) sort() {
	slices.SortFunc(ss, func(a, b sharer) int {
		return cmp.Or(cmp.Compare(b.lost, a.lost), cmp.Compare(a.PID, b.PID), cmp.Compare(a.TID, b.TID))
	})
}

// several reports whether there is more than one thread.
func (ss sharers) several() bool { return len(ss) > 1 }

// was returns the verb for the threads; for the only one, if there are none.
func (ss sharers) was() string {
	if ss.several() {
		return "were"
	}
	return "was"
}

// names names the threads for a thread of the process waiter.
func (ss sharers) names(ps *processes, waiter uint32) string {
	names := []string{}
	count := map[string]int{}
	for _, p := range ss {
		n := p.process(ps)
		if p.PID == waiter {
			n = cmp.Or(printable(p.comm), itoa(p.TID))
		}
		if count[n]++; count[n] == 1 {
			names = append(names, n)
		}
	}
	whose := "threads of other processes"
	switch {
	case ss[0].PID == waiter:
		whose = "threads of its own"
	case ps.feeds(ss[0].PID, waiter):
		whose = "workers"
	}
	if whose == "workers" || len(names) > maxNamed {
		whose = fmt.Sprintf("%d %s", len(ss), whose)
	}
	if len(names) > maxNamed {
		names = append(names[:maxNamed], "…")
	}
	return fmt.Sprintf("%s (%s)", whose, strings.Join(names, ", "))
}

// maxNamed is the largest number of thread names in a sentence.
const maxNamed = 4

// maxParts is how many of the threads that a finding is about are steps of its path.
const maxParts = 3

// steps returns the parallel ends of the path: what each of the root threads did.
func (ss sharers) steps(ps *processes, state, on string) []report.Step {
	var steps []report.Step
	for i, p := range ss[:min(len(ss), maxParts)] {
		steps = append(steps, report.Step{
			Layer: "HOST", Process: p.process(ps), PID: p.PID, TID: p.TID, Thread: printable(p.comm),
			State: state, On: on, NS: p.explained, Beside: i > 0,
		})
	}
	return steps
}

// culprits returns the threads with their shares of the lost time, ns.
func (ss sharers) culprits(ps *processes, lost uint64) (list []report.Culprit) {
	for _, p := range ss[:min(len(ss), maxRunners)] {
		list = append(list, report.Culprit{
			Process: p.process(ps), PID: p.PID, TID: p.TID, Thread: printable(p.comm), NS: p.lost,
			Pct: round(percent(p.lost, lost)),
		})
	}
	return list
}
