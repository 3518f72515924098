package node

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/ingero-io/ingero/cluster/health"
	"github.com/ingero-io/ingero/cluster/ownwork"
)

// RankStatus is the state of a process that is, or may be, a rank.
type RankStatus struct {
	PID    uint32
	Rank   int32 // health.NoRank: not known
	Ranks  int32
	Cohort uint64 // 0: none
	State  health.State
	Mode   health.Mode
	// Own and Wait are seconds of own work and in collectives per step. Peer is the median of the others' own work, 0:
	// not known.
	Own, Wait, Peer float64
	// G is the evidence that the rank is slow, from 0; H is the evidence that makes it a straggler.
	G, H float64
	// Step is the usual length of a step, 0: not known.
	Step     time.Duration
	Measured health.Measured
	Reason   ownwork.Reason // why nothing is measured, or a note on the measurement
	Skipped  uint64         // steps that were left out because records were dropped
	Exited   bool
	// Spare: its host has time to spare, so nobody waits for its own work.
	Spare bool
	Slow  *Said // nil: it is not slow
}

// Unmeasured says why the process is not compared with peers; empty if it is, or if that is not known yet.
func (s *RankStatus) Unmeasured() string {
	switch s.Reason {
	case ownwork.Measured, ownwork.NeverWaits, ownwork.Dropped, ownwork.Learning:
		return ""
	}
	return s.Reason.String()
}

// Status returns the state of ranks, by process number. Processes in pids that are not ranks are added with the
// reason.
func (n *Node) Status(pids []uint32) []RankStatus {
	var list []RankStatus
	for pid, r := range n.ranks {
		s := RankStatus{
			PID: pid, Rank: r.source.Rank, Ranks: r.source.Ranks, State: r.judge.State(), Mode: r.judge.Mode(),
			Own: float64(r.pushed.Own), Wait: float64(r.pushed.Wait), Step: r.judge.Interval(), Measured: r.pushed.Measured,
			Reason: r.reason, Skipped: r.skipped, Exited: r.ended > 0, Spare: r.idle,
		}
		s.G, s.H = r.judge.Evidence()
		for id, c := range n.cohorts {
			if slices.Contains(c.ranks, r) {
				s.Cohort = id
			}
		}
		if e := r.judge.Echo(); e.N > 0 {
			s.Peer = math.Exp(float64(e.Mid))
		}
		if r.reported != nil {
			said := *r.reported
			s.Slow = &said
		}
		list = append(list, s)
	}
	for _, pid := range pids {
		if n.ranks[pid] == nil {
			reason, known := n.others[pid]
			if !known {
				reason = ownwork.NoCollective
			}
			list = append(list, RankStatus{PID: pid, Rank: health.NoRank, Reason: reason})
		}
	}
	slices.SortFunc(list, func(a, b RankStatus) int { return cmp.Compare(a.PID, b.PID) })
	return list
}
