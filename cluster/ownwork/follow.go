package ownwork

import "math"

// follow learns how much of a change of own work becomes a change of the step's length: the slope of a line through
// the last steps. If the others wait for a rank, its step gets longer by as much as its own work: 1. If a rank's host
// is ahead of its GPU, or it waits for others, it only waits less: 0.
//
// Its steps last from the end of a wait to the end of the next step's wait, since all ranks are level there. Between
// other moments, a rank makes up in the next step for being late in one.
type follow struct {
	last              uint64  // Unix ns: end of the last wait, 0 if not known
	waited            uint64  // ns since
	seen              int     // number of steps in the averages
	n                 float64 // steps that are averaged
	own, took         float64 // means
	square, both, all float64 // mean squares of deviations: own, own times took, took
}

const (
	// followSteps is the number of steps in the averages, followLeast the fewest for a slope. The first followFirst
	// steps load code, and are ignored.
	followSteps, followLeast, followFirst = 128, 32, 16
	// followClip bounds how much one step may differ, as a share of the mean: a stall is not normal variation.
	followClip = 0.5
)

// step takes in how long a step waited, ns, and when its last wait ended (Unix ns), 0 if it had none.
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

// add takes in a step: its own work and its length, in seconds.
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

// slope returns the slope and its standard error. It returns false if there are too few steps, or own work does not
// vary.
func (f *follow) slope() (slope, err float64, ok bool) {
	if f.n < followLeast || f.square <= 1e-8*f.own*f.own {
		return 0, 0, false
	}
	slope = f.both / f.square
	rest := max(0, f.all-slope*f.both)
	return slope, math.Sqrt(rest / f.square / (f.n - 2)), true
}
