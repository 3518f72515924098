// Package addrspace keeps what processes have mapped to execute, so that an address
// can be told to belong to a file. It reads a process's mappings when one of its
// addresses is first asked for, and again when an address falls outside of what
// is known. What is in the files is its users' business.
package addrspace

import (
	"slices"

	"github.com/ingero-io/ingero/capture/host/proc"
)

const (
	maxProcesses = 1024
	maxWait      = 1024 // calls of Process between two fruitless reads of the mappings
)

// Cache is the address spaces of processes, those used last. S is what the user
// keeps for each mapping.
type Cache[S any] struct {
	proc  proc.FS
	procs map[int]*Process[S]
	clock uint64 // counts calls of Process: the age of processes

	// OnRead, if set, is called with what was read of a process, and with nothing when
	// one is to be forgotten: for another cache, which may come to it only when the
	// process has ended, and is given it by Know and Forget.
	OnRead func(pid int, code []proc.Mapping)
}

// New returns a cache of the processes in fs.
func New[S any](fs proc.FS) *Cache[S] {
	return &Cache[S]{proc: fs, procs: map[int]*Process[S]{}}
}

// Process is what is known of a process's memory.
type Process[S any] struct {
	cache *Cache[S]
	pid   int
	used  uint64
	maps  []Mapping[S] // executable, sorted by start
	gone  bool         // could not be read any more: what is known is all there will be

	// An unknown address may mean a new library, but also code made at run time
	// or a stack that was walked wrongly. So the mappings are read again, less
	// and less often as long as that tells nothing.
	readAt, wait uint64 // not before this call of Process; how far apart
}

// Mapping is a range of memory that can be executed.
type Mapping[S any] struct {
	proc.Mapping
	State S
	via   int // a process that forked this one and has it too; 0: none
}

// Open finds a path that opens the mapping's file, while the process or the one it
// was forked from has it.
func (m *Mapping[S]) Open(fs proc.FS, pid int) (path string, err error) {
	if path, err = fs.Open(pid, m.Mapping); err != nil && m.via != 0 {
		return fs.Open(m.via, m.Mapping)
	}
	return path, err
}

// Process returns what is known of a process.
func (c *Cache[S]) Process(pid int) *Process[S] {
	c.clock++
	p := c.procs[pid]
	if p == nil {
		p = &Process[S]{cache: c, pid: pid}
		p.read()
		if p.gone {
			return p // not kept: the id may be used again
		}
		c.makeRoom()
		c.procs[pid] = p
	}
	p.used = c.clock
	return p
}

// Fork notes that a process was forked. It has what its parent has mapped, which
// can no longer be read once it has ended.
func (c *Cache[S]) Fork(parent, child int) {
	p := c.Process(parent)
	if p.gone && len(p.maps) == 0 || c.procs[child] != nil {
		return
	}
	c.makeRoom()
	q := &Process[S]{cache: c, pid: child, used: c.clock, maps: slices.Clone(p.maps)}
	for i := range q.maps {
		q.maps[i].via = parent
	}
	c.procs[child] = q
}

// Know sets what a process has mapped, as another cache read it.
func (c *Cache[S]) Know(pid int, code []proc.Mapping) {
	p := c.procs[pid]
	if p == nil {
		c.makeRoom()
		p = &Process[S]{cache: c, pid: pid}
		c.procs[pid] = p
	}
	p.set(code)
	p.gone, p.used = false, c.clock
}

// Forget drops what is known of a process, and reports whether that was anything.
func (c *Cache[S]) Forget(pid int) bool {
	if c.OnRead != nil {
		c.OnRead(pid, nil)
	}
	_, known := c.procs[pid]
	delete(c.procs, pid)
	return known
}

// Each calls f for every mapping that is known.
func (c *Cache[S]) Each(f func(*Mapping[S])) {
	for _, p := range c.procs {
		for i := range p.maps {
			f(&p.maps[i])
		}
	}
}

// makeRoom drops the process that was not asked for the longest, if there are
// too many.
func (c *Cache[S]) makeRoom() {
	if len(c.procs) < maxProcesses {
		return
	}
	oldest, age := 0, c.clock
	for pid, p := range c.procs {
		if p.used < age {
			oldest, age = pid, p.used
		}
	}
	delete(c.procs, oldest)
}

// read updates what is known of the process's mappings and reports whether it
// changed. A process that is gone keeps the last ones.
func (p *Process[S]) read() (changed bool) {
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
		if i := slices.IndexFunc(old, func(o Mapping[S]) bool { return o.Mapping == m }); i >= 0 {
			n.State, n.via = old[i].State, old[i].via
		}
		p.maps = append(p.maps, n)
	}
}

// Find returns the mapping that holds an address, nil if nothing that can be
// executed does. It is valid until the next call.
func (p *Process[S]) Find(addr uint64) *Mapping[S] {
	if m := p.find(addr); m != nil || p.gone || p.cache.clock < p.readAt {
		return m
	}
	if p.read() {
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
