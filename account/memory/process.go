package memory

import (
	"cmp"
	"slices"

	"github.com/ingero-io/ingero/event"
)

// process is the memory of one process.
type process struct {
	pid    uint32
	live   map[uint64]allocation // by address
	sites  map[siteKey]*site
	spaces [event.NumSpaces]event.Memory // counters since the last record
	used   [event.NumSpaces]bool
}

// allocation is memory in use.
type allocation struct {
	bytes uint64
	since uint64 // Unix ns at which the allocating call returned
	site  *site
}

type siteKey struct {
	space event.Space
	op    event.Op
	stack uint64
}

// site is a place in the code that allocates.
type site struct {
	siteKey
	bytes, count uint64 // live
	order        []birth
	reported     event.MemorySite // as last reported
	listed       bool             // among those reported last
}

// birth is an allocation in a site's order of age. A freed one stays until it is at the front, or until freed ones
// are the majority.
type birth struct{ ptr, since uint64 }

func newProcess(pid uint32) *process {
	return &process{pid: pid, live: map[uint64]allocation{}, sites: map[siteKey]*site{}}
}

// alloc counts an allocating call, and follows what it returned if there is room.
func (p *process) alloc(c *event.Call, space event.Space, room bool) {
	bytes, ptr := c.Args[0], c.Args[1]
	if c.Ret == 0 && (ptr == 0 || bytes == 0) {
		return // an allocation of nothing is allowed
	}
	p.used[space] = true
	m := &p.spaces[space]
	m.AllocNS += c.Duration
	if c.Ret != 0 {
		m.Failed++
		return
	}
	m.Allocs++
	m.Bytes += bytes
	// An address may be reused before the call that freed it has returned.
	p.drop(ptr)
	if !room {
		m.Untracked++
		return
	}
	s := p.site(siteKey{space, c.Op, c.Stack})
	a := allocation{bytes, c.End(), s}
	p.live[ptr] = a
	s.bytes += bytes
	s.count++
	s.order = append(s.order, birth{ptr, a.since})
	if len(s.order) > 64+2*int(s.count) {
		s.order = slices.DeleteFunc(s.order, func(b birth) bool { return !p.lives(b) })
	}
	m.LiveBytes += bytes
	m.LiveCount++
	m.PeakBytes = max(m.PeakBytes, m.LiveBytes)
}

// free counts a freeing call.
func (p *process) free(c *event.Call, space event.Space) {
	ptr := c.Args[0]
	if ptr == 0 {
		return // freeing nothing is allowed, and used to create the context
	}
	a, known := p.live[ptr]
	if known {
		space = a.site.space
	}
	p.used[space] = true
	m := &p.spaces[space]
	m.FreeNS += c.Duration
	if c.Ret != 0 {
		return
	}
	m.Frees++
	switch {
	case !known:
		m.UnknownFrees++
	case c.Start >= a.since: // otherwise it freed the earlier allocation
		p.drop(ptr)
	}
}

// drop ends an allocation, if there is one at the address.
func (p *process) drop(ptr uint64) {
	a, ok := p.live[ptr]
	if !ok {
		return
	}
	delete(p.live, ptr)
	a.site.bytes -= a.bytes
	a.site.count--
	m := &p.spaces[a.site.space]
	m.LiveBytes -= a.bytes
	m.LiveCount--
}

func (p *process) site(k siteKey) *site {
	s := p.sites[k]
	if s == nil && len(p.sites) >= maxSites {
		k.stack = 0
		s = p.sites[k]
	}
	if s == nil {
		s = &site{siteKey: k}
		p.sites[k] = s
	}
	return s
}

func (p *process) lives(b birth) bool {
	a, ok := p.live[b.ptr]
	return ok && a.since == b.since
}

// oldest returns when the oldest live allocation of a site was made, 0 if there is none.
func (p *process) oldest(s *site) uint64 {
	n := slices.IndexFunc(s.order, p.lives)
	if n < 0 {
		s.order = s.order[:0]
		return 0
	}
	s.order = s.order[n:]
	return s.order[0].since
}

// records appends the counters of each used space, and resets them.
func (p *process) records(at uint64, list []event.Memory) []event.Memory {
	for space := range event.NumSpaces {
		if !p.used[space] {
			continue
		}
		m := &p.spaces[space]
		m.At, m.PID, m.Space = at, p.pid, space
		list = append(list, *m)
		*m = event.Memory{LiveBytes: m.LiveBytes, LiveCount: m.LiveCount, PeakBytes: m.PeakBytes}
	}
	return list
}

// top appends the sites with most memory of each space, and those reported last time, if they changed since.
func (p *process) top(at uint64, list []event.MemorySite) []event.MemorySite {
	sites := make([]*site, 0, len(p.sites))
	for _, s := range p.sites {
		if s.count > 0 || s.listed {
			sites = append(sites, s)
		}
	}
	slices.SortFunc(sites, func(a, b *site) int {
		return cmp.Or(cmp.Compare(b.bytes, a.bytes), cmp.Compare(a.space, b.space), cmp.Compare(a.op, b.op),
			cmp.Compare(a.stack, b.stack))
	})
	var n [event.NumSpaces]int
	for _, s := range sites {
		n[s.space]++
		among := n[s.space] <= MaxSites
		if !among && !s.listed {
			continue
		}
		s.listed = among && s.count > 0
		if s.bytes == s.reported.LiveBytes && s.count == s.reported.LiveCount {
			continue
		}
		s.reported = event.MemorySite{
			At: at, PID: p.pid, Space: s.space, Op: s.op, Stack: s.stack,
			LiveBytes: s.bytes, LiveCount: s.count, Oldest: p.oldest(s),
		}
		list = append(list, s.reported)
	}
	return list
}
