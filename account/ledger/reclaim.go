package ledger

import (
	"cmp"
	"slices"
	"sort"

	"github.com/ingero-io/ingero/event"
)

// Reclaimed is the part of a span of memory reclaim that lies in an episode.
type Reclaimed struct {
	*event.Reclaim
	From, To uint64 // Unix ns
	Time     uint64 // time in reclaim within that, ns
}

// part cuts a span to [from, to), with its reclaim in proportion.
func part(r *event.Reclaim, from, to uint64) Reclaimed {
	from, to = max(from, r.Start), min(to, reclaimEnd(r))
	p := Reclaimed{Reclaim: r, From: from, To: max(from, to)}
	if r.Duration > 0 {
		p.Time = uint64(float64(p.To-p.From) / float64(r.Duration) * float64(min(r.NS, r.Duration)))
	}
	return p
}

func reclaimEnd(r *event.Reclaim) uint64 {
	if e := r.End(); e >= r.Start {
		return e
	}
	return ^uint64(0)
}

// minReclaim is the least reclaim outside all episodes that becomes an episode itself, ns. Less is not recorded
// either.
const minReclaim = 50_000

// PlaceReclaims assigns a thread's spans of reclaim to its episodes. Reclaim needs no context switch, so the gap or
// call around it may not have been stored: then it becomes an episode itself. The list is ordered by time, before and
// after.
func PlaceReclaims(list []Episode, spans []*event.Reclaim) []Episode {
	var single []Episode
	for _, r := range spans {
		end := reclaimEnd(r)
		i := sort.Search(len(list), func(i int) bool { return list[i].Start > r.Start })
		at, free := r.Start, uint64(0) // free is the part of the span in no episode, ns
		for i = max(i-1, 0); i < len(list) && list[i].Start < end; i++ {
			e := &list[i]
			p := part(r, max(e.Start, at), e.End())
			if p.From >= p.To {
				continue
			}
			free += p.From - at
			at = p.To
			e.Reclaims = append(e.Reclaims, p)
		}
		free += end - at
		p := part(r, r.Start, r.Start+free)
		if p.Time >= minReclaim {
			single = append(single, Episode{Start: r.Start, Duration: free, Thread: r.Thread, Reclaims: []Reclaimed{p}})
		}
	}
	if len(single) > 0 {
		list = append(list, single...)
		order(list)
	}
	return list
}

// ReclaimsByThread lists the spans of each thread by time.
func ReclaimsByThread(spans []event.Reclaim) map[event.Thread][]*event.Reclaim {
	by := map[event.Thread][]*event.Reclaim{}
	for i := range spans {
		r := &spans[i]
		by[r.Thread] = append(by[r.Thread], r)
	}
	for _, l := range by {
		slices.SortFunc(l, func(a, b *event.Reclaim) int {
			return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.Duration, b.Duration), cmp.Compare(a.NS, b.NS),
				cmp.Compare(a.Kind, b.Kind))
		})
	}
	return by
}

// ReclaimIn returns how long a thread reclaimed memory in [from, to), ns, given its spans by time.
func ReclaimIn(spans []*event.Reclaim, from, to uint64) uint64 {
	var ns uint64
	for _, r := range spans {
		if r.Start >= to {
			break
		}
		ns += part(r, from, to).Time
	}
	return min(ns, to-min(from, to))
}
