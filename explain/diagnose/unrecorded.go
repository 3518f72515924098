package diagnose

import (
	"context"
	"fmt"
	"slices"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// maxUnrecorded is the largest share of a window without records for which all of it is explained. Exact sums go
// on meanwhile, single calls and waits do not: with more, threads would seem to lose less than they do, and
// what is not known would seem to be usual. Then the longest recorded part is explained.
const maxUnrecorded = 0.05

// recordedPart returns the part of a window that is explained, given the stretches in which nothing could be
// written, by time. whole: it is all of it. Both bounds of the window are known.
func recordedPart(w store.Window, pauses []store.Pause) (part store.Window, whole bool) {
	var missing uint64
	free := store.Window{From: w.From}
	end := func(to uint64) {
		if free.To = to; to > free.From && to-free.From > part.To-part.From {
			part = free
		}
	}
	for _, p := range pauses {
		from, to := max(p.From, w.From), min(p.To, w.To)
		if from >= to {
			continue
		}
		missing += to - from
		end(from)
		free.From = max(free.From, to)
	}
	end(w.To)
	if part == (store.Window{}) || float64(missing) <= maxUnrecorded*float64(w.To-w.From) {
		return w, true
	}
	return part, false
}

// loadPauses reads when nothing could be written, and returns the window of what is read. in.Window has its
// bounds filled in.
func (in *Input) loadPauses(pauses []store.Pause, w store.Window) store.Window {
	if len(pauses) == 0 || in.Window.To <= in.Window.From {
		return w
	}
	in.Pauses = pauses
	part, whole := recordedPart(in.Window, pauses)
	if whole {
		return w
	}
	in.Window, in.Part = part, true
	return part
}

// lossLate is how much later than a record was dropped its loss may be counted, ns: the kernel's counters are read once
// a second.
const (
	wholeSecond = 1_000_000_000
	lossLate    = 2 * wholeSecond
)

// loadDropped reads what the window lacks. What was dropped before or after it says nothing of it, nor does what could
// not be written in a pause: the window is what was recorded between them.
func (in *Input) loadDropped(ctx context.Context, r store.Reader) error {
	list, err := store.List[store.Loss](ctx, r, store.Window{From: in.Window.From, To: in.Window.To + lossLate})
	if err != nil {
		return fmt.Errorf("read what was dropped: %w", err)
	}
	for _, l := range list {
		paused := slices.ContainsFunc(in.Pauses, func(p store.Pause) bool {
			return l.At+wholeSecond > p.From && l.At <= p.To
		})
		if l.Kind != event.LostStored || !paused {
			in.Dropped = append(in.Dropped, l.Loss)
		}
	}
	return nil
}

// maxPauses bounds the pauses that a note names.
const maxPauses = 3

// pauseNotes say when nothing could be written, and what is explained.
func (in *Input) pauseNotes() (list []string) {
	for i, p := range in.Pauses {
		if i == maxPauses {
			list = append(list, fmt.Sprintf("not recorded %d more times: select * from pauses", len(in.Pauses)-i))
			break
		}
		list = append(list, fmt.Sprintf("not recorded from %s to %s (%s): %s", clockOf(p.From/1e9), clockOf(p.To/1e9),
			span(p.To-min(p.From, p.To)), printable(p.Why)))
	}
	if in.Part {
		list = append(list, fmt.Sprintf("explained is the longest part that was recorded, from %s to %s; for another one "+
			"pass its time", clockOf(in.Window.From/1e9), clockOf(in.Window.To/1e9)))
	}
	return list
}
