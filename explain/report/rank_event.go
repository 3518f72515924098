package report

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// RankEvent is an event about a rank on this node, or all ranks of its job, from a fleet, which compares the ranks of
// many nodes.
type RankEvent struct {
	ID      string `json:"id"`   // a UUID
	Type    string `json:"type"` // straggler_state, slow_vs_self, gone, missing, hang, cohort_slow, …
	Node    string `json:"node,omitempty"`
	Rank    *int32 `json:"rank,omitempty"` // null: all
	Ranks   int32  `json:"ranks,omitempty"`
	PID     uint32 `json:"pid,omitempty"`
	AtNS    uint64 `json:"at_ns"`              // Unix ns of the event
	SinceNS uint64 `json:"since_ns,omitempty"` // since when the condition holds
	EndedNS uint64 `json:"ended_ns,omitempty"` // when its end was reported; 0: not yet
	OwnNS   uint64 `json:"own_ns,omitempty"`   // own work per step, and that of what it is compared with
	PeerNS  uint64 `json:"peer_ns,omitempty"`
	Cause   string `json:"cause,omitempty"` // kind of a cause
	Culprit string `json:"culprit,omitempty"`
	Summary string `json:"summary"` // in a sentence
}

// fewRankEvents is how many rank events a text shows.
const fewRankEvents = 5

// rankEvents shows ongoing events first, then the latest.
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

// Line returns the event in a sentence, with its times.
func (e *RankEvent) Line() string {
	s := fmt.Sprintf("%s: %s", clock(cmp.Or(e.SinceNS, e.AtNS), time.TimeOnly), e.Summary)
	if e.EndedNS > 0 {
		s += "; over at " + clock(e.EndedNS, time.TimeOnly)
	}
	return s
}

// over returns 1 if it has ended, otherwise 0.
func (e *RankEvent) over() int { return int(min(1, e.EndedNS)) }
