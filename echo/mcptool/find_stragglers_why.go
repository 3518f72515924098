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
	"github.com/ingero-io/ingero/event"
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
		one.explain(findings, sent[one.process()])
	}
	return nil
}

// explain sets why it is late, by what its node's tracer sent.
func (s *straggler) explain(findings []question.Finding, sent *lateCollectives) {
	kind, kindPct := s.before(sent)
	best, match := s.bestFinding(findings, sent, kind)
	switch {
	case best == nil && s.Why.Kind == "" && kind != "":
		s.Why = why{Kind: name(kind), ExplainedPct: &kindPct, By: "what its agent sent with its late collectives"}
	case best == nil:
		s.Why.Finding = prose(saysLate(findings, s.rank, sent))
	case match == ofLateness:
		s.Why = why{
			Kind: name(kind), ExplainedPct: rounded(best.ExplainedPct, 1), By: "finding of the node's agent",
			Finding: prose(best.Summary),
		}
		if kind == event.CauseCPUContention && !sent.pids[best.RootPID] { // what ended the chain had the CPU
			s.Why.Culprit = name(best.Root)
		}
	case s.Why.Kind == "" || string(s.Why.Kind) == best.Cause:
		s.Why = why{
			Kind: name(best.Cause), Culprit: name(best.Process), ExplainedPct: rounded(best.ExplainedPct, 1),
			By: "finding of the node's agent", Finding: prose(best.Summary),
		}
		if match == ofNode {
			s.Why.By += ", which does not say of which rank"
		}
	default:
		s.Why.Finding = prose(best.Summary)
	}
	switch {
	case s.Why.Kind == "":
		s.Why.NotKnown = "its node reported no cause in this window"
	case s.Why.ExplainedPct == nil || *s.Why.ExplainedPct < enough:
		s.Why.NotKnown = fmt.Sprintf("less than %d %% is explained: there may be another cause", enough)
	}
}

// amiss are the classes of waiting that a rank does not have if nothing is wrong. It also waits for its GPU, for locks,
// and for other programs if all is well, and how long that usually takes is not known here.
var amiss = []event.Class{event.RunQueue, event.Throttled, event.BlockIO, event.Fault}

// before notes what the rank waited for before it was late. If the class of most of it has half of the lateness or
// more, it returns the kind of cause, and how much of the lateness that is, in percent.
func (s *straggler) before(sent *lateCollectives) (kind string, pct float64) {
	if s.Collectives == nil || sent == nil {
		return "", 0
	}
	s.Collectives.Before = sent.longest()
	for _, class := range byLength(s.Collectives.Before) {
		pct = round(100*min(1, s.Collectives.Before[class]/s.Collectives.LateMS), 1)
		if pct < 50 {
			break
		}
		if c, ok := event.ClassByName(class); ok && slices.Contains(amiss, c) {
			return c.Cause(), pct
		}
	}
	return "", 0
}

// byLength returns classes of waiting, that of the longest time first.
func byLength(ms map[string]float64) []string {
	return slices.SortedFunc(maps.Keys(ms), func(a, b string) int {
		return cmp.Or(cmp.Compare(ms[b], ms[a]), cmp.Compare(a, b))
	})
}

// lateCollectives are those of a rank, as its tracer sent them.
type lateCollectives struct {
	n        int
	pids     map[int64]bool
	findings map[string]bool
	before   map[string][]float64
}

// sent reads those of the ranks in a list, by process, and with PID 0 those of all of a rank's processes.
func (s *Tools) sent(ctx context.Context, sc question.Scope, list []straggler) (map[arrival.Process]*lateCollectives,
	error,
) {
	nodes := map[string]bool{}
	for i := range list {
		nodes[list[i].rank.Node] = true
	}
	read, err := s.ask.Late(ctx, sc, slices.Sorted(maps.Keys(nodes)))
	if err != nil {
		return nil, err
	}
	all := map[arrival.Process]*lateCollectives{}
	add := func(p arrival.Process, x *question.Late) {
		if all[p] == nil {
			all[p] = &lateCollectives{pids: map[int64]bool{}, findings: map[string]bool{}, before: map[string][]float64{}}
		}
		all[p].addLate(x)
	}
	for i := range read {
		x := &read[i]
		p := arrival.Process{Rank: arrival.Rank{Cluster: x.Cluster, Node: x.Node, Rank: x.Rank}}
		if add(p, x); x.PID != 0 {
			p.PID = x.PID
			add(p, x)
		}
	}
	return all, nil
}

func (l *lateCollectives) addLate(x *question.Late) {
	l.n++
	if x.PID != 0 {
		l.pids[x.PID] = true
	}
	for _, id := range x.Findings {
		l.findings[id] = true
	}
	for class, ms := range x.Before {
		l.before[class] = append(l.before[class], ms)
	}
}

// maxBefore is how many classes of waiting are named, leastBefore what each has at least, in milliseconds.
const maxBefore, leastBefore = 3, 1

// longest returns the medians of the classes that took longest. What a tracer did not send was 0.
func (l *lateCollectives) longest() map[string]float64 {
	medians := map[string]float64{}
	for class, list := range l.before {
		all := append(slices.Clone(list), make([]float64, l.n-len(list))...)
		if m := outlier.Median(all); m >= leastBefore {
			medians[class] = round(m, 1)
		}
	}
	for _, class := range byLength(medians)[min(maxBefore, len(medians)):] {
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
const lateRank = event.CauseCollectiveWait

// bestFinding returns the finding that most surely says why the rank is late, of those the most costly one; nil: there
// is none. What costs its process less than half of what its lateness costs is not why. kind is of what it waited for
// before.
func (s *straggler) bestFinding(findings []question.Finding, sent *lateCollectives, kind string) (
	best *question.Finding, match int,
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

// saysLate returns the finding of a process that waited for the rank.
func saysLate(findings []question.Finding, of arrival.Rank, sent *lateCollectives) string {
	for i := range findings {
		f := &findings[i]
		if f.Cluster == of.Cluster && f.Node == of.Node && f.Cause == lateRank && sent != nil && sent.pids[f.CausePID] {
			return f.Summary
		}
	}
	return ""
}
