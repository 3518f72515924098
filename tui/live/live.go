// Package live sums the records of a running tracer for live views: how each thread spent its time lately, what each
// operation waited for, which process has memory. It is arithmetic over batches, with no clock and no I/O, and its
// memory is bounded. Package diagnose finds causes; exact statistics are in the recording.
package live

import (
	"cmp"
	"slices"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/store"
)

// Limits of what is kept.
const (
	maxThreads = 512  // with times
	maxNames   = 4096 // of untraced processes
	keptEnded  = 32   // ended processes whose memory is still shown
	maxNotices = 64
	maxSites   = 4096 // stacks with known places, twice
)

// Stats receives every batch of a run, in order, from one goroutine.
type Stats struct {
	names   map[uint32]string
	traced  map[uint32]bool
	ended   []uint32 // traced processes that ended, oldest first
	threads map[event.Thread]*thread
	left    uint64 // times that a thread was not followed for lack of room
	ops     opSums
	memory  holders
	gpus    map[int]*GPU
	host    *store.Snapshot
	notices []Notice
	noticed uint64
}

// New returns empty Stats.
func New() *Stats {
	return &Stats{
		names: map[uint32]string{}, traced: map[uint32]bool{}, threads: map[event.Thread]*thread{},
		ops: newOpSums(), memory: newHolders(), gpus: map[int]*GPU{},
	}
}

// Picture is the state of a run at one time. It does not change later.
type Picture struct {
	At      uint64   // Unix ns
	Threads []Thread // of traced processes; those that dispatch work first
	// MoreThreads is how many times a thread was not followed for lack of room.
	MoreThreads uint64
	Ops         map[OpKey]OpTime
	Memory      []Holder // most device memory first
	GPUs        []GPU    // by number
	Host        *store.Snapshot
	Notices     []Notice // the last ones, oldest first
	Noticed     uint64   // total number of notices
}

// Notice is a single event that users must not miss.
type Notice struct {
	At     uint64 // Unix ns
	OOM    *event.Life
	Xid    *store.Xid
	Change *report.Change // steps take longer
	Text   string         // event of a fleet
	Over   bool           // the text says that something has ended
}

// GPU is the state of one GPU.
type GPU struct {
	Device store.GPUDevice
	Last   store.GPUSnapshot
	Users  []GPUUser // most memory first
}

// GPUUser is a process that has memory of a GPU.
type GPUUser struct {
	store.GPUProcess
	Process string // empty if unknown
}

// Batch adds a batch.
func (t *Stats) Batch(b *store.Batch) {
	for i := range b.Processes {
		t.name(&b.Processes[i])
	}
	t.ops.calls(b.Calls)
	for i := range b.ThreadTimes {
		t.time(&b.ThreadTimes[i])
	}
	for i := range b.InFlight {
		if th := t.threads[b.InFlight[i].Thread]; th != nil {
			th.stays = b.InFlight[i]
		}
	}
	t.memory.batch(b)
	for i := range b.Lives {
		t.life(&b.Lives[i])
	}
	for i := range b.Xids {
		x := b.Xids[i]
		t.notice(Notice{At: x.At, Xid: &x})
	}
	if n := len(b.Snapshots); n > 0 {
		s := b.Snapshots[n-1]
		t.host = &s
	}
	t.readings(b)
}

func (t *Stats) name(p *store.Process) {
	if p.Traced {
		t.traced[p.PID] = true
		t.ended = slices.DeleteFunc(t.ended, func(pid uint32) bool { return pid == p.PID }) // its pid is reused
	} else if _, known := t.names[p.PID]; !known && len(t.names) >= maxNames {
		return
	}
	t.names[p.PID] = p.Name
}

func (t *Stats) life(l *event.Life) {
	switch l.Kind {
	case event.LifeOOM:
		life := *l
		life.Comm = cmp.Or(l.Comm, t.names[l.PID])
		t.notice(Notice{At: l.At, OOM: &life})
	case event.LifeExit:
		if th := t.threads[l.Thread]; th != nil {
			th.ended = l.At
		}
		if l.PID == l.TID {
			t.exited(l.PID)
		}
	}
}

// exited notes that a process ended. Those that ended last stay in the picture.
func (t *Stats) exited(pid uint32) {
	if !t.traced[pid] {
		t.memory.forget(pid)
		delete(t.names, pid)
		return
	}
	t.ended = append(t.ended, pid)
	if len(t.ended) <= keptEnded {
		return
	}
	pid, t.ended = t.ended[0], t.ended[1:]
	t.ops.forget(pid)
	t.memory.forget(pid)
	delete(t.names, pid)
	delete(t.traced, pid)
}

// Changed adds a time from which on steps take longer.
func (t *Stats) Changed(c *report.Change) {
	own := *c
	t.notice(Notice{At: c.AtNS, Change: &own})
}

// Told adds an event of a fleet, as a line of text; over: something has ended.
func (t *Stats) Told(at uint64, line string, over bool) {
	t.notice(Notice{At: at, Text: line, Over: over})
}

func (t *Stats) notice(n Notice) {
	t.noticed++
	t.notices = append(t.notices, n)
	if len(t.notices) > maxNotices {
		t.notices = slices.Delete(t.notices, 0, len(t.notices)-maxNotices)
	}
}

func (t *Stats) gpu(n int) *GPU {
	if t.gpus[n] == nil {
		t.gpus[n] = &GPU{Device: store.GPUDevice{GPU: n, Node: -1}}
	}
	return t.gpus[n]
}

// readings takes in readings of GPUs.
func (t *Stats) readings(b *store.Batch) {
	for i := range b.GPUDevices {
		t.gpu(b.GPUDevices[i].GPU).Device = b.GPUDevices[i]
	}
	for i := range b.GPUs {
		t.gpu(b.GPUs[i].GPU).Last = b.GPUs[i]
	}
	for _, p := range b.GPUMemory {
		g := t.gpu(p.GPU)
		g.Users = slices.DeleteFunc(g.Users, func(u GPUUser) bool { return u.PID == p.PID })
		if p.Bytes > 0 || !p.Known {
			g.Users = append(g.Users, GPUUser{p, t.names[p.PID]})
		}
	}
}

// Picture returns the state at a time in Unix ns.
func (t *Stats) Picture(at uint64) *Picture {
	p := &Picture{
		At: at, Threads: t.times(at), MoreThreads: t.left, Ops: t.ops.picture(), Memory: t.holders(),
		Host: t.host, Notices: slices.Clone(t.notices), Noticed: t.noticed,
	}
	slices.SortStableFunc(p.Notices, func(a, b Notice) int { return cmp.Compare(a.At, b.At) })
	for _, g := range t.gpus {
		c := *g
		c.Users = slices.Clone(g.Users)
		slices.SortFunc(c.Users,
			func(a, b GPUUser) int { return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.PID, b.PID)) })
		p.GPUs = append(p.GPUs, c)
	}
	slices.SortFunc(p.GPUs, func(a, b GPU) int { return cmp.Compare(a.Device.GPU, b.Device.GPU) })
	return p
}
