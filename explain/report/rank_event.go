package report

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// RankEvent is what a fleet, which compares the ranks of many nodes, said of a rank on this node, or of
// all ranks of its job.
type RankEvent struct {
	ID      string `json:"id"`   // a UUID
	Type    string `json:"type"` // straggler_state, slow_vs_self, gone, missing, hang, cohort_slow, …
	Node    string `json:"node,omitempty"`
	Rank    *int32 `json:"rank,omitempty"` // null: all
	Ranks   int32  `json:"ranks,omitempty"`
	PID     uint32 `json:"pid,omitempty"`
	AtNS    uint64 `json:"at_ns"`              // Unix ns at which it was said
	SinceNS uint64 `json:"since_ns,omitempty"` // from which on it was so
	EndedNS uint64 `json:"ended_ns,omitempty"` // at which it was said to be over; 0: it was not
	OwnNS   uint64 `json:"own_ns,omitempty"`   // own work in a step, and that of what it is compared with
	PeerNS  uint64 `json:"peer_ns,omitempty"`
	Cause   string `json:"cause,omitempty"` // a kind of cause
	Culprit string `json:"culprit,omitempty"`
	Summary string `json:"summary"` // in a sentence
}

// fewRankEvents is how many of them a text shows.
const fewRankEvents = 5

// rankEvents shows what lasts first, then the latest.
func (t *text) rankEvents(list []RankEvent) {
	if len(list) == 0 {
		return
	}
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b RankEvent) int {
		return cmp.Or(cmp.Compare(a.over(), b.over()), -cmp.Compare(a.AtNS, b.AtNS))
	})
	t.line("")
	for i := range list[:min(len(list), fewRankEvents)] {
		e := &list[i]
		t.wrap(t.paint(yellow, "[RANK]")+" "+at(e.Node), e.Line())
	}
	if n := len(list) - fewRankEvents; n > 0 {
		t.line(fmt.Sprintf("       and %s more: view rank_events", Plural(uint64(n), "event")))
	}
}

// Line is the event in a sentence, with its times.
func (e *RankEvent) Line() string {
	s := fmt.Sprintf("%s: %s", clock(cmp.Or(e.SinceNS, e.AtNS), time.TimeOnly), e.Summary)
	if e.EndedNS > 0 {
		s += "; over at " + clock(e.EndedNS, time.TimeOnly)
	}
	return s
}

// over is 1 if it has ended.
func (e *RankEvent) over() int { return int(min(1, e.EndedNS)) }
