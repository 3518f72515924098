// Package memory follows the memory that processes have allocated on their devices, and as page-locked memory of the
// host, from their own calls: what is in use, the call sites that it came from, and its age. It is arithmetic over
// events, with no clock and no I/O. Package diagnose decides whether growth is a leak.
package memory

import (
	"cmp"
	"slices"

	"github.com/ingero-io/ingero/event"
)

// Limits. A million live allocations take about 100 MB here.
const (
	MaxLive  = 1 << 20 // live allocations followed, of all processes
	MaxSites = 12      // sites reported of a process at a time, in each space
	maxSites = 4096    // sites counted separately in a process
	maxHeld  = 16      // nested calls of a thread that wait for their caller
)

// kind is the effect of an operation on memory.
type kind struct {
	role  event.Role // RoleAlloc or RoleFree; operations with RoleOther are ignored
	space event.Space
}

// kinds is an array by event.Op: each call is looked up in it.
var kinds = func() (k [event.OpSlots]kind) {
	for i := range event.Catalog {
		if o := &event.Catalog[i]; o.Role == event.RoleAlloc || o.Role == event.RoleFree {
			k[o.Op.Slot()] = kind{o.Role, o.Space}
		}
	}
	return k
}()

// Tracker follows the memory of any number of processes. Pass it calls in the order in which they returned.
type Tracker struct {
	max   int
	live  int // number of followed allocations
	procs map[uint32]*process
	held  map[event.Thread][]event.Call // nested calls whose caller has not returned yet
	ended []event.Memory                // last records of ended processes, until taken
}

// NewTracker returns a Tracker that follows at most max live allocations.
func NewTracker(max int) *Tracker {
	return &Tracker{max: max, procs: map[uint32]*process{}, held: map[event.Thread][]event.Call{}}
}

// Calls takes in calls.
func (t *Tracker) Calls(calls []event.Call) {
	for i := range calls {
		c := &calls[i]
		k := kinds[c.Op.Slot()]
		if len(t.held) > 0 {
			t.settle(c, k)
		}
		switch {
		case k.role == event.RoleOther:
		case c.Depth > 0:
			t.hold(c)
		default:
			t.apply(c)
		}
	}
}

// hold keeps a nested call until its caller returns: an allocation within an allocating call belongs to the outer
// call.
func (t *Tracker) hold(c *event.Call) {
	held := t.held[c.Thread]
	if len(held) == maxHeld {
		t.apply(&held[0])
		held = slices.Delete(held, 0, 1)
	}
	t.held[c.Thread] = append(held, *c)
}

// settle handles the nested calls of the thread of c, which has returned.
func (t *Tracker) settle(c *event.Call, k kind) {
	held, ok := t.held[c.Thread]
	if !ok {
		return
	}
	kept := held[:0]
	for i := range held {
		h := &held[i]
		switch inside := h.Depth > c.Depth && h.Start >= c.Start; {
		case inside && k.role != event.RoleOther: // counted as c
		case c.Depth == 0: // its caller allocates nothing itself, or was not recorded
			t.apply(h)
		default:
			kept = append(kept, *h)
		}
	}
	if len(kept) == 0 {
		delete(t.held, c.Thread)
		return
	}
	t.held[c.Thread] = kept
}

func (t *Tracker) apply(c *event.Call) {
	p := t.procs[c.PID]
	if p == nil {
		p = newProcess(c.PID)
		t.procs[c.PID] = p
	}
	before := len(p.live)
	if k := kinds[c.Op.Slot()]; k.role == event.RoleAlloc {
		p.alloc(c, k.space, t.live < t.max)
	} else {
		p.free(c, k.space)
	}
	t.live += len(p.live) - before
}

// Lives forgets processes that execute a new program. Call it after their earlier calls.
func (t *Tracker) Lives(lives []event.Life) {
	for i := range lives {
		if l := &lives[i]; l.Kind == event.LifeExec {
			t.forget(l)
		}
	}
}

// Ended forgets ended threads, and processes with their first threads. No more of their calls may come.
func (t *Tracker) Ended(ends []event.Life) {
	for i := range ends {
		l := &ends[i]
		delete(t.held, l.Thread)
		if l.PID == l.TID {
			t.forget(l)
		}
	}
}

func (t *Tracker) forget(l *event.Life) {
	if p := t.procs[l.PID]; p != nil {
		t.ended = p.records(l.At, t.ended)
		t.live -= len(p.live)
		delete(t.procs, l.PID)
	}
}

// TakeEnded appends the last records of ended processes.
func (t *Tracker) TakeEnded(m []event.Memory) []event.Memory {
	m = append(m, t.ended...)
	t.ended = t.ended[:0]
	return m
}

// Take appends a record of each process and space to m, and to s the sites with most memory, if they changed. at is
// the time in Unix ns.
func (t *Tracker) Take(at uint64, m []event.Memory, s []event.MemorySite) ([]event.Memory, []event.MemorySite) {
	m = t.TakeEnded(m)
	procs := make([]*process, 0, len(t.procs))
	for _, p := range t.procs {
		procs = append(procs, p)
	}
	slices.SortFunc(procs, func(a, b *process) int { return cmp.Compare(a.pid, b.pid) })
	for _, p := range procs {
		m = p.records(at, m)
		s = p.top(at, s)
	}
	return m, s
}
