package mcptool

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/ingero-io/ingero/echo/arrival"
	"github.com/ingero-io/ingero/echo/outlier"
	"github.com/ingero-io/ingero/echo/question"
)

// explain looks up why each straggler is late, and its node's address.
func (s *Tools) explain(ctx context.Context, sc question.Scope, list []straggler) error {
	if len(list) == 0 {
		return nil
	}
	findings, _, err := s.ask.FindingsByPID(ctx, sc)
	if err != nil {
		return err
	}
	sent, err := s.sent(ctx, sc, list)
	if err != nil {
		return err
	}
	addresses, err := s.addresses(ctx, sc)
	if err != nil {
		return err
	}
	for i := range list {
		one := &list[i]
		one.Address = addresses[nodeKey{one.rank.Cluster, one.rank.Node}]
		one.explain(findings, sent[one.rank])
	}
	return nil
}

// explain sets why it is late, by what its node's tracer sent.
func (s *straggler) explain(findings []question.Finding, sent *lateOnes) {
	kind, kindPct := s.before(sent)
	best, match := s.bestFinding(findings, sent, kind)
	switch {
	case match == ofLateness:
		s.Why = why{
			Kind: name(kind), ExplainedPct: rounded(best.ExplainedPct, 1), By: "finding of the node's agent",
			Finding: prose(best.Summary),
		}
		if !sent.pids[best.RootPID] {
			s.Why.Culprit = name(best.Root)
		}
	case best != nil && (s.Why.Kind == "" || string(s.Why.Kind) == best.Cause):
		s.Why = why{
			Kind: name(best.Cause), Culprit: name(best.Process), ExplainedPct: rounded(best.ExplainedPct, 1),
			By: "finding of the node's agent", Finding: prose(best.Summary),
		}
		if match == ofNode {
			s.Why.By += ", which does not say of which rank"
		}
	case best != nil:
		s.Why.Finding = prose(best.Summary)
	case s.Why.Kind == "" && kind != "":
		s.Why = why{Kind: name(kind), ExplainedPct: &kindPct, By: "what its agent sent with its late collectives"}
	}
	switch {
	case s.Why.Kind == "":
		s.Why.NotKnown = "its node told of no cause in this window"
	case s.Why.ExplainedPct == nil || *s.Why.ExplainedPct < enough:
		s.Why.NotKnown = fmt.Sprintf("less than %d %% is explained: there may be another cause", enough)
	}
}

// kinds are the kinds of causes by classes of waiting, as agents name them. Those of other classes have the class's
// name.
var kinds = map[string]string{
	"runq": "cpu_contention", "throttled": "cpu_throttled", "futex": "lock_contention", "fault": "page_fault",
	"network": "network_wait", "pipe": "peer_wait",
}

// before notes what the rank waited for before it was late. If one class has half of the lateness or more, it returns
// the kind of cause, and how much of the lateness that is, in percent.
func (s *straggler) before(sent *lateOnes) (kind string, pct float64) {
	if s.Collectives == nil || sent == nil {
		return "", 0
	}
	s.Collectives.Before = sent.longest()
	for class, ms := range s.Collectives.Before {
		if p := 100 * min(1, ms/s.Collectives.LateMS); p >= 50 && p > pct {
			kind, pct = cmp.Or(kinds[class], class), round(p, 1)
		}
	}
	return kind, pct
}

// lateOnes are the late collectives of a rank, as its tracer sent them.
type lateOnes struct {
	pids     map[int64]bool
	findings map[string]bool
	before   map[string][]float64
}

// sent reads those of the ranks in a list.
func (s *Tools) sent(ctx context.Context, sc question.Scope, list []straggler) (map[arrival.Rank]*lateOnes, error) {
	nodes := map[string]bool{}
	for i := range list {
		nodes[list[i].rank.Node] = true
	}
	read, err := s.ask.Late(ctx, sc, slices.Sorted(maps.Keys(nodes)))
	if err != nil {
		return nil, err
	}
	all := map[arrival.Rank]*lateOnes{}
	for i := range read {
		x := &read[i]
		rank := arrival.Rank{Cluster: x.Cluster, Node: x.Node, Rank: x.Rank}
		one := all[rank]
		if one == nil {
			one = &lateOnes{pids: map[int64]bool{}, findings: map[string]bool{}, before: map[string][]float64{}}
			all[rank] = one
		}
		if x.PID != 0 {
			one.pids[x.PID] = true
		}
		for _, id := range x.Findings {
			one.findings[id] = true
		}
		for class, ms := range x.Before {
			one.before[class] = append(one.before[class], ms)
		}
	}
	return all, nil
}

// maxBefore is how many classes of waiting are named, leastBefore what each has at least, in milliseconds.
const maxBefore, leastBefore = 3, 1

// longest returns the medians of the classes that took longest.
func (l *lateOnes) longest() map[string]float64 {
	medians := map[string]float64{}
	for class, list := range l.before {
		if m := outlier.Median(list); m >= leastBefore {
			medians[class] = round(m, 1)
		}
	}
	for _, class := range slices.SortedFunc(maps.Keys(medians), func(a, b string) int {
		return cmp.Or(cmp.Compare(medians[b], medians[a]), cmp.Compare(a, b))
	})[min(maxBefore, len(medians)):] {
		delete(medians, class)
	}
	return medians
}

// How sure it is that a finding says why a rank is late, the surest last: it is about some process of its node, it has
// the rank's number, it is about the rank's process, the rank's late collectives have its id, or it is about a process
// that waited for the rank.
const (
	ofNode = iota
	ofRank
	ofProcess
	ofCollectives
	ofLateness
)

// lateRank is the cause of findings of processes that waited for a late rank. Why that was late is their root.
const lateRank = "collective_straggler"

// bestFinding returns the finding that most surely says why the rank is late, of those the most costly one; nil: there
// is none. What costs its process less than half of what its lateness costs is not why. kind is of what it waited for
// before.
func (s *straggler) bestFinding(findings []question.Finding, sent *lateOnes, kind string) (best *question.Finding,
	match int,
) {
	for i := range findings {
		f := &findings[i]
		if f.Cluster != s.rank.Cluster || f.Node != s.rank.Node || f.Cause == "" ||
			f.Rank != nil && *f.Rank != s.rank.Rank {
			continue
		}
		this := ofNode
		switch {
		case f.Cause == lateRank:
			if kind == "" || sent == nil || !sent.pids[f.CausePID] {
				continue
			}
			this = ofLateness
		case f.LostPct != nil && *f.LostPct < 50*s.lost:
			continue
		case sent != nil && sent.findings[f.ID]:
			this = ofCollectives
		case sent != nil && sent.pids[f.EffectPID]:
			this = ofProcess
		case sent != nil && len(sent.pids) > 0 && f.EffectPID != 0: // another process's
			continue
		case f.Rank != nil:
			this = ofRank
		}
		if best == nil || cmp.Or(cmp.Compare(this, match), cmp.Compare(value(f.LostPct), value(best.LostPct))) > 0 {
			best, match = f, this
		}
	}
	return best, match
}
