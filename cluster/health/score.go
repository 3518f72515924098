package health

import (
	"math"
	"time"
)

// Score has the values that dashboards of earlier agents show. Each has a defined meaning here; none is used for a
// decision.
type Score struct {
	// Health is the peers' own work over the rank's, at most 1: a rank that takes 25 % longer has 0.8. Without peers it
	// is the rank's own past over its present.
	Health float64
	// Throughput is the rank's usual own work per step over its present own work, at most 1.
	Throughput float64
	// Compute is the share of a step in which the rank does not wait in collectives.
	Compute float64
	// Memory is the free share of the GPU's memory, CPU the idle share of the node's CPUs. NaN: not read.
	Memory, CPU float64
}

// SlowScore returns the Health of a rank that takes 10 % longer than its peers, as a straggler does.
func SlowScore() float64 { return math.Exp(-slower) }

// Score returns the score. The agent reads memory and cpu; NaN if they are not known.
func (r *Rank) Score(memory, cpu float64) Score {
	ratio := func(excess float64) float64 { return min(1, math.Exp(-excess)) }
	s := Score{Health: 1, Throughput: 1, Compute: 1, Memory: share(memory), CPU: share(cpu)}
	if r.self.calibrated() {
		s.Throughput = ratio(r.self.excess)
	}
	switch {
	case r.mode == ModeFleet && r.peers.calibrated():
		s.Health = ratio(r.peers.excess + r.peers.offset)
	case r.mode != ModeFleet:
		s.Health = s.Throughput
	}
	if t := r.own + r.wait; t > 0 {
		s.Compute = r.own / t
	}
	return s
}

func share(v float64) float64 {
	if v >= 0 && v <= 1 {
		return v
	}
	return math.NaN()
}

// Interval returns the usual time between two synchronisations.
func (r *Rank) Interval() time.Duration { return time.Duration(r.interval * float64(time.Second)) }
