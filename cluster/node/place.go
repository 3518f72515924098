package node

import (
	"time"

	"github.com/ingero-io/ingero/cluster/health"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// flightFor is for how long a call is taken to be in flight that was seen so: calls in flight are read once a
// second.
const flightFor = 3 * time.Second

// flight is a wait for the GPU or for other ranks that has not returned.
type flight struct{ start, seen uint64 } // Unix ns

// waiting takes calls in flight, of ranks: the one that began first.
func (n *Node) waiting(b *store.Batch) {
	for i := range b.InFlight {
		f := &b.InFlight[i]
		r := n.ranks[f.PID]
		if r == nil || f.Op.Role() != event.RoleSync && f.Op.Source() != event.SourceNCCL {
			continue
		}
		switch old := r.flight; {
		case f.End > 0 && old.start == f.Start:
			r.flight = flight{}
		case f.End == 0 && (old.start == 0 || f.Start <= old.start || f.At-min(old.seen, f.At) > uint64(flightFor)):
			r.flight = flight{f.Start, f.At}
		}
	}
}

// place is how far a rank is in the communicator that its steps are counted by. When an operation ended on
// the GPU is not known; that the host waits is.
func (n *Node) place(r *rank) health.Place {
	at := n.work.Entered(r.pid, r.source.Comm)
	if at == 0 || r.ended > 0 {
		return health.Place{}
	}
	p := health.Place{Comm: max(1, uint32(r.source.Comm^r.source.Comm>>32)), Enqueued: at, Completed: at}
	if f := r.flight; f.start > 0 && uint64(n.now)-min(f.seen, uint64(n.now)) <= uint64(flightFor) {
		p.Open = n.now - time.Duration(f.start)
	}
	return p
}
