// Package collective follows the collective operations of processes in their own calls: the communicator, rank and
// sequence number of each, and which later call waited for it. It is arithmetic over events, with no clock and no
// I/O. Package diagnose finds out which rank was late.
package collective

import (
	"github.com/ingero-io/ingero/event"
)

// Bounds of what is kept.
const (
	MaxPending  = 4096           // collectives of a process that no call has waited for yet
	MaxAge      = 30_000_000_000 // ns that pending collectives are kept for
	maxEvents   = 8192           // followed CUDA events of a process
	maxStreams  = 256            // followed streams of a process
	maxDeferred = 4096           // calls of a group that has not ended
	maxGroups   = 1024           // threads of a process with such a group
	maxComms    = 1024           // communicators of a process
	maxLanes    = 4096           // kinds of operations of a communicator that are numbered
	lanesOfRank = 4              // or so many for each rank: what is sent to it, and received
	mostRanks   = 1 << 16
)

// Tracker follows any number of processes. Pass it every call, in the order in which the calls returned. A finished
// record says when the collective was waited for, or that no wait was seen.
type Tracker struct {
	procs map[uint32]*process
	done  []event.Collective
}

// NewTracker returns a Tracker.
func NewTracker() *Tracker { return &Tracker{procs: map[uint32]*process{}} }

// kind is the meaning of a call for collectives.
type kind uint8

const (
	other kind = iota
	initRank
	initAll
	split
	shrink
	move
	groupStart
	groupEnd
	syncStream
	syncAll
	syncEvent
	recordEvent
	waitEvent
)

// kinds is an array by event.Op, since every call is looked up in it.
var kinds = func() (k [event.OpSlots]kind) {
	for i := range event.Catalog {
		o := &event.Catalog[i]
		var v kind
		switch {
		case o.Role == event.RoleCollective:
			v = move
		case o.Shape == event.ShapeInitRank, o.Shape == event.ShapeInitScalable:
			v = initRank
		case o.Shape == event.ShapeInitAll:
			v = initAll
		case o.Shape == event.ShapeSplit:
			v = split
		case o.Shape == event.ShapeShrink:
			v = shrink
		default:
			v = byName[o.Name]
		}
		k[o.Op.Slot()] = v
	}
	return k
}()

var byName = map[string]kind{
	"ncclGroupStart": groupStart, "ncclGroupEnd": groupEnd,
	"cudaStreamSynchronize": syncStream, "cuStreamSynchronize": syncStream,
	"cudaDeviceSynchronize": syncAll, "cuCtxSynchronize": syncAll,
	"cudaEventSynchronize": syncEvent, "cuEventSynchronize": syncEvent,
	"cudaEventRecord": recordEvent, "cudaStreamWaitEvent": waitEvent,
}

// Calls takes in calls.
func (t *Tracker) Calls(calls []event.Call) {
	for i := range calls {
		c := &calls[i]
		k := kinds[c.Op.Slot()]
		if k == other {
			continue
		}
		p := t.procs[c.PID]
		if p == nil {
			if k > groupEnd {
				continue // it has no collectives so far
			}
			p = newProcess()
			t.procs[c.PID] = p
		}
		t.done = p.call(c, k, t.done)
	}
}

// Lives forgets processes that execute a new program. Call it after Calls with their earlier calls.
func (t *Tracker) Lives(lives []event.Life) {
	for i := range lives {
		if l := &lives[i]; l.Kind == event.LifeExec {
			t.forgetProcess(l.PID)
		}
	}
}

// Ended forgets processes whose main thread ended. Call it when no more of their calls can come.
func (t *Tracker) Ended(ends []event.Life) {
	for i := range ends {
		if l := &ends[i]; l.PID == l.TID {
			t.forgetProcess(l.PID)
		}
	}
}

func (t *Tracker) forgetProcess(pid uint32) {
	if p := t.procs[pid]; p != nil {
		t.done = p.abandon(^uint64(0), t.done)
		delete(t.procs, pid)
	}
}

// Take appends the records finished since the last Take. It also finishes those queued more than MaxAge before at
// (Unix ns) without a seen wait, or all of them if at is 0.
func (t *Tracker) Take(at uint64, list []event.Collective) []event.Collective {
	for _, p := range t.procs {
		if at == 0 {
			t.done = p.abandon(^uint64(0), t.done)
		} else {
			t.done = p.abandon(at-min(at, MaxAge), t.done)
		}
	}
	list = append(list, t.done...)
	t.done = t.done[:0]
	return list
}

// passed says which collectives precede a stream or an event. Those in the stream itself have numbers up to the
// process's latest one.
type passed map[uint64]uint64 // by stream, the number of the last collective waited for

type communicator struct {
	id          uint64
	rank, ranks int32
	counted     map[lane]uint32 // sequence numbers of operations that the tracer did not number
	children    uint64          // number of communicators derived from it
	child       bool
}

type lane struct {
	op   event.Op // 0: an operation of all ranks
	peer int32
}

type pending struct {
	event.Collective
	n uint64 // sequence number in the process
}

// process is the state of one process.
type process struct {
	comms   map[uint64]*communicator
	open    []pending // not waited for yet, in the order they were queued
	n       uint64
	streams map[uint64]passed // what streams have waited for through events
	events  map[uint64]passed
	groups  map[uint32]*group // by thread
}

// group has the calls of a thread between ncclGroupStart and ncclGroupEnd.
type group struct {
	depth int
	start uint64
	calls []event.Collective
}

func newProcess() *process {
	return &process{
		comms: map[uint64]*communicator{}, streams: map[uint64]passed{}, events: map[uint64]passed{},
		groups: map[uint32]*group{},
	}
}

func (p *process) call(c *event.Call, k kind, done []event.Collective) []event.Collective {
	switch k {
	case initRank:
		if c.Ret == 0 {
			p.made(c.Args[0], &communicator{id: c.Args[3], rank: int32(c.Args[2]), ranks: int32(c.Args[1])})
		}
	case initAll:
		if c.Ret == 0 { // the handles of the other communicators are not known
			p.made(c.Args[0], &communicator{id: 0, rank: 0, ranks: int32(c.Args[1])})
		}
	case split, shrink:
		if c.Ret == 0 {
			p.derive(c, k)
		}
	case move:
		return p.move(c, done)
	case groupStart:
		g := p.groups[c.TID]
		if g == nil {
			if len(p.groups) >= maxGroups { // their threads have ended within a group
				clear(p.groups)
			}
			g = &group{start: c.Start}
			p.groups[c.TID] = g
		}
		g.depth++
	case groupEnd:
		if g := p.groups[c.TID]; g != nil {
			if g.depth--; g.depth <= 0 {
				delete(p.groups, c.TID)
				for i := range g.calls {
					g.calls[i].At = c.Start
					done = p.queue(&g.calls[i], done)
				}
			}
		}
	case recordEvent:
		p.record(c.Args[0], c.Args[1])
	case waitEvent:
		p.waitEvent(c.Args[0], c.Args[1])
	case syncStream, syncAll, syncEvent:
		if c.Depth == 0 && len(p.open) > 0 {
			return p.sync(c, k, done)
		}
	}
	return done
}

// move handles a collective call.
func (p *process) move(c *event.Call, done []event.Collective) []event.Collective {
	x := Decode(c)
	if m := p.comms[x.Comm]; m != nil {
		x.CommID, x.Rank, x.Ranks = m.id, m.rank, m.ranks
		if m.child && x.PairWise() {
			x.CommID = 0 // peers are given as ranks of the child, which are not known
		}
		if x.Seq == 0 && c.Ret == 0 {
			x.Seq = m.number(&x)
		}
	}
	if c.Ret != 0 {
		return append(done, x)
	}
	if g := p.groups[c.TID]; g != nil {
		x.Group = g.start
		if len(g.calls) < maxDeferred {
			g.calls = append(g.calls, x)
			return done
		}
	}
	return p.queue(&x, done)
}

// Decode decodes a collective call's arguments.
func Decode(c *event.Call) event.Collective {
	how := func(n int) uint64 { return event.HowFields[n].Of(c.Args[2]) }
	x := event.Collective{
		At: c.Start, Start: c.Start, Duration: c.Duration, Thread: c.Thread, Op: c.Op, Ret: c.Ret,
		Comm: c.Args[0], Rank: -1, Bytes: c.Args[1], Stream: c.Args[3],
		Seq: uint32(how(0)), DataType: uint8(how(1)), ReduceOp: uint8(how(2)), Peer: -1,
	}
	if event.HasPeer(c.Op) {
		x.Peer = int32(how(3))
	}
	return x
}

func (p *process) queue(x *event.Collective, done []event.Collective) []event.Collective {
	if len(p.open) >= MaxPending {
		done = append(done, p.open[0].Collective)
		p.open = p.open[1:]
	}
	p.n++
	p.open = append(p.open, pending{*x, p.n})
	return done
}

// record notes what precedes an event: all that its stream holds so far, and what the stream itself has waited for.
func (p *process) record(ev, stream uint64) {
	if len(p.events) >= maxEvents {
		clear(p.events)
	}
	v := passed{stream: p.n}
	for s, n := range p.streams[stream] {
		v[s] = max(v[s], n)
	}
	p.events[ev] = v
}

func (p *process) waitEvent(stream, ev uint64) {
	v := p.events[ev]
	if v == nil {
		return
	}
	have := p.streams[stream]
	if have == nil {
		if len(p.streams) >= maxStreams {
			clear(p.streams)
		}
		have = passed{}
		p.streams[stream] = have
	}
	for s, n := range v {
		have[s] = max(have[s], n)
	}
}

// sync finishes the collectives that a call has waited for.
func (p *process) sync(c *event.Call, k kind, done []event.Collective) []event.Collective {
	covers := func(*pending) bool { return true }
	switch k {
	case syncStream:
		v := p.streams[c.Args[0]]
		covers = func(x *pending) bool { return x.Stream == c.Args[0] || x.n <= v[x.Stream] }
	case syncEvent:
		v := p.events[c.Args[0]]
		covers = func(x *pending) bool { return x.n <= v[x.Stream] }
	}
	kept := p.open[:0]
	for i := range p.open {
		x := &p.open[i]
		if x.At > c.Start || c.Ret != 0 || !covers(x) {
			kept = append(kept, *x)
			continue
		}
		x.SyncOp, x.SyncTID, x.SyncStart, x.SyncEnd = c.Op, c.TID, c.Start, c.End()
		done = append(done, x.Collective)
	}
	p.open = kept
	return done
}

// abandon finishes collectives queued before a time, without a wait.
func (p *process) abandon(before uint64, done []event.Collective) []event.Collective {
	n := 0
	for n < len(p.open) && p.open[n].At < before {
		done = append(done, p.open[n].Collective)
		n++
	}
	p.open = p.open[n:]
	return done
}
