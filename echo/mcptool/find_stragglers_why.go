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

// explain sets why it is late, by what its node's tracer reported.
func (one *straggler) explain(findings []question.Finding, sent *lateOnes) {
	if one.Collectives != nil && sent != nil {
		one.Collectives.Before = sent.longest()
	}
	best, match := bestFinding(findings, one.rank, sent)
	switch {
	case best == nil:
		one.Why.Finding = prose(saysLate(findings, one.rank, sent))
	case one.Why.Kind == "" || string(one.Why.Kind) == best.Cause:
		one.Why = why{
			Kind: name(best.Cause), Culprit: name(best.Process), ExplainedPct: rounded(best.ExplainedPct, 1),
			By: "finding of the node's agent", Finding: prose(best.Summary),
		}
		if match == ofNode {
			one.Why.By += ", which does not say of which rank"
		}
	default:
		one.Why.Finding = prose(best.Summary)
	}
	switch {
	case one.Why.Kind == "":
		one.Why.NotKnown = "its node told of no cause in this window"
	case one.Why.ExplainedPct == nil || *one.Why.ExplainedPct < enough:
		one.Why.NotKnown = fmt.Sprintf("less than %d %% is explained: there may be another cause", enough)
	}
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

// How sure it is that a finding is about a rank, the surest last: it is about some process of its node, it has the
// rank's number, it is about the rank's process, or the rank's late collectives have its id.
const (
	ofNode = iota
	ofRank
	ofProcess
	ofCollectives
)

// lateRank is the cause of findings that name who is late, which is no reason for being late.
const lateRank = "collective_straggler"

// bestFinding returns the finding that is most surely about a rank, of those the most costly one; nil: there is none.
func bestFinding(findings []question.Finding, of arrival.Rank, sent *lateOnes) (best *question.Finding, match int) {
	for i := range findings {
		f := &findings[i]
		if f.Cluster != of.Cluster || f.Node != of.Node || f.Cause == "" || f.Cause == lateRank ||
			f.Rank != nil && *f.Rank != of.Rank {
			continue
		}
		this := ofNode
		switch {
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

// saysLate returns what a finding of a process that waited says of the rank.
func saysLate(findings []question.Finding, of arrival.Rank, sent *lateOnes) string {
	for i := range findings {
		f := &findings[i]
		if f.Cluster == of.Cluster && f.Node == of.Node && f.Cause == lateRank && sent != nil && sent.pids[f.CausePID] {
			return f.Summary
		}
	}
	return ""
}
