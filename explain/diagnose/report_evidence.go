package diagnose

import (
	"github.com/ingero-io/ingero/account/ledger"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/store"
)

// maxEvidence is how many events a finding lists.
const maxEvidence = 10

// reportEvidence lists the events in which most time was lost.
func (f *finding) reportEvidence(ev *evidence) report.Evidence {
	e := report.Evidence{EventIDs: []string{}, Sample: f.sample}
	seen := map[string]bool{}
	for _, cl := range f.claims {
		at, kind, ok := cl.event()
		if !ok || cl.aggregate {
			continue
		}
		id := ev.eventID(f.sub.Thread, at, kind)
		if seen[id] {
			continue
		}
		seen[id] = true
		if e.EventIDs = append(e.EventIDs, id); len(e.EventIDs) == maxEvidence {
			break
		}
	}
	return e
}

// event returns the row of the recording that shows a claim: the call in which the time was lost;
// between calls, the longest wait, or else the gap. Reclaim between calls that was not recorded one
// by one has no event.
func (cl *claim) event() (at uint64, kind store.EventKind, ok bool) {
	switch {
	case cl.part != nil:
		return cl.part.At, store.CollectiveEvent, true
	case cl.acc.Call != nil:
		return cl.acc.Start, store.CallEvent, true
	case cl.through():
		return cl.row.Start, store.OffCPUEvent, true
	}
	var longest uint64
	for _, o := range cl.acc.Rows {
		l := ledger.Of(o)
		split := ledger.SplitOf(o.Duration, &l)
		if ns := split.Of(cl.class); ns > longest {
			longest, at = ns, o.Start
		}
	}
	if longest > 0 {
		return at, store.OffCPUEvent, true
	}
	return cl.acc.Start, store.GapEvent, cl.acc.Op != 0
}
