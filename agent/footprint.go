package agent

import (
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/footprint"
)

// FootprintPolicy says which processes' system calls and files are counted.
type FootprintPolicy string

// The policies.
const (
	// FootprintAuto counts named processes without a CUDA library, and their children, until
	// one of them loads one. Where returns of probed functions are system calls (uretprobe,
	// x86-64 since Linux 6.11), counting them costs every traced CUDA call some 0.3 us.
	FootprintAuto FootprintPolicy = ""
	FootprintOn   FootprintPolicy = "on"  // all traced processes
	FootprintOff  FootprintPolicy = "off" // none
)

// cpuEvery is how often on-CPU times are read if no process ended. A read visits every thread of
// the machine, some 0.3 us each.
const cpuEvery = 5 * time.Second

// footprints takes the footprints of a run. The loop owns it.
type footprints struct {
	*shared
	policy  FootprintPolicy
	names   *processTable
	probe   *probe.Footprint // nil until a process is watched
	sum     *footprint.Sum
	procs   map[uint32]*event.ProcessCPU // watched ones, and those that ended lately
	libs    map[event.MappedLibrary]bool
	fresh   []event.MappedLibrary
	pending pendingMaps
	ended   bool // a process ended since CPU times were read
	read    time.Time
	last    *event.Footprint // what finish read, for the last second
	missed  uint64
	calls   uint64 // counted so far
	failed  bool   // logged once
	over    bool   // a watched process has loaded CUDA: none is watched any more
}

func newFootprints(s *shared, names *processTable) *footprints {
	return &footprints{
		shared: s, policy: s.opts.Footprint, names: names, sum: footprint.New(runtime.GOARCH),
		procs: map[uint32]*event.ProcessCPU{}, libs: map[event.MappedLibrary]bool{},
	}
}

func (p *footprints) follower() follower {
	return follower{
		start: p.start, mapped: p.mapped, traced: p.also, life: p.life, second: p.second, close: p.close,
		stop: func(s *Summary) error {
			p.finish()
			s.Footprint = p.sum.Report()
			return nil
		},
	}
}

// watches reports whether a process's footprint is taken.
func (p *footprints) watches(pid uint32) bool { return p.procs[pid] != nil }

// start watches the processes that exist at the beginning.
func (p *footprints) start(b *beginning) {
	p.watch(p.first()...)
	for pid := range p.procs {
		p.names.process(int(pid), true)
	}
	b.started.Processes = p.names.traced()
	b.started.Footprint = slices.DeleteFunc(p.names.traced(), func(t Traced) bool { return !p.watches(uint32(t.PID)) })
}

// first are the processes to watch from the beginning.
func (p *footprints) first() (pids []int) {
	x := p.targets
	switch p.policy {
	case FootprintOff:
	case FootprintOn:
		for pid := range x.traced {
			pids = append(pids, pid)
		}
		for pid := range x.processTree {
			if !x.traced[pid] {
				pids = append(pids, pid)
			}
		}
	default:
		for _, pid := range p.opts.PIDs {
			if !x.traced[pid] {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// also handles a process that begins to be traced.
func (p *footprints) also(pid int) {
	watched := p.watches(uint32(pid))
	switch {
	case p.policy == FootprintOn && !watched:
		p.watch(pid)
	case p.policy == FootprintAuto && watched && !p.over:
		p.log.Debug("the footprint ends here: the process now uses CUDA, so its calls are traced", "pid", pid)
		p.finish()
		p.close()
		clear(p.procs)
		p.over = true
		p.sum.Over(uint64(time.Now().UnixNano()))
	}
}

func (p *footprints) watch(pids ...int) {
	if len(pids) == 0 || p.failed || p.over {
		return
	}
	err := error(nil)
	if p.probe == nil {
		p.probe, err = p.tracer.OpenFootprint()
	}
	if err == nil {
		err = p.tracer.Adopt(pids...) // on-CPU times come from the ledger
	}
	if err == nil {
		err = p.probe.Watch(pids...)
	}
	if err != nil {
		p.failed = true
		p.log.Warn("footprints are not recorded", "err", err)
		return
	}
	now := uint64(time.Now().UnixNano())
	for _, pid := range pids {
		p.begin(uint32(pid), 0, now)
		maps, err := p.fs.Code(pid)
		if err != nil {
			continue // it ended: its counts are in the tables
		}
		for _, m := range maps {
			if len(m.Path) > 0 && m.Path[0] == '/' {
				p.library(uint32(pid), m.Path)
			}
		}
	}
}

func (p *footprints) begin(pid, parent uint32, at uint64) {
	p.procs[pid] = &event.ProcessCPU{PID: pid, Parent: parent, First: at}
}

func (p *footprints) library(pid uint32, path string) {
	l := event.MappedLibrary{PID: pid, Path: path}
	if !p.libs[l] && !strings.HasPrefix(path, "//") { // memory without a file: //anon
		p.libs[l] = true
		p.fresh = append(p.fresh, l)
	}
}

// mapped notes a file that a watched process mapped executable. The process may also be a child
// whose fork was not reported yet.
func (p *footprints) mapped(m probe.Mapped) {
	switch {
	case p.probe == nil:
	case p.procs[uint32(m.PID)] != nil:
		p.library(uint32(m.PID), m.Path)
	default:
		p.pending.addMapped(m)
	}
}

// life follows the children of watched processes.
func (p *footprints) life(l *event.Life) {
	if p.probe == nil || l.PID != l.TID {
		return
	}
	switch l.Kind {
	case event.LifeFork:
		if p.procs[l.Parent.PID] == nil {
			return
		}
		p.probe.Unended(l.PID)
		p.begin(l.PID, l.Parent.PID, l.At)
		p.pending.of(l.PID, func(m *probe.Mapped) { p.library(l.PID, m.Path) })
	case event.LifeExit:
		if c := p.procs[l.PID]; c != nil {
			c.Ended = l.At
			p.ended = true
			p.probe.Ended(l.PID, l.At)
		}
	}
}

func (p *footprints) second(s *second) {
	s.item.batch.Footprint = p.take(s.now)
	s.status.Syscalls = p.calls
	s.lost[event.LostFootprint] += p.missed
	if p.over {
		s.lost[event.FootprintOver]++
	}
}

// take returns the changes since the last call.
func (p *footprints) take(now time.Time) *event.Footprint {
	if f := p.last; f != nil {
		p.last = nil
		return f
	}
	p.pending.forget(since)
	if p.probe == nil {
		return nil
	}
	cpu := p.ended || now.Sub(p.read) >= cpuEvery
	f, err := p.probe.Read(uint64(now.UnixNano()), cpu)
	if err != nil {
		p.log.Warn("cannot read footprints", "err", err)
	}
	if cpu {
		p.read, p.ended = now, false
	}
	f.Libraries, p.fresh = p.fresh, nil
	for i := range f.CPU {
		c := &f.CPU[i]
		if have := p.procs[c.PID]; have != nil {
			c.Parent, c.First, c.Ended = have.Parent, have.First, max(c.Ended, have.Ended)
		}
		if c.Comm = p.names.name(c.PID); c.Ended != 0 {
			p.forget(c.PID)
		}
	}
	for i := range f.Syscalls {
		p.calls += f.Syscalls[i].Calls
	}
	p.missed = p.probe.Missed()
	p.sum.Add(&f)
	return &f
}

// forget drops a process that ended and was reported.
func (p *footprints) forget(pid uint32) {
	delete(p.procs, pid)
	for l := range p.libs {
		if l.PID == pid {
			delete(p.libs, l)
		}
	}
}

// finish stops counting and reads the rest while the ledger, which has the on-CPU times, still
// runs.
func (p *footprints) finish() {
	if p.probe == nil {
		return
	}
	if err := p.probe.Detach(); err != nil {
		p.log.Warn("cannot detach", "err", err)
	}
	p.ended = true
	p.last = p.take(time.Now())
}

func (p *footprints) close() {
	if p.probe != nil {
		if err := p.probe.Close(); err != nil { // what stays attached ends with this process
			p.log.Warn("cannot detach", "err", err)
		}
		p.probe = nil
	}
}
