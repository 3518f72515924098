package diagnose

import (
	"cmp"
	"slices"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
)

// What a finding's lost time went to besides its cause. A chain explains only what its links show:
// if the holder of a lock waited for the disk for 69 % of the hold and ran for the rest, 69 % is
// explained.

const (
	minUnexplained = 1.0 // percent of the lost time: smaller parts are not reported
	maxUnexplained = 3   // parts that are reported
)

// The parts of the rest that are not a class of a thread's time.
const (
	unexplainedBetween   = "the threads in between did something else"
	unexplainedRunners   = "runnable, and who ran was not recorded"
	unexplainedDropped   = "records were dropped"
	unexplainedElsewhere = "not on record"
)

// unexplainedPart is a part of the unexplained time. class is a class of the root thread's time, or
// empty.
type unexplainedPart struct{ what, class string }

// unexplainedTime is lost time that a cause does not explain, by what took it, ns.
type unexplainedTime map[unexplainedPart]uint64

// unexplained splits the time that a finding does not explain. The explained share and the parts
// together are all of the lost time.
func (f *finding) unexplained(ev *evidence) []report.Rest {
	explained := uint64(float64(f.explained) * (1 - ev.missing))
	all := f.lost - min(explained, f.lost)
	rest := unexplainedTime{{what: unexplainedDropped}: f.explained - min(explained, f.explained)}
	var pieces uint64 // explained by the claims alone, before complete changed it
	for _, cl := range f.claims {
		pieces += cl.explained
		rest.add(cl, f.cause)
	}
	if part := f.cause.lacks; part != "" {
		rest[unexplainedPart{what: part}] += pieces - min(f.explained, pieces)
	}
	of := "wait"
	switch {
	case f.worst.followed() && f.worst.locked():
		of = "hold"
	case !f.worst.through():
		of = "lost time"
	}
	return rest.largest(all, f.lost, of)
}

// add adds the part of a claim that its cause does not explain, by what the root thread did
// meanwhile.
func (u unexplainedTime) add(cl *claim, of *cause) {
	if !cl.followed() {
		if part := of.lacks; part != "" {
			u[unexplainedPart{what: part}] += cl.lost - min(cl.explained, cl.lost)
		}
		return
	}
	l := cl.last()
	inside := max(uint64(float64(cl.lost)*cl.reach), cl.explained)
	u[unexplainedPart{what: unexplainedBetween}] += cl.lost - min(inside, cl.lost)
	var others uint64
	for _, c := range event.Classes() {
		if !slices.Contains(of.counts, c) {
			others += l.Split.Of(c)
		}
	}
	if !l.Known || others == 0 {
		return
	}
	left := float64(inside - cl.explained)
	for _, c := range event.Classes() {
		if !slices.Contains(of.counts, c) {
			u[did(c)] += uint64(left * share(l.Split.Of(c), others))
		}
	}
}

// did describes what the root thread did.
func did(c event.Class) unexplainedPart {
	if c == event.OnCPU {
		return unexplainedPart{"it ran on a CPU", c.String()}
	}
	return unexplainedPart{"it " + c.Did(), c.String()}
}

// largest returns the largest parts, and one part for the remainder of all, both as shares of the lost
// time, ns. The parts are of a wait, a hold or the lost time itself, in words.
func (u unexplainedTime) largest(all, lost uint64, of string) []report.Rest {
	if percent(all, lost) < minUnexplained {
		return nil
	}
	var list []report.Rest
	for part, ns := range u {
		if percent(ns, lost) >= minUnexplained {
			list = append(list, report.Rest{Of: of, What: part.what, Class: part.class, NS: ns})
		}
	}
	slices.SortFunc(list,
		func(a, b report.Rest) int { return cmp.Or(cmp.Compare(b.NS, a.NS), cmp.Compare(a.What, b.What)) })
	list = list[:min(len(list), maxUnexplained)]
	left := all
	for i := range list {
		list[i].NS = min(list[i].NS, left)
		left -= list[i].NS
	}
	if percent(left, lost) >= minUnexplained {
		list = append(list, report.Rest{Of: of, What: unexplainedElsewhere, NS: left})
	}
	for i := range list {
		list[i].Pct = round(percent(list[i].NS, lost))
	}
	return slices.DeleteFunc(list, func(r report.Rest) bool { return r.NS == 0 })
}
