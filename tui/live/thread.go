package live

import (
	"cmp"
	"slices"
	"time"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// Windows are the spans for which a thread's time is shown; 0 is the whole run.
var Windows = [...]time.Duration{time.Second, 10 * time.Second, time.Minute, 0}

// Thread is how a thread spent its time.
type Thread struct {
	event.Thread
	Comm     string
	Process  string
	Dispatch bool
	Ended    bool
	Spans    [len(Windows)]Span // of each of Windows
}

// Span is how a thread spent the time up to now.
type Span struct {
	NS    uint64                   // how long the span is
	Class [event.NumClasses]uint64 // ns off a CPU
	OnCPU uint64                   // ns
	// Unaccounted is the last part of the span, ns: the kernel accounts for a thread when it leaves a CPU, so its time
	// since then is not known yet.
	Unaccounted uint64
}

// Lost returns the part of a span in which the thread waited for something that a healthy thread does not wait for,
// ns.
func (s *Span) Lost() uint64 {
	return store.WaitNS(&event.Ledger{NS: s.Class})
}

// Of returns the time of a class, which may be event.OnCPU, ns.
func (s *Span) Of(c event.Class) uint64 {
	if c == event.OnCPU {
		return s.OnCPU
	}
	return s.Class[c]
}

// thread is the state of a thread: its running totals now, and at some earlier times.
type thread struct {
	last  event.ThreadTime
	begin uint64  // Unix ns from which on it is accounted for
	marks []total // oldest first
	ended uint64  // Unix ns, 0 if it has not
	// stays is what it was doing when last seen in a call that did not return, or with a lock that such a call waits
	// for: since then it may not have left, or got, a CPU.
	stays event.InFlight
}

// total is a thread's running totals at one moment.
type total struct {
	at, onCPU uint64
	class     [event.NumClasses]uint64
}

const (
	closest = 400 * time.Millisecond // least time between two marks
	oldest  = 90 * time.Second       // greatest age of marks, and of ended threads
)

func totalOf(t *event.ThreadTime) total { return total{t.At, t.OnCPU, t.NS} }

// sum returns the sum of all times in a total.
func (t *total) sum() uint64 {
	n := t.onCPU
	for _, v := range t.class {
		n += v
	}
	return n
}

func (t *Stats) time(r *event.ThreadTime) {
	if r.Followed {
		return // of an untraced process
	}
	th := t.threads[r.Thread]
	if th == nil {
		if len(t.threads) >= maxThreads && !t.forget(r.At) {
			t.left++
			return
		}
		now := totalOf(r)
		th = &thread{begin: r.At - min(now.sum(), r.At)}
		t.threads[r.Thread] = th
	}
	if r.At < th.last.At {
		return
	}
	th.last = *r
	if n := len(th.marks); n == 0 || r.At-th.marks[n-1].at >= uint64(closest) {
		th.mark(totalOf(r))
	}
}

// mark adds a mark. Marks are an eighth of their age apart.
func (th *thread) mark(now total) {
	kept := th.marks[:0]
	last := uint64(0)
	for _, m := range th.marks {
		age := now.at - m.at
		if age > uint64(oldest) || len(kept) > 0 && m.at-last < age/8 {
			continue
		}
		kept, last = append(kept, m), m.at
	}
	th.marks = append(kept, now)
}

// forget makes room by dropping threads that ended, or had no records for long.
func (t *Stats) forget(now uint64) bool {
	n := len(t.threads)
	for id, th := range t.threads {
		if th.ended != 0 || now-min(th.last.At, now) > uint64(oldest) {
			delete(t.threads, id)
		}
	}
	return len(t.threads) < n
}

// times returns how each thread spent its time, up to now in Unix ns.
func (t *Stats) times(now uint64) []Thread {
	var list []Thread
	for id, th := range t.threads {
		if th.ended != 0 && now-min(th.ended, now) > uint64(oldest) {
			delete(t.threads, id)
			continue
		}
		if len(t.traced) > 0 && !t.traced[id.PID] && th.ended == 0 {
			continue
		}
		x := Thread{
			Thread: id, Comm: th.last.Comm, Process: t.names[id.PID], Dispatch: th.last.Dispatch,
			Ended: th.ended != 0,
		}
		for i, w := range Windows {
			x.Spans[i] = th.span(now, w)
		}
		list = append(list, x)
	}
	slices.SortFunc(list, func(a, b Thread) int {
		rank := func(t *Thread) int {
			switch {
			case t.Ended:
				return 2
			case t.Dispatch:
				return 0
			}
			return 1
		}
		return cmp.Or(cmp.Compare(rank(&a), rank(&b)), cmp.Compare(a.PID, b.PID), cmp.Compare(a.TID, b.TID))
	})
	return list
}

// span returns how the time of a window up to now was spent. It begins at the last mark before the window, or with
// the first mark.
func (th *thread) span(now uint64, window time.Duration) Span {
	if th.ended != 0 {
		now = min(now, th.ended)
	}
	base := total{at: th.begin}
	for i := range th.marks {
		if m := &th.marks[i]; window > 0 && m.at+uint64(window) <= now {
			base = *m
		}
	}
	last := totalOf(&th.last)
	s := Span{OnCPU: last.onCPU - min(base.onCPU, last.onCPU), Unaccounted: now - min(last.at, now)}
	s.NS = s.OnCPU + s.Unaccounted
	for i, v := range last.class {
		s.Class[i] = v - min(base.class[i], v)
		s.NS += s.Class[i]
	}
	th.stay(&s, now)
	return s
}

// stay moves time from the unaccounted part to the state that the thread was seen in since its last record.
func (th *thread) stay(s *Span, now uint64) {
	f := &th.stays
	from, to := max(f.Since, th.last.At), min(f.At, now)
	if f.End != 0 || to <= from {
		return
	}
	ns := min(to-from, s.Unaccounted)
	switch {
	case f.Doing == event.Running:
		s.OnCPU += ns
	case f.Doing == event.Runnable:
		s.Class[event.RunQueue] += ns
	case f.Doing == event.Blocked && f.Class < event.NumClasses:
		s.Class[f.Class] += ns
	default:
		return
	}
	s.Unaccounted -= ns
}
