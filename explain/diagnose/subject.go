package diagnose

import (
	"cmp"
	"slices"

	"github.com/ingero-io/ingero/account/ledger"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// subject is a dispatching thread under examination.
type subject struct {
	event.Thread
	from, to uint64 // Unix ns of its first call's start and last call's end in the window
	episodes []ledger.Episode
	idle     map[string]uint64 // waits that were for work, by what it waited on
	waits    map[*event.OffCPU]root
	// mostlyIdle says for a class whether most of its recorded waits between calls
	// were for work; short ones, which are not recorded, are then taken to be.
	mostlyIdle   [event.NumClasses]bool
	ops          []*store.OpStat     // its outermost operations, by number
	usual        map[event.Op]uint64 // what calls take that their median understates, ns
	unattributed *unattributed       // time that no episode holds
	// usualWork is what waits for work take where most waits find none, ns; waitWork
	// is that of single waits whose work is known, by start.
	usualWork       map[event.Op]uint64
	waitWork        map[uint64]uint64
	siteWork        map[opSite]uint64 // likewise, from one place
	usualCollective map[uint64]uint64 // what waits for collectives usually take, ns, by start
	// later is by how much the work of a wait took longer than usual, ns, by the wait's
	// start; without an entry it is not known.
	later map[uint64]uint64
	// levels are the operations whose waits became longer at once and stayed so.
	levels map[event.Op]gpuLevel
	// recaptures says that the thread makes graphs again and again.
	recaptures bool
	launching  *launching // what it does to launch, if that binds it
	alone      int        // waits for the GPU that no other process's use of it explains

	steps      ledger.Steps
	count      uint64 // of steps, exact; 0 if the calls do not repeat themselves
	lostOnHost uint64 // by all findings that are not the GPU's own time
	lost       uint64 // ns, by all findings and without one
	// lostBetween is the time between calls, by class, that is lost and no rest.
	lostBetween [event.NumClasses + 1]uint64
	churn       map[event.Op]bool // operations whose calls are the cost of allocating again and again
}

func (t *subject) wall() uint64 { return t.to - min(t.from, t.to) }

// readSubjects finds the threads that make calls and what each waited for.
func (ev *evidence) readSubjects() {
	by := map[event.Thread]*subject{}
	for i := range ev.in.Ops {
		o := &ev.in.Ops[i]
		if o.Calls == 0 || o.Last < o.First {
			continue
		}
		t := by[o.Thread]
		if t == nil {
			t = &subject{Thread: o.Thread, from: o.First, to: o.Last, idle: map[string]uint64{}, waits: map[*event.OffCPU]root{}}
			by[o.Thread] = t
		}
		t.from, t.to = min(t.from, o.First), max(t.to, o.Last)
	}
	episodes := ledger.Episodes(ev.in.Calls, ev.in.Gaps, ev.in.OffCPU)
	for _, t := range by {
		t.from, t.to = max(t.from, ev.from), min(t.to, ev.to)
		t.episodes = slices.DeleteFunc(ledger.PlaceReclaims(episodes[t.Thread], ev.host.reclaims[t.Thread]),
			func(e ledger.Episode) bool {
				return e.Start < t.from || e.Start >= t.to || e.Call == nil && !ev.procs.handsOver(t.Thread)
			})
		ev.readWaits(t)
		t.ops = ev.calls.nested.Outermost(ev.in.Ops, t.Thread)
		t.churn = ev.heaps.churning(t)
		ev.subjects = append(ev.subjects, t)
	}
	slices.SortFunc(ev.subjects, func(a, b *subject) int {
		return cmp.Or(cmp.Compare(a.PID, b.PID), cmp.Compare(a.TID, b.TID))
	})
}

// readWaits follows every wait of a thread to its root.
func (ev *evidence) readWaits(t *subject) {
	var rest, all [event.NumClasses]uint64
	got := map[uint32]uint64{} // by process: the end of the last wait for it, Unix ns
	for i := range t.episodes {
		e := &t.episodes[i]
		for i, o := range e.Rows {
			if !ledger.Followable(o.Class) {
				continue
			}
			r := ev.root(renewed(e.Rows, i), e.Call == nil)
			from := r.last().Thread.PID
			ev.delayed(&r, got[from])
			got[from] = o.Start + o.Duration
			t.waits[o] = r
			if e.Call == nil {
				all[o.Class] += o.Duration
				if causeOf(r.kind).idle {
					rest[o.Class] += o.Duration
				}
			}
		}
	}
	ev.procs.settle(t)
	for c := range event.NumClasses {
		t.mostlyIdle[c] = rest[c] > 0 && rest[c] >= all[c]/2
	}
}

// renewGap is how soon a wait that timed out is taken up again.
const renewGap = 1_000_000

// renewed is the i-th of an episode's waits, with the waker of a later one if it
// ended by time-out and the thread at once waited for the same futex again, as
// CPython does for its interpreter lock every 5 ms.
func renewed(rows []*event.OffCPU, i int) *event.OffCPU {
	o := rows[i]
	if o.Class != event.Futex || o.Futex == 0 || o.WakerFutex != 0 {
		return o
	}
	last := o
	for _, n := range rows[i+1:] {
		if !ledger.Renews(n, o) || n.Start > last.Start+last.Duration+renewGap {
			return o
		}
		if n.WakerFutex == n.Futex {
			c := *o
			c.Waker, c.WakerComm, c.WakerFutex, c.WakerSyscall = n.Waker, n.WakerComm, n.WakerFutex, n.WakerSyscall
			return &c
		}
		last = n
	}
	return o
}
