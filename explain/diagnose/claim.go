package diagnose

import (
	"cmp"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/diagnose/cluster"
)

// claim is lost time of one episode that one cause claims. Times are in ns.
type claim struct {
	threadWait
	acc       *account
	key       key
	class     event.Class // what the thread itself was doing
	lost      uint64
	explained uint64
	freed     uint64             // for a wait for another thread: the time saved without the cause, at least explained
	stall     uint64             // longest uninterrupted part
	count     int                // waits it consists of; 0 means 1
	op        *cluster.Operation // for a wait for a rank
	part      *event.Collective  // the record of that wait, if its call was not stored
	why       string             // for Unknown
	aggregate bool               // from exact statistics only: acc is a typical call of many
	newborn   bool               // of a wait for a process that had just begun
	beside    bool               // lost outside acc's calls: between calls, or within other operations
}

// key says which claims have the same cause.
type key struct {
	kind string
	event.Thread
	loading bool // before the process's first launch
}

// compare orders claims: most lost first, then by start.
func (cl *claim) compare(o *claim) int {
	return cmp.Or(cmp.Compare(o.lost, cl.lost), cmp.Compare(cl.acc.Start, o.acc.Start))
}

// besides returns the time that the claim does not explain, but that is saved without the cause, ns.
func (cl *claim) besides() uint64 { return max(cl.explained, cl.freed) - cl.explained }

// waits returns those of the thread in which the cause is found: the one at the root of a wait for
// another thread, else the thread itself.
func (cl *claim) waits() []*event.OffCPU {
	if cl.through() {
		return cl.last().Rows
	}
	return cl.acc.Rows
}

// nested returns the driver call inside the call that took most of it.
func (cl *claim) nested() *event.Call {
	a := cl.acc
	if len(a.Nested) == 0 || a.Nested[0].Duration < a.Duration/2 {
		return nil
	}
	return a.Nested[0]
}
