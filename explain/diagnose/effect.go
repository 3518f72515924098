package diagnose

import (
	"cmp"
	"fmt"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/event/stats"
	"github.com/ingero-io/ingero/explain/recording"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/store"
)

// place describes where the time was lost.
func (l claimList) place() string {
	if op := l.op(); op.call {
		return "inside " + op.op.String()
	}
	return "between calls"
}

type place struct {
	call bool
	op   event.Op
}

// op returns the operation that lost most; gaps count as one operation.
func (l claimList) op() place {
	lost := map[place]uint64{}
	for _, cl := range l {
		lost[placeOf(cl.acc)] += cl.lost
	}
	var best place
	for p, v := range lost {
		if c := cmp.Compare(v, lost[best]); c > 0 || c == 0 && (p.op < best.op || best == place{}) {
			best = p
		}
	}
	return best
}

func placeOf(a *account) place {
	if a.Call == nil {
		return place{}
	}
	return place{true, a.Op}
}

// betweenCalls is the effect's op for time in gaps.
const betweenCalls = "between calls"

// longest returns the duration of the longest call, and what such a call with the same
// work usually takes, ns. The latter is 0 if it is not known: most waits of a thread may find
// nothing queued, and then say nothing about a wait that does.
func (l claimList) longest() (took, usual uint64) {
	at := l.op()
	for _, cl := range l {
		a := cl.acc
		if placeOf(a) != at || cl.aggregate || a.Duration <= took {
			continue
		}
		took, usual = a.Duration, a.base
		if a.role == event.RoleSync && !a.ofWork() && float64(usual) <= emptyWait {
			usual = 0
		}
	}
	return took, usual
}

// tookLonger describes how many calls were slow, and compared with what.
func (l *loss) tookLonger(e *report.Effect) string {
	took, usual := l.claims.longest()
	words := fmt.Sprintf("%s of %s calls took up to %s", report.Count(e.SlowCalls), report.Count(e.Calls), span(took))
	if e.SlowCalls >= e.Calls {
		words = fmt.Sprintf("calls took up to %s", span(took))
	}
	if usual > 0 {
		words += " instead of " + span(usual)
		if l.worst.acc.bySite {
			words += ", usual for its call site"
		}
	}
	return words
}

// effect describes what was slow, from exact statistics.
func (f *finding) effect(ev *evidence) report.Effect {
	at := f.claims.op()
	e := report.Effect{
		Op: betweenCalls, Process: f.process(ev), PID: f.sub.PID, TID: f.sub.TID,
		Thread: ev.procs.comm(f.sub.Thread),
	}
	slow := map[uint64]bool{}
	for _, cl := range f.claims {
		switch {
		case placeOf(cl.acc) != at:
		case cl.aggregate && cl.acc.base == 0: // no single call is slow: there are too many of them
		case cl.aggregate:
			e.SlowCalls += uint64(cl.count)
		case cl.lost >= uint64(store.SlowExcess):
			slow[cl.acc.Start] = true
		}
	}
	e.SlowCalls += uint64(len(slow))
	if at.call {
		e.Op, e.Kernel = at.op.String(), f.claims.kernel(&ev.calls)
		if st := ev.calls.stats[threadOp{f.sub.Thread, at.op}]; st != nil {
			e.Calls, e.MaxNS = st.Calls, st.MaxNS
			e.SlowCalls = min(e.SlowCalls, e.Calls) // those of a loss that is always there may be recorded one by one, too
			quantiles(&e, st.Hist)
		}
		return e
	}
	e.Calls = ev.calls.gapStats[f.sub.Thread].gaps
	var h stats.Histogram
	var listed uint64
	for i := range f.sub.episodes {
		if ep := &f.sub.episodes[i]; ep.Call == nil {
			h.Add(ep.Duration)
			e.MaxNS = max(e.MaxNS, ep.Duration)
			listed++
		}
	}
	e.Calls = max(e.Calls, listed)
	quantiles(&e, &h)
	return e
}

func quantiles(e *report.Effect, h *stats.Histogram) {
	if h == nil || h.Count() == 0 {
		return
	}
	e.P50NS, e.P99NS = min(h.Quantile(0.5), e.MaxNS), min(h.Quantile(0.99), e.MaxNS)
	if e.P50NS > 0 {
		e.TailRatio = hundredths(float64(e.P99NS) / float64(e.P50NS))
	}
	e.Kinds = recording.OpKinds(h, e.MaxNS)
}
