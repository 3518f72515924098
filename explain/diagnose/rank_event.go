package diagnose

import "github.com/ingero-io/ingero/explain/report"

// rankEvents returns a fleet's events about ranks in the window, with begin and end in one entry. What only ended in
// the window began before it.
func (in *Input) rankEvents() []report.RankEvent {
	var list []report.RankEvent
	at := map[string]int{} // by id
	for i := range in.RankEvents {
		e := &in.RankEvents[i]
		n, known := at[e.ID]
		switch {
		case known && e.Resolved:
			list[n].EndedNS = e.At
			continue
		case known: // repeated with its culprit
			list[n].Cause, list[n].Culprit, list[n].Summary = e.Cause, e.Culprit, e.Summary
			continue
		}
		at[e.ID] = len(list)
		x := report.RankEvent{
			ID: e.ID, Type: e.Type, Ranks: e.Ranks, PID: e.PID, AtNS: e.At, SinceNS: e.Since, OwnNS: e.OwnNS,
			PeerNS: e.PeerNS, Cause: e.Cause, Culprit: e.Culprit, Summary: e.Summary,
		}
		if e.Rank >= 0 {
			x.Rank = &e.Rank
		}
		if e.Resolved {
			x.EndedNS = e.At
		}
		list = append(list, x)
	}
	return list
}

// rankVerdict returns the first event that lasts, empty if there is none.
func rankVerdict(list []report.RankEvent) string {
	for i := range list {
		if list[i].EndedNS == 0 {
			return list[i].Summary
		}
	}
	return ""
}
