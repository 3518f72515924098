// Package addrspace caches the executable mappings of processes, to find the file of an address. It
// reads a process's mappings when one of its addresses is first looked up, and again when an
// address is outside of the known mappings. It does not read the files.
package addrspace

import (
	"cmp"
	"slices"

	"github.com/ingero-io/ingero/capture/host/proc"
	"github.com/ingero-io/ingero/capture/limit"
	"github.com/ingero-io/ingero/event/lists"
)

const (
	maxProcesses = 1024
	maxWait      = 1024 // calls of Process between two reads of the mappings that found nothing new
)

// Cache holds the mappings of the most recently used processes. S is the user's data for each mapping.
type Cache[S any] struct {
	proc  proc.FS
	procs map[int]*Process[S]
	kept  int    // mappings, of all processes
	clock uint64 // counts calls of Process, to find the least recently used process
	asked int    // the process that Next returned last

	// OnRead, if set, is called with the mappings read of a process, and with nil when the
	// process is to be forgotten. This is for another cache that may be used only after the
	// process has ended; it gets the data by Know and Forget.
	OnRead func(pid int, code []proc.Mapping)
}

// New returns a cache of the processes in fs.
func New[S any](fs proc.FS) *Cache[S] {
	return &Cache[S]{proc: fs, procs: map[int]*Process[S]{}}
}

// Process is the known mappings of a process.
type Process[S any] struct {
	cache *Cache[S]
	pid   int
	used  uint64
	maps  []Mapping[S] // executable, sorted by start
	kept  bool         // it is one of the cache's
	gone  bool         // it can no longer be read: the known mappings are final

	// An unknown address may be in a new library, but also in code made at run time, or come
	// from a wrong stack walk. So the mappings are read again, less and less often while that
	// finds nothing.
	readAt, wait uint64 // not before this call of Process; current interval
}

// Mapping is a range of memory that can be executed.
type Mapping[S any] struct {
	proc.Mapping
	State S
	via   int // a process that forked this one and also has the mapping; 0: none
}

// Open finds a path that opens the mapping's file, while this process or the one it was forked from
// has it.
func (m *Mapping[S]) Open(fs proc.FS, pid int) (path string, err error) {
	if path, err = fs.Open(pid, m.Mapping); err != nil && m.via != 0 {
		return fs.Open(m.via, m.Mapping)
	}
	return path, err
}

// Process returns the known mappings of a process.
func (c *Cache[S]) Process(pid int) *Process[S] {
	c.clock++
	p := c.procs[pid]
	if p == nil {
		p = &Process[S]{cache: c, pid: pid}
		p.readMappings()
		if p.gone {
			return p // not kept: the id may be used again
		}
		c.keep(pid, p)
	}
	p.used = c.clock
	return p
}

// keep adds a process. Of many, or with many mappings, the least recently used ones are dropped.
func (c *Cache[S]) keep(pid int, p *Process[S]) {
	for len(c.procs) >= maxProcesses {
		c.dropOldest(nil)
	}
	p.used, p.kept = c.clock, true
	c.procs[pid] = p
	c.countMappings(p, len(p.maps))
}

// countMappings notes that a process that is kept has so many mappings more.
func (c *Cache[S]) countMappings(p *Process[S], more int) {
	if !p.kept {
		return
	}
	for c.kept += more; c.kept > limit.MappingsKept && len(c.procs) > 1; {
		c.dropOldest(p)
	}
}

// Refresh reads the mappings of a process now. Call it when the process has mapped something: it may
// end before an address in the new mapping is looked up.
func (c *Cache[S]) Refresh(pid int) {
	p := c.procs[pid]
	if p == nil {
		c.Process(pid)
		return
	}
	if !p.gone && p.readMappings() {
		p.wait = 0
	}
}

// Fork notes that a process was forked. The child has its parent's mappings, which can no longer be
// read once it has ended.
func (c *Cache[S]) Fork(parent, child int) {
	p := c.Process(parent)
	if p.gone && len(p.maps) == 0 || c.procs[child] != nil {
		return
	}
	q := &Process[S]{cache: c, pid: child, maps: slices.Clone(p.maps)}
	for i := range q.maps {
		q.maps[i].via = parent
	}
	c.keep(child, q)
}

// Know sets a process's mappings, as another cache read them.
func (c *Cache[S]) Know(pid int, code []proc.Mapping) {
	p := c.procs[pid]
	if p == nil {
		p = &Process[S]{cache: c, pid: pid}
		c.keep(pid, p)
	}
	p.set(code)
	p.gone, p.used = false, c.clock
}

// Forget drops a process, and reports whether it was known.
func (c *Cache[S]) Forget(pid int) bool {
	if c.OnRead != nil {
		c.OnRead(pid, nil)
	}
	_, known := c.procs[pid]
	c.drop(pid)
	return known
}

func (c *Cache[S]) drop(pid int) {
	if p := c.procs[pid]; p != nil {
		c.kept -= len(p.maps)
		p.kept = false
		delete(c.procs, pid)
	}
}

// Len is how many processes are known.
func (c *Cache[S]) Len() int { return len(c.procs) }

// Next returns the known processes in turn, in the order of their ids; 0 if there are none.
func (c *Cache[S]) Next() int {
	c.asked = lists.InTurn(c.procs, c.asked)
	return c.asked
}

// Each calls f for every known mapping.
func (c *Cache[S]) Each(f func(*Mapping[S])) {
	for pid := range c.procs {
		c.Of(pid, f)
	}
}

// Of calls f for every known mapping of a process.
func (c *Cache[S]) Of(pid int, f func(*Mapping[S])) {
	if p := c.procs[pid]; p != nil {
		for i := range p.maps {
			f(&p.maps[i])
		}
	}
}

// dropOldest drops the least recently used process, except one.
func (c *Cache[S]) dropOldest(except *Process[S]) {
	oldest := -1
	for pid, p := range c.procs {
		if p != except && (oldest < 0 || p.used < c.procs[oldest].used) {
			oldest = pid
		}
	}
	c.drop(oldest)
}

// readMappings updates the process's mappings and reports whether they changed. A process that is gone
// keeps the last ones.
func (p *Process[S]) readMappings() (changed bool) {
	all, err := p.cache.proc.Code(p.pid)
	// A process that has ended but is not reaped yet has an empty list.
	if err != nil || len(all) == 0 {
		p.gone = true
		return false
	}
	old := p.maps
	p.set(all)
	if changed = !slices.EqualFunc(p.maps, old, func(a, b Mapping[S]) bool { return a.Mapping == b.Mapping }); changed &&
		p.cache.OnRead != nil {
		p.cache.OnRead(p.pid, all)
	}
	return changed
}

// set replaces the mappings. Those that stay keep their state.
func (p *Process[S]) set(code []proc.Mapping) {
	old := p.maps
	p.maps = nil
	for _, m := range code {
		n := Mapping[S]{Mapping: m}
		i, found := slices.BinarySearchFunc(old, m.Start, func(o Mapping[S], at uint64) int {
			return cmp.Compare(o.Start, at)
		})
		if found && old[i].Mapping == m {
			n.State, n.via = old[i].State, old[i].via
		}
		p.maps = append(p.maps, n)
	}
	p.cache.countMappings(p, len(p.maps)-len(old))
}

// Find returns the mapping that contains an address, nil if no executable one does. It is valid
// until the next call.
func (p *Process[S]) Find(addr uint64) *Mapping[S] {
	if m := p.find(addr); m != nil || p.gone || p.cache.clock < p.readAt {
		return m
	}
	if p.readMappings() {
		p.wait = 0
	} else {
		p.wait = min(2*p.wait+1, maxWait)
	}
	p.readAt = p.cache.clock + 1 + p.wait
	return p.find(addr)
}

func (p *Process[S]) find(addr uint64) *Mapping[S] {
	i, found := slices.BinarySearchFunc(p.maps, addr, func(m Mapping[S], a uint64) int {
		switch {
		case m.End <= a:
			return -1
		case m.Start > a:
			return 1
		}
		return 0
	})
	if !found {
		return nil
	}
	return &p.maps[i]
}
