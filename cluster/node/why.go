package node

import (
	"math"

	"github.com/ingero-io/ingero/cluster/health"
	"github.com/ingero-io/ingero/event"
)

const (
	// recentShare is the weight of the last second in what is spent lately: about three seconds.
	recentShare = 0.35
	// baseShare is that in what is usually spent: about half a minute.
	baseShare = 1.0 / 30
	// causeFrom is which share of what a rank takes longer a class must explain to be its cause.
	causeFrom = 0.5
)

// Cause is where the time goes by which a rank is slower.
type Cause struct {
	// Class is how its dispatching threads spend it: a class of wait, event.OnCPU, or GPU.
	Class event.Class
	// PerStep is how much of it that is in a step, in seconds: more than the rank usually spends so, or all of
	// it if the rank was never faster. Explained is its share of what the rank takes longer, 1 at most.
	PerStep, Explained float64
	Second             event.Class // the next one; as Class if there is none
	// Clock is by which share the clock of the rank's GPU has fallen; Class means nothing then. 0: it has not.
	Clock float64
}

// GPU is the class of waits for the rank's own GPU: event has none, as they are known by the call.
const GPU = event.OnCPU + 1

// classes has seconds a step, of waits, on a CPU and for the own GPU.
type classes [GPU + 1]float64

// spent is where a rank's own work goes.
type spent struct {
	off          [event.NumClasses]uint64 // ns in the second in progress
	steps        int                      // that ended in it
	own, gpu     float64                  // seconds of own work in them, and of that, in waits for the own GPU
	recent, base classes
	seconds      int // in recent
}

// waited takes what threads of the rank waited for in the second in progress.
func (s *spent) waited(w *[event.NumClasses]uint64) {
	for c, ns := range w {
		s.off[c] += ns
	}
}

// second ends a second. usual says that the rank is as it should be.
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

// follow is a mean with a weight of the newest; of the first n it is the plain mean.
func (m *classes) follow(now *classes, weight float64, n int) {
	weight = max(weight, 1/float64(n+1))
	for c := range m {
		m[c] += weight * (now[c] - m[c])
	}
}

// cause is why a rank is slower by a verdict; nil if no class explains half of it.
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
	all[event.OnCPU], all[GPU] = 0, 0 // work that peers have, too
	return all.cause(excess)
}

// cause is the class with the most time, if that is half of the excess.
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
