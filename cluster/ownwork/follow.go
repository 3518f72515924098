package ownwork

import "math"

// follow learns how much of a change of own work becomes a change of the step: the slope of a line
// through the last steps. A rank that the others wait for makes the step longer by what its own work takes
// longer: 1. One whose host is ahead of its GPU, or that waits for others, only waits less: 0.
//
// Its steps are from the end of a wait to the end of the next step's: there all ranks are at one. Between
// two moments at which they are not, what a rank does later in one step it does sooner in the next.
type follow struct {
	last              uint64  // Unix ns: end of the last wait, 0 if not known
	waited            uint64  // ns since
	seen              int     // steps
	n                 float64 // steps that are averaged
	own, took         float64 // means
	square, both, all float64 // mean squares of what differs from them: own, own times took, took
}

const (
	// followSteps is over how many steps it is averaged, followLeast how many it needs. The first ones load
	// code, and are left out.
	followSteps, followLeast, followFirst = 128, 32, 16
	// followClip bounds by how much of its mean one step may differ: a stall is not how steps vary.
	followClip = 0.5
)

// step takes how long a step waited, ns, and when its last wait ended (Unix ns), 0 if it had none.
func (f *follow) step(waited, until uint64) {
	f.waited += waited
	if until == 0 {
		return
	}
	if took := until - f.last; f.last != 0 && took > f.waited {
		f.add(float64(took-f.waited)/1e9, float64(took)/1e9)
	}
	f.last, f.waited = until, 0
}

// add takes a step: own work, and all of it, in seconds.
func (f *follow) add(own, took float64) {
	if f.seen++; f.seen <= followFirst {
		return
	}
	f.n = min(f.n+1, followSteps)
	k := 1 / f.n
	clip := func(d, mean float64) float64 {
		if f.n < followLeast/8 {
			return d
		}
		return min(max(d, -followClip*mean), followClip*mean)
	}
	do, dt := clip(own-f.own, f.own), clip(took-f.took, f.took)
	f.own, f.took = f.own+k*do, f.took+k*dt
	f.square += k * (do*do*(1-k) - f.square)
	f.both += k * (do*dt*(1-k) - f.both)
	f.all += k * (dt*dt*(1-k) - f.all)
}

// slope is how much follows, and its standard error; false if too few steps are known, or own work does
// not vary.
func (f *follow) slope() (slope, err float64, ok bool) {
	if f.n < followLeast || f.square <= 1e-8*f.own*f.own {
		return 0, 0, false
	}
	slope = f.both / f.square
	rest := max(0, f.all-slope*f.both)
	return slope, math.Sqrt(rest / f.square / (f.n - 2)), true
}
