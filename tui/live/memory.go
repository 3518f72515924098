package live

import (
	"cmp"
	"slices"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// Holder is the memory of a process.
type Holder struct {
	PID     uint32
	Process string
	Ended   bool
	Spaces  [event.NumSpaces]Held
	Sites   []Site // with most memory first
	Host    *event.HostMemory
}

// Held is a process's memory in one space, according to its own calls.
type Held struct {
	event.Memory        // as last recorded; the sums below are of the whole run
	Allocs       uint64 // successful
	Failed       uint64 // returned an error
	Used         bool   // at least one allocation was tried
}

// Site is a call site whose memory is in use.
type Site struct {
	event.MemorySite
	Where string // in the program's own code, empty if unknown
}

// holders follows the memory of processes.
type holders struct {
	procs map[uint32]*holder
	// where has the places of stacks: those seen lately, and those before. Only stacks of sites are needed, but which
	// stacks these are is known later.
	where, before map[uint64]string
}

type holder struct {
	spaces [event.NumSpaces]Held
	sites  map[siteKey]Site
	host   *event.HostMemory
}

type siteKey struct {
	space event.Space
	op    event.Op
	stack uint64
}

func newHolders() holders {
	return holders{procs: map[uint32]*holder{}, where: map[uint64]string{}}
}

func (h *holders) batch(b *store.Batch) {
	for i := range b.Stacks {
		if len(h.where) >= maxSites {
			h.before, h.where = h.where, map[uint64]string{}
		}
		if f := event.Site(b.Stacks[i].Frames); f != nil {
			h.where[b.Stacks[i].ID] = f.String()
		}
	}
	for i := range b.Memory {
		h.memory(&b.Memory[i])
	}
	for i := range b.MemorySites {
		h.site(&b.MemorySites[i])
	}
	for i := range b.HostMemory {
		m := b.HostMemory[i]
		h.process(m.PID).host = &m
	}
}

func (h *holders) process(pid uint32) *holder {
	p := h.procs[pid]
	if p == nil {
		p = &holder{sites: map[siteKey]Site{}}
		h.procs[pid] = p
	}
	return p
}

func (h *holders) memory(m *event.Memory) {
	if m.Space >= event.NumSpaces {
		return
	}
	s := &h.process(m.PID).spaces[m.Space]
	s.Memory, s.Used = *m, true
	s.Allocs += m.Allocs
	s.Failed += m.Failed
}

func (h *holders) site(m *event.MemorySite) {
	p := h.procs[m.PID]
	if p == nil {
		return
	}
	k := siteKey{m.Space, m.Op, m.Stack}
	if m.LiveCount == 0 {
		delete(p.sites, k)
		return
	}
	p.sites[k] = Site{*m, cmp.Or(p.sites[k].Where, h.where[m.Stack], h.before[m.Stack])}
}

func (h *holders) forget(pid uint32) { delete(h.procs, pid) }

// holders lists the processes that have, or had, memory.
func (t *Stats) holders() []Holder {
	var list []Holder
	for pid, p := range t.memory.procs {
		x := Holder{PID: pid, Process: t.names[pid], Ended: slices.Contains(t.ended, pid), Spaces: p.spaces, Host: p.host}
		for _, s := range p.sites {
			x.Sites = append(x.Sites, s)
		}
		slices.SortFunc(x.Sites, func(a, b Site) int {
			return cmp.Or(cmp.Compare(b.LiveBytes, a.LiveBytes), cmp.Compare(a.Space, b.Space), cmp.Compare(a.Op, b.Op),
				cmp.Compare(a.Stack, b.Stack))
		})
		list = append(list, x)
	}
	slices.SortFunc(list, func(a, b Holder) int {
		d := event.DeviceMemory
		return cmp.Or(cmp.Compare(b.Spaces[d].LiveBytes, a.Spaces[d].LiveBytes),
			cmp.Compare(b.Spaces[d].PeakBytes, a.Spaces[d].PeakBytes), cmp.Compare(a.PID, b.PID))
	})
	return list
}
