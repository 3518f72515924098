package diagnose

import (
	"github.com/ingero-io/ingero/explain/diagnose/pattern"
	"github.com/ingero-io/ingero/explain/report"
)

// joinFactor is how many median steps may lie between two claims of a stretch of lost time.
const joinFactor = 3

// pattern says when the time was lost.
func (f *finding) pattern(ev *evidence) *report.Pattern {
	l := pattern.Loss{
		From: ev.from, To: ev.to, NS: f.lost, Pieces: f.claims.pieces(),
		Pause: joinFactor * f.sub.steps.Quantile(0.5), Timeline: make(pattern.Timeline, pattern.Parts),
	}
	f.claims.fill(l.Timeline, &ev.calls, ev.from, ev.to)
	l.Timeline.Round()
	l.Fine = pattern.NewFine(ev.from, ev.to)
	f.claims.fill(l.Fine, &ev.calls, ev.from, ev.to)
	return l.Pattern()
}

// pieces returns the times that were lost in single calls and gaps.
func (l claimList) pieces() (list []pattern.Stretch) {
	for _, cl := range l {
		if !cl.aggregate && cl.lost > 0 {
			list = append(list, pattern.Stretch{From: cl.acc.Start, To: cl.acc.End(), Lost: cl.lost})
		}
	}
	return list
}

// fill adds the time lost in each equal part of the time from begin to end, as a share of the part.
func (l claimList) fill(line pattern.Timeline, cs *callStats, begin, end uint64) {
	for _, cl := range l {
		if cl.aggregate {
			cs.spread(line, cl, begin, end)
			continue
		}
		line.Add(cl.acc.Start, cl.lost, begin, end)
	}
}
