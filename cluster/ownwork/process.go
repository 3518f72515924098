package ownwork

import (
	"strings"

	"github.com/ingero-io/ingero/account/collective"
	"github.com/ingero-io/ingero/event"
)

// kind is the meaning of a call for own work.
type kind uint8

const (
	other   kind = iota
	launch       // adds to the launch queue
	graph        // launches a graph
	copying      // copies, and may wait for the copy; its arguments give the direction
	toHost       // copies to the host, and may wait for the copy
	sync
	move  // a collective
	group // may launch collectives
	gone  // ends a communicator
)

// kinds is an array by event.Op, since every call is looked up in it.
var kinds = func() (k [event.OpSlots]kind) {
	for i := range event.Catalog {
		o := &event.Catalog[i]
		v := other
		switch {
		case o.Role == event.RoleCollective:
			v = move
		case o.Role == event.RoleSync:
			v = sync
		case o.Role == event.RoleLaunch && o.Op.Source() == event.SourceGraph:
			v = graph
		case o.Role == event.RoleCopy && strings.Contains(o.Name, "DtoH"):
			v = toHost
		case o.Role == event.RoleCopy && len(o.Args) > 1 && o.Args[1].Name == "kind":
			v = copying
		case o.Role == event.RoleLaunch, o.Role == event.RoleCopy:
			v = launch
		case o.Op == event.OpGroupEnd:
			v = group
		case o.Name == "ncclCommDestroy", o.Name == "ncclCommAbort":
			v = gone
		}
		k[o.Op.Slot()] = v
	}
	return k
}()

// process is the state of one process.
type process struct {
	pid     uint32
	comms   map[uint64]*communicator // by handle
	last    *communicator            // of the last collective
	threads map[uint32]*thread       // dispatching threads, by number
	thread  *thread                  // of the last call
	waits   waits
	clocks  []clock // oldest first

	launches uint32 // total; may wrap
	pairs    uint64 // number of sends and receives
	graphs   uint64 // Unix ns of the last graph launch
	moved    uint64 // Unix ns of the last collective or send

	chosen, rival *communicator
	rivalFor      int // how often in a row rival was better
	counts        counts
	follow        follow
}

// thread is a dispatching thread. Only the waits of such threads keep the rank from working. Waits of other threads,
// such as one that watches collectives, do not.
type thread struct {
	tid    uint32
	copied uint64 // Unix ns: begin of the copy to the host that was the thread's last call, 0: it was another call
}

type clock struct {
	at    uint64
	share float64
}

func newProcess(pid uint32) *process {
	return &process{pid: pid, comms: map[uint64]*communicator{}, threads: map[uint32]*thread{}}
}

// call takes in a call. Calls within another call count with the outermost one.
func (p *process) call(c *event.Call, k kind) {
	if c.Depth > 0 {
		if k == move { // as one that a wrapper makes
			p.move(c)
		}
		return
	}
	th := p.thread
	if th == nil || th.tid != c.TID {
		th = p.threads[c.TID]
		if th == nil {
			if k == other || k == sync || len(p.threads) >= maxThreads {
				return
			}
			th = &thread{tid: c.TID}
			p.threads[c.TID] = th
		}
		p.thread = th
	}
	copied := th.copied
	th.copied = 0
	switch k {
	case launch:
		p.launches += max(c.Weight, 1)
		p.waits.launched(c, plainLaunch)
	case copying, toHost: // even a long one may be the copy alone
		p.launches += max(c.Weight, 1)
		p.waits.queued++
		if k == toHost || c.Args[1] == deviceToHost {
			th.copied = c.Start
		}
	case graph:
		p.launches += max(c.Weight, 1)
		p.graphs = c.Start
	case move:
		p.move(c)
		p.waits.launched(c, collectiveLaunch)
	case group:
		p.waits.launched(c, collectiveLaunch)
	case sync:
		p.waits.synchronised(c, copied)
	case gone:
		p.forget(c.Args[0])
	}
}

// deviceToHost is cudaMemcpyDeviceToHost (driver_types.h).
const deviceToHost = 2

// move takes in a collective's call.
func (p *process) move(c *event.Call) {
	if c.Ret != 0 {
		return
	}
	p.waits.open = true
	x := collective.Decode(c)
	p.moved = max(p.moved, x.At)
	if x.PairWise() {
		p.pairs++
		return
	}
	m := p.last
	if m == nil || m.handle != x.Comm {
		if m = p.comms[x.Comm]; m == nil {
			if len(p.comms) >= maxComms {
				p.forgetOldest()
			}
			m = &communicator{handle: x.Comm}
			p.comms[x.Comm] = m
		}
		p.last = m
	}
	m.add(&x, p.launches, uint32(p.waits.full/1000))
}

func (p *process) forget(handle uint64) {
	m := p.comms[handle]
	if m == nil {
		return
	}
	delete(p.comms, handle)
	if p.last == m {
		p.last = nil
	}
}

func (p *process) forgetOldest() {
	var oldest *communicator
	for _, m := range p.comms {
		if oldest == nil || m.latest() < oldest.latest() {
			oldest = m
		}
	}
	p.forget(oldest.handle)
}

// collective takes in a finished collective, with its communicator and the wait for it.
func (p *process) collective(x *event.Collective) {
	if m := p.comms[x.Comm]; m != nil && !x.PairWise() && x.Start >= m.born {
		m.known, m.id, m.rank, m.ranks = true, x.CommID, x.Rank, x.Ranks
	}
	if x.SyncOp != 0 && p.threads[x.SyncTID] != nil {
		p.waits.waited(x)
	}
}

func (p *process) clock(at uint64, share float64) {
	if len(p.clocks) >= maxClocks {
		p.clocks = append(p.clocks[:0], p.clocks[1:]...)
	}
	p.clocks = append(p.clocks, clock{at, share})
}

// clockIn returns the mean clock of the GPU in an interval, 0 if there is no reading.
func (p *process) clockIn(from, to uint64) float64 {
	sum, n := 0.0, 0.0
	for _, c := range p.clocks {
		if c.at+uint64(clockFor) >= from && c.at <= to+uint64(clockFor) {
			sum, n = sum+c.share, n+1
		}
	}
	if n == 0 {
		return 0
	}
	return sum / n
}
