package node

import (
	"math"

	"github.com/ingero-io/ingero/cluster/health"
	"github.com/ingero-io/ingero/event"
)

const (
	// recentShare is the weight of the last second in the recent spending: about three seconds count.
	recentShare = 0.35
	// baseShare is its weight in the usual spending: about half a minute counts.
	baseShare = 1.0 / 30
	// causeFrom is the share of the excess that a class must explain to be its cause.
	causeFrom = 0.5
)

// Cause is where a slow rank spends its extra time.
type Cause struct {
	// Class is how its dispatching threads spend the time: a class of wait, event.OnCPU, or GPU.
	Class event.Class
	// PerStep is that time per step in seconds: beyond what the rank usually spends so, or all of it if the rank was
	// never faster. Explained is its share of the rank's excess, at most 1.
	PerStep, Explained float64
	Second             event.Class // the class with the next most time; Class if there is none
	// Clock is the share by which the clock of the rank's GPU has fallen; Class means nothing then. 0: it has not.
	Clock float64
}

// GPU is the class of waits for the rank's own GPU. Package event has no such class: these waits are known by the
// call.
const GPU = event.OnCPU + 1

// classes has seconds per step: of waits, on a CPU, and for the own GPU.
type classes [GPU + 1]float64

// spent is how a rank spends its own work.
type spent struct {
	off          [event.NumClasses]uint64 // ns in the second in progress
	steps        int                      // steps that ended in it
	own, gpu     float64                  // seconds of own work in them, and its part in waits for the own GPU
	recent, base classes
	seconds      int // seconds counted in recent
}

// waited adds what the rank's threads waited for in the second in progress.
func (s *spent) waited(w *[event.NumClasses]uint64) {
	for c, ns := range w {
		s.off[c] += ns
	}
}

// second ends a second. usual: the rank was not slow in it.
func (s *spent) second(usual bool) {
	if s.steps > 0 {
		var now classes
		now[GPU] = s.gpu / float64(s.steps)
		now[event.OnCPU] = s.own/float64(s.steps) - now[GPU]
		for c, ns := range s.off {
			now[c] = float64(ns) / 1e9 / float64(s.steps)
			now[event.OnCPU] -= now[c]
		}
		now[event.OnCPU] = max(0, now[event.OnCPU])
		s.recent.follow(&now, recentShare, s.seconds)
		if usual || s.seconds == 0 {
			s.base.follow(&now, baseShare, s.seconds)
		}
		s.seconds++
	}
	s.off, s.steps, s.own, s.gpu = [event.NumClasses]uint64{}, 0, 0, 0
}

// follow updates a mean: the newest value has the weight, but at first it is the plain mean.
func (m *classes) follow(now *classes, weight float64, n int) {
	weight = max(weight, 1/float64(n+1))
	for c := range m {
		m[c] += weight * (now[c] - m[c])
	}
}

// cause returns the cause of a verdict that the rank is slow; nil if no class explains half of the excess.
func (r *rank) cause(v *health.Verdict) *Cause {
	excess := v.Own - v.Peer
	if v.Resolved || !(excess > 0) || math.IsInf(excess, 0) {
		return nil
	}
	if fallen := r.fallen(); fallen >= lowerClock {
		return &Cause{Clock: fallen, PerStep: excess, Explained: 1}
	}
	var grown classes
	for c := range grown {
		grown[c] = r.spent.recent[c] - r.spent.base[c]
	}
	if c := grown.cause(excess); c != nil {
		return c
	}
	all := r.spent.recent
	all[event.OnCPU], all[GPU] = 0, 0 // work that peers have too
	return all.cause(excess)
}

// cause returns the class with the most time, nil if that is less than half of the excess.
func (m *classes) cause(excess float64) *Cause {
	first := event.Class(0)
	for c := range event.Class(len(m)) {
		if m[c] > m[first] {
			first = c
		}
	}
	if m[first] < causeFrom*excess {
		return nil
	}
	second := first
	for c := range event.Class(len(m)) {
		if c != first && m[c] > 0.1*excess && (second == first || m[c] > m[second]) {
			second = c
		}
	}
	return &Cause{Class: first, PerStep: m[first], Explained: min(1, m[first]/excess), Second: second}
}
