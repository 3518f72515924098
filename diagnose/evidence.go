package diagnose

import (
	"github.com/ingero-io/ingero/ledger"
	"github.com/ingero-io/ingero/report"
	"github.com/ingero-io/ingero/store"
)

// maxEvidence is how many events a finding lists.
const maxEvidence = 10

// evidence lists the events that show most of what was lost.
func (f *finding) evidence(s *scene) report.Evidence {
	e := report.Evidence{EventIDs: []string{}, Sample: f.sample}
	seen := map[string]bool{}
	for _, p := range f.pieces {
		at, kind, ok := p.event()
		if !ok || p.standing {
			continue
		}
		id := s.eventID(f.sub.Thread, at, kind)
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

// event is the row of the recording that shows a piece: the call it was lost in; of what
// was lost between calls the wait that was longest, or else the gap. Reclaim between calls
// that was not recorded one by one has none.
func (p *piece) event() (at uint64, kind store.EventKind, ok bool) {
	switch {
	case p.part != nil:
		return p.part.At, store.CollectiveEvent, true
	case p.acc.Call != nil:
		return p.acc.Start, store.CallEvent, true
	case p.row != nil:
		return p.row.Start, store.OffCPUEvent, true
	}
	var longest uint64
	for _, o := range p.acc.Rows {
		l := ledger.Of(o)
		split := ledger.SplitOf(o.Duration, &l)
		if ns := split.Of(p.class); ns > longest {
			longest, at = ns, o.Start
		}
	}
	if longest > 0 {
		return at, store.OffCPUEvent, true
	}
	return p.acc.Start, store.GapEvent, p.acc.Op != 0
}
