package diagnose

import (
	"cmp"
	"slices"

	"github.com/ingero-io/ingero/account/ledger"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// subject is a dispatching thread whose time is diagnosed.
type subject struct {
	event.Thread
	from, to uint64 // Unix ns of its first call's start and last call's end in the window
	episodes []ledger.Episode
	idle     map[string]uint64 // ns of waits for work, by what it waited on
	waits    map[*event.OffCPU]root
	// mostlyIdle says for each class whether most of the recorded waits between calls were for
	// work. Then the short waits, which are not recorded one by one, are assumed to be for work,
	// too.
	mostlyIdle   [event.NumClasses]bool
	ops          []*store.OpStat     // its outermost operations, by number
	usual        map[event.Op]uint64 // usual duration of calls where the median is too low, ns
	unattributed *unattributed       // time that no claim on an episode has taken
	// usualWork is what waits for work take where most waits find none, ns. waitWork is the same
	// for single waits whose work is known, by start.
	usualWork       map[event.Op]uint64
	waitWork        map[uint64]uint64
	siteWork        map[opSite]uint64 // the same for one call site
	usualCollective map[uint64]uint64 // what waits for collectives usually take, ns, by start
	// later is how much longer than usual the work of a wait took, ns, by the wait's start; without
	// an entry it is not known.
	later map[uint64]uint64
	// levels are the operations whose waits suddenly became longer and stayed so.
	levels map[event.Op]gpuLevel
	// variable is up to which duration, ns, waits of an operation are usual because their work varies.
	variable map[event.Op]uint64
	// fullQueue are the seconds of the series in which the launch queue may have been full.
	fullQueue map[uint64]bool
	// recaptures says that the thread makes graphs again and again.
	recaptures bool
	launching  *launching // how it spends its time while it is launch-bound
	alone      int        // slow waits while no other process used the GPU

	steps      ledger.Steps
	count      uint64 // of steps, exact; 0 if the calls do not repeat themselves
	lostOnHost uint64 // ns lost in findings that are not the GPU's own time
	lost       uint64 // ns lost in all findings, reported or not
	// lostBetween is the lost time between calls, by class, ns. It does not count as idle.
	lostBetween [event.NumClasses + 1]uint64
	churn       map[event.Op]bool // operations whose calls are the cost of allocating again and again
}

func (t *subject) wall() uint64 { return t.to - min(t.from, t.to) }

// readSubjects finds the threads that make calls, and follows their waits.
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
	for thread, at := range ev.host.stuck() {
		if t := by[thread]; t != nil {
			t.to = max(t.to, at)
		}
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

// minStuck is how long a thread must have waited for room for its wait to count though no call came after it, ns: it
// did not make the next one because it waited.
const minStuck = 1_000_000_000

// stuck are the ends of such waits between calls of threads that dispatch, Unix ns. Their program was ended meanwhile,
// or had to be.
func (hs *hostState) stuck() map[event.Thread]uint64 {
	ends := map[event.Thread]uint64{}
	for i := range hs.in.OffCPU {
		o := &hs.in.OffCPU[i]
		if b, e := ledger.Blocked(o); o.Dispatch && o.Op == 0 && hs.sends(o) && e-min(b, e) >= minStuck {
			ends[o.Thread] = max(ends[o.Thread], e)
		}
	}
	return ends
}

// readWaits follows every wait of a thread to its root.
func (ev *evidence) readWaits(t *subject) {
	var rest, all [event.NumClasses]uint64
	got := map[uint32]uint64{} // by process: the end of the last wait for it, Unix ns
	for i := range t.episodes {
		e := &t.episodes[i]
		for _, o := range e.Rows {
			if !ev.procs.follows(o) {
				continue
			}
			r := ev.root(o, e.Call == nil)
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
