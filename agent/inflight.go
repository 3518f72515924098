package agent

import (
	"cmp"
	"slices"

	"github.com/ingero-io/ingero/capture/host/proc"
	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/event"
)

// inFlightTracker follows calls that have not returned for a second or more, and threads that have made none for long.
// It reads their state once a second, and finds out how they ended.
type inFlightTracker struct {
	open   map[event.Thread]*flight
	fresh  []event.InFlight // changes since the last take
	closed bool             // the probes are being removed: no more records will come
	still  *standstill
}

type flight struct {
	event.InFlight
	missing bool   // not in the last reading, and no end was recorded
	told    uint64 // At of what was recorded last
}

// tellEvery is how often a thread between calls is recorded that does what it did before, ns. The live diagnosis reads
// the last five seconds.
const tellEvery = 2_000_000_000

// maxHolders bounds the length of a chain of lock holders in one reading.
const maxHolders = 8

func newInFlightTracker(fs proc.FS) *inFlightTracker {
	return &inFlightTracker{
		open: map[event.Thread]*flight{}, still: newStandstill(fs),
	}
}

func (f *inFlightTracker) follower(s *shared) follower {
	look := func(u *workItem) {
		u.looked = true
		f.look(s, &u.records)
	}
	last := func(u *workItem) {
		look(u)
		f.tellAll()
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
		ending: last, // else these calls would seem to end with the command
		stop: func(*Summary) error {
			f.closed = true
			return nil
		},
	}
}

// look reads the calls that have not returned, and the threads that have made none for long. It also reads the threads
// that hold what others wait for, or have the other end of it, and those that these wait for.
func (f *inFlightTracker) look(s *shared, rec *probe.Records) {
	if f.closed {
		return
	}
	var list []event.InFlight
	var asked []uint32
	for range maxHolders {
		var err error
		if list, err = s.tracer.InFlight(list[:0], asked, rec); err != nil {
			s.log.Warn("cannot read the calls in flight", "err", err)
			return
		}
		more := f.still.others(list, holders(list, asked))
		if len(more) == len(asked) {
			break
		}
		asked = more
	}
	f.still.describe(list)
	f.saw(list)
}

// holders adds to asked the holders of what the threads in list wait for, unless they are in list
// or in asked already.
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

// saw handles one reading.
func (f *inFlightTracker) saw(list []event.InFlight) {
	seen := map[event.Thread]bool{}
	for i := range list {
		n := &list[i]
		seen[n.Thread] = true
		o := f.open[n.Thread]
		if n.Op != 0 && n.At-min(n.At, n.Start) < uint64(probe.MinFlight) { // a holder, in a call shorter than MinFlight
			n.Inner, n.Op, n.Args, n.OnCPU, n.NS = n.Op, 0, [event.NumArgs]uint64{}, 0, [event.NumClasses]uint64{}
		}
		if n.Op == 0 && !n.Silent {
			n.Start = heldUp(list, n.Thread)
		}
		if o != nil && o.Start != n.Start {
			f.end(o, event.Left, o.At)
			o = nil
		}
		if o != nil && n.Stack == 0 { // running now: the last known stack is better than none
			n.Stack = o.Stack
		}
		now := &flight{InFlight: *n}
		if o != nil && o.same(n) && n.At < o.told+tellEvery {
			now.told = o.told
		} else {
			now.told = n.At
			f.fresh = append(f.fresh, *n)
		}
		f.open[n.Thread] = now
	}
	for id, o := range f.open {
		switch {
		case seen[id]:
		case o.Op == 0: // no thread waits for it any more
			f.end(o, event.Returned, o.At)
		case o.missing: // no return will be recorded
			f.end(o, event.Left, o.At)
		default:
			o.missing = true
		}
	}
}

// same reports whether a thread between calls does what it did when it was seen before.
func (o *flight) same(n *event.InFlight) bool {
	return n.Op == 0 && n.Doing == o.Doing && n.Class == o.Class && n.Syscall == o.Syscall && n.Futex == o.Futex &&
		n.Since == o.Since && n.Stack == o.Stack && n.Holder == o.Holder && n.Peer == o.Peer && n.Stuck == o.Stuck
}

// tellAll records the last state of all threads.
func (f *inFlightTracker) tellAll() {
	for _, o := range f.open {
		if o.told != o.At {
			f.fresh = append(f.fresh, o.InFlight)
		}
	}
}

// heldUp is the start of the oldest call, or silence, that waits for what a thread holds or has the other end of.
func heldUp(list []event.InFlight, holder event.Thread) (start uint64) {
	begun := func(l *event.InFlight) bool { return (l.Op != 0 || l.Silent) && (start == 0 || l.Start < start) }
	for i := range list {
		if l := &list[i]; (l.Holder == holder || l.Peer.PID == holder.PID && l.PID != holder.PID) && begun(l) {
			start = l.Start
		}
	}
	if start == 0 { // the waiting thread is itself a holder
		for i := range list {
			if l := &list[i]; begun(l) {
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

// calls notes which calls in flight have returned.
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

// lives notes threads that ended, or executed a program, in their call.
func (f *inFlightTracker) lives(lives []event.Life) {
	for i := range lives {
		if l := &lives[i]; l.Kind == event.LifeUnfinished {
			f.died(l)
		}
	}
}

// ended notes threads that ended. No more calls of theirs will come.
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

// take appends the changes since the last call.
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
