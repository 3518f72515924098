package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ingero-io/ingero/event"
)

var causeUnknown = cause{
	kind:         event.CauseUnknown,
	takes:        anyState,
	unexplained:  true,
	claimEpisode: claimUnknown,
	why:          whatIsMissing,
	busyGPU:      true,
}

// claimUnknown takes the time that no other cause took.
func claimUnknown(_ *evidence, a *account) []claim {
	var claims []claim
	for c := range a.left {
		class := event.Class(c)
		v := a.take(class, a.left[c])
		if v == 0 {
			continue
		}
		cl := claim{acc: a, key: key{kind: event.CauseUnknown}, class: class, lost: v, why: a.why(class)}
		for _, o := range a.Rows {
			if o.Class == class {
				cl.count++
				cl.stall = max(cl.stall, o.Duration)
			}
		}
		cl.stall = min(cl.stall, v)
		if cl.count == 0 && a.Ledger.Voluntary+a.Ledger.Involuntary <= 2 {
			cl.stall = v
		}
		claims = append(claims, cl)
	}
	return claims
}

// whatIsMissing says what is missing to explain a finding, the largest part first.
func whatIsMissing(f *finding) string {
	by := map[string]uint64{}
	for _, cl := range f.claims {
		by[cl.why] += cl.lost
	}
	var whys []string
	for w := range by {
		whys = append(whys, w)
	}
	slices.SortFunc(whys, func(a, b string) int { return cmp.Or(cmp.Compare(by[b], by[a]), cmp.Compare(a, b)) })
	whys = whys[:min(len(whys), 3)]
	for i, w := range whys {
		whys[i] = span(by[w]) + " " + w
	}
	return strings.Join(whys, "; ")
}

// why says what is missing to explain a class of time.
func (a *account) why(c event.Class) string {
	for _, o := range a.open {
		if o.Class != c {
			continue
		}
		switch {
		case c == event.Futex && o.Holder != 0:
			return fmt.Sprintf("blocked on a lock whose holder, tid %d, is not known", o.Holder)
		case len(a.sub.waits[o].chain) > 1:
			return fmt.Sprintf("blocked (%s) on a thread whose own time was not recorded", c)
		default:
			return fmt.Sprintf("blocked (%s), and the waker was not recorded", c)
		}
	}
	switch c {
	case event.Futex, event.Pipe, event.Network:
		return fmt.Sprintf("blocked (%s) in waits too short to be recorded one by one", c)
	case event.RunQueue:
		return "runnable, and the thread that ran instead was not recorded"
	case event.OnCPU:
		return "on CPU for longer than usual"
	}
	return fmt.Sprintf("blocked (%s) for longer than usual in a call that does not wait for the GPU", c)
}
