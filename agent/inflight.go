package agent

import (
	"cmp"
	"slices"

	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/event"
)

// inFlightTracker follows calls that have not returned for a second or more: it looks
// what they do once a second, and finds out how they ended.
type inFlightTracker struct {
	open   map[event.Thread]*flight
	fresh  []event.InFlight // changes since the last take
	closed bool             // the probes go: nothing will be heard any more
}

type flight struct {
	event.InFlight
	missing bool // it was not there when last looked for, and no end was recorded
}

// maxHolders bounds how far a chain of locks is followed in one look.
const maxHolders = 8

func newInFlightTracker() *inFlightTracker {
	return &inFlightTracker{open: map[event.Thread]*flight{}}
}

func (f *inFlightTracker) follower(s *shared) follower {
	look := func(u *workItem) {
		u.looked = true
		f.look(s, &u.records)
	}
	return follower{
		records: func(u *workItem) {
			f.calls(u.records.Calls)
			f.lives(u.records.Lives)
		},
		ended: f.ended,
		second: func(t *second) {
			look(t.item)
			t.item.batch.InFlight = f.take(t.item.batch.InFlight)
			t.status.InFlight = f.status()
		},
		ending: look, // or what has not returned would seem to have been ended by the end of the command
		stop: func(*Summary) error {
			f.closed = true
			return nil
		},
	}
}

// look reads what has not returned. Threads that hold what others wait for are
// looked at too, and those that hold what these wait for.
func (f *inFlightTracker) look(s *shared, rec *probe.Records) {
	if f.closed {
		return
	}
	var list []event.InFlight
	var asked []uint32
	for range maxHolders {
		var err error
		if list, err = s.tracer.InFlight(list[:0], asked, rec); err != nil {
			s.log.Warn("cannot tell which calls have not returned", "err", err)
			return
		}
		more := holders(list, asked)
		if len(more) == len(asked) {
			break
		}
		asked = more
	}
	f.saw(list)
}

// holders are the threads that hold what those of the list wait for, but for those
// that are in the list themselves, and those asked for already.
func holders(list []event.InFlight, asked []uint32) []uint32 {
	there := map[event.Thread]bool{}
	for i := range list {
		there[list[i].Thread] = true
	}
	for i := range list {
		if h := list[i].Holder; h.TID != 0 && !there[h] && !slices.Contains(asked, h.TID) {
			asked = append(asked, h.TID)
		}
	}
	return asked
}

// saw takes what was seen at one look.
func (f *inFlightTracker) saw(list []event.InFlight) {
	seen := map[event.Thread]bool{}
	for i := range list {
		n := &list[i]
		seen[n.Thread] = true
		o := f.open[n.Thread]
		if n.Op != 0 && n.At-min(n.At, n.Start) < uint64(probe.MinFlight) { // a holder, in a call that is young
			n.Inner, n.Op, n.Args, n.OnCPU, n.NS = n.Op, 0, [event.NumArgs]uint64{}, 0, [event.NumClasses]uint64{}
		}
		if n.Op == 0 {
			n.Start = heldUp(list, n.Thread)
		}
		if o != nil && o.Start != n.Start {
			f.end(o, event.Left, o.At)
			o = nil
		}
		if o != nil && n.Stack == 0 { // it runs just now: where it was is better than nothing
			n.Stack = o.Stack
		}
		f.open[n.Thread] = &flight{InFlight: *n}
		f.fresh = append(f.fresh, *n)
	}
	for id, o := range f.open {
		switch {
		case seen[id]:
		case o.Op == 0: // nobody waits for it any more
			f.end(o, event.Returned, o.At)
		case o.missing: // its return is not to come any more
			f.end(o, event.Left, o.At)
		default:
			o.missing = true
		}
	}
}

// heldUp is when the oldest call began that waits for what a thread holds.
func heldUp(list []event.InFlight, holder event.Thread) (start uint64) {
	for i := range list {
		if l := &list[i]; l.Holder == holder && l.Op != 0 && (start == 0 || l.Start < start) {
			start = l.Start
		}
	}
	if start == 0 { // of a thread that waits for another one itself
		for i := range list {
			if l := &list[i]; l.Op != 0 && (start == 0 || l.Start < start) {
				start = l.Start
			}
		}
	}
	return start
}

func (f *inFlightTracker) end(o *flight, how event.Outcome, at uint64) {
	o.Outcome, o.End = how, at
	f.fresh = append(f.fresh, o.InFlight)
	delete(f.open, o.Thread)
}

// calls notes which of them have returned.
func (f *inFlightTracker) calls(calls []event.Call) {
	if len(f.open) == 0 {
		return
	}
	for i := range calls {
		c := &calls[i]
		if c.Depth != 0 || c.Duration < uint64(probe.MinFlight) {
			continue
		}
		if o := f.open[c.Thread]; o != nil && o.Start == c.Start {
			f.end(o, event.Returned, c.End())
		}
	}
}

// lives notes which threads ended, or began another program, in their call.
func (f *inFlightTracker) lives(lives []event.Life) {
	for i := range lives {
		if l := &lives[i]; l.Kind == event.LifeUnfinished {
			f.died(l)
		}
	}
}

// ended notes which threads ended, of which no more calls will come.
func (f *inFlightTracker) ended(ends []event.Life) {
	for i := range ends {
		f.died(&ends[i])
	}
}

func (f *inFlightTracker) died(l *event.Life) {
	if o := f.open[l.Thread]; o != nil {
		f.end(o, event.Died, max(l.At, o.Start))
	}
}

// take appends what changed since the last call.
func (f *inFlightTracker) take(l []event.InFlight) []event.InFlight {
	l = append(l, f.fresh...)
	f.fresh = f.fresh[:0]
	return l
}

// status lists the calls in flight, the oldest first.
func (f *inFlightTracker) status() []event.InFlight {
	var l []event.InFlight
	for _, o := range f.open {
		if o.Op != 0 && !o.missing {
			l = append(l, o.InFlight)
		}
	}
	slices.SortFunc(l, func(a, b event.InFlight) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.TID, b.TID))
	})
	return l
}
