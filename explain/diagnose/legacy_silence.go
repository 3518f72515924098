package diagnose

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
)

// A recording by an earlier Ingero has no gaps between calls, but it may have what shows the longest one: the calls,
// the thread's time off the CPU, and the children that it forked. What ran in it was not recorded, so it is no finding;
// but nothing else in such a file may matter as much.

const (
	leastSilence = 1_000_000_000 // ns
	minRan       = 0.25          // share of a silence in which the thread ran, or else it may have waited for work
	maxRest      = 0.1           // share off its CPU, but for its child, up to which it did not compete for one
	childSlack   = 50_000_000    // ns from a fork to a wait for the child
)

// interval is a time in which a thread was off the CPU, Unix ns.
type interval struct {
	event.Thread
	from, to uint64
}

// silence is the time between two calls of a thread.
type silence struct {
	event.Thread
	from, to uint64       // Unix ns
	off      []interval   // in it, by start
	children []event.Life // forked in it, by time
}

func (s *silence) ns() uint64 { return s.to - s.from }

// offNS returns how long the thread was off its CPU, ns.
func (s *silence) offNS() (ns uint64) {
	for i := range s.off {
		ns += overlap(s.off[i].from, s.off[i].to, s.from, s.to)
	}
	return min(ns, s.ns())
}

// forChild returns the longest wait that begins just after a child was forked, and the child.
func (s *silence) forChild() (child uint32, ns uint64) {
	for i := range s.children {
		at := s.children[i].At
		for j := range s.off {
			o := &s.off[j]
			if o.from+childSlack >= at && o.from <= at+childSlack && o.to-o.from > max(ns, uint64(minStall)) {
				child, ns = s.children[i].PID, o.to-o.from
			}
		}
	}
	return child, ns
}

// longestSilence returns the longest time between two calls of a thread in which it was not only off its CPU, if that
// is known; false if there is none.
func (ev *evidence) longestSilence() (longest silence, ok bool) {
	last := map[event.Thread]uint64{}
	for _, c := range ev.callsInOrder() {
		from, known := last[c.Thread]
		last[c.Thread] = max(from, c.End())
		sw, seen := ev.in.Legacy.Switches[c.Thread]
		if !known || !seen || c.Start < from+max(leastSilence, longest.ns()) || from < sw.From || c.Start > sw.To {
			continue
		}
		s := ev.silence(c.Thread, from, c.Start)
		if float64(s.ns()-s.offNS()) >= minRan*float64(s.ns()) {
			longest, ok = s, true
		}
	}
	return longest, ok
}

// callsInOrder returns the outermost calls of all threads.
func (ev *evidence) callsInOrder() (list []event.CallTime) {
	for _, span := range ev.in.Spans {
		for _, c := range span {
			if c.Depth == 0 {
				list = append(list, c)
			}
		}
	}
	slices.SortFunc(list, func(a, b event.CallTime) int { return cmp.Compare(a.Start, b.Start) })
	return list
}

func (ev *evidence) silence(t event.Thread, from, to uint64) silence {
	s := silence{Thread: t, from: from, to: to}
	for _, o := range ev.in.between {
		if o.Thread == t && overlap(o.from, o.to, from, to) > 0 {
			s.off = append(s.off, o)
		}
	}
	for i := range ev.in.Lives {
		if l := &ev.in.Lives[i]; l.Kind == event.LifeFork && l.Parent.TID == t.TID && l.At >= from && l.At < to {
			s.children = append(s.children, *l)
		}
	}
	slices.SortFunc(s.off, func(a, b interval) int { return cmp.Compare(a.from, b.from) })
	slices.SortFunc(s.children, func(a, b event.Life) int { return cmp.Compare(a.At, b.At) })
	return s
}

// words describe a silence, and what it is not.
func (s *silence) words(ev *evidence) string {
	off := s.offNS()
	w := fmt.Sprintf("%s (tid %d) made no CUDA call for %s from %s on: it ran for about %s",
		cmp.Or(ev.procs.name(s.PID, ""), "a process"), s.TID, span(s.ns()), clockOf(s.from/1e9), span(s.ns()-off))
	child, forChild := s.forChild()
	if ns := forChild; ns > 0 {
		w += fmt.Sprintf(" and slept %s from when it forked a child (pid %d) on: own work and a wait for its child, as "+
			"when code is compiled at its first use", span(ns), child)
	}
	if rest := off - min(off, forChild); float64(rest) <= maxRest*float64(s.ns()) {
		w += fmt.Sprintf(". It left its CPU only %s, so that it did not compete for one",
			report.Plural(uint64(len(s.off)), "time"))
	}
	return w + "; what ran was not recorded"
}

// countedNote says what sums of switches without their times prove.
func (ev *evidence) countedNote() []string {
	if ev.in.Legacy == nil {
		return nil
	}
	c := ev.in.Legacy.Counted
	if c.NS < leastSilence {
		return nil
	}
	return []string{fmt.Sprintf("%s context switches of %s with %s off a CPU are counted, but not when they were, nor "+
		"whether a thread waited for something or for a CPU: they do not show what slowed the program",
		report.Count(c.Switches), report.Plural(uint64(c.Processes), "process"), span(c.NS))}
}
