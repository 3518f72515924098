// Package elf names the user-space addresses of a stack: which file each one
// lies in and, if that file has symbols, which function.
//
// It reads symbol tables (.symtab and .dynsym) and nothing else: no DWARF, so
// no source lines and no inlined functions. A table is kept per file, not per
// process; what a process has mapped where is read when one of its addresses is
// first asked for, and again when an address falls outside of what is known. It
// does not walk stacks, and it does not know Python.
package elf

import (
	"path"
	"slices"
	"sync"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/host/proc"
)

// How much is kept. A table costs 16 bytes and a name per function: a large
// framework library takes some 30 MB, an ordinary one well under one.
const (
	maxFiles      = 64
	maxTableBytes = 64 << 20
	maxProcesses  = 1024
	maxWait       = 1024 // calls of Resolve between two fruitless reads of the mappings
)

// Resolver names addresses of processes. It is safe for concurrent use.
type Resolver struct {
	proc proc.FS

	mu    sync.Mutex // guards what follows, also while files are read
	procs map[int]*process
	clock uint64 // counts calls of Resolve: the age of processes
	files tables
}

// New returns a resolver that finds processes in fs.
func New(fs proc.FS) *Resolver {
	return &Resolver{proc: fs, procs: map[int]*process{}, files: newTables(maxFiles, maxTableBytes)}
}

// process is what is known of a process's memory.
type process struct {
	used uint64
	maps []mapping // executable, sorted by start
	gone bool      // could not be read any more: what is known is all there will be

	// An unknown address may mean a new library, but also code made at run time
	// or a stack that was walked wrongly. So the mappings are read again, less
	// and less often as long as that tells nothing.
	readAt, wait uint64 // not before this call of Resolve; how far apart
}

type mapping struct {
	proc.Mapping
	module string
	state  fileState
}

// fileState says what the process's first use of a mapping found.
type fileState uint8

const (
	fileUnseen     fileState = iota
	fileKnown                // compared with the cached table, or loaded
	fileUnreadable           // it cannot be opened any more
)

// Resolve names return addresses of a process, innermost first. There is one
// frame for each address. What is not known stays empty: the symbol of a
// function without one, the module of memory without a file, and both for a
// process that ended before it was first asked for.
//
// A return address is the instruction after a call, which may be the first of
// the next function; so the byte before it is looked up. Offset is that of the
// address in the module, as addr2line takes it.
func (r *Resolver) Resolve(pid int, addrs []uint64) []event.Frame {
	r.mu.Lock()
	defer r.mu.Unlock()
	frames := make([]event.Frame, len(addrs))
	p := r.process(pid)
	for i, a := range addrs {
		frames[i] = event.Frame{Kind: event.FrameNative, Addr: a}
		if a == 0 {
			continue
		}
		if m := r.mapping(pid, p, a-1); m != nil {
			r.name(pid, m, &frames[i])
		}
	}
	return frames
}

// Forget drops what is known of a process's memory. Call it when the process
// executes a new program, loads or unloads a library, and when it has ended and
// its last stacks are resolved: addresses and process ids are used again.
func (r *Resolver) Forget(pid int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.procs, pid)
}

func (r *Resolver) process(pid int) *process {
	r.clock++
	p := r.procs[pid]
	if p == nil {
		p = &process{}
		r.read(pid, p)
		if p.gone {
			return p // not kept: the id may be used again
		}
		r.makeRoom()
		r.procs[pid] = p
	}
	p.used = r.clock
	return p
}

// makeRoom drops the process that was not asked for the longest, if there are
// too many.
func (r *Resolver) makeRoom() {
	if len(r.procs) < maxProcesses {
		return
	}
	oldest, age := 0, r.clock
	for pid, p := range r.procs {
		if p.used < age {
			oldest, age = pid, p.used
		}
	}
	delete(r.procs, oldest)
}

// read updates what is known of the process's mappings and reports whether it
// changed. A process that is gone keeps the last ones.
func (r *Resolver) read(pid int, p *process) (changed bool) {
	all, err := r.proc.Maps(pid)
	// A process that has ended but is not reaped yet has an empty list.
	if err != nil || len(all) == 0 {
		p.gone = true
		return false
	}
	old := p.maps
	p.maps = nil
	for _, m := range all {
		if !m.Exec {
			continue
		}
		n := mapping{Mapping: m, module: path.Base(m.Path)}
		if i := slices.IndexFunc(old, func(o mapping) bool { return o.Mapping == m }); i >= 0 {
			n.state = old[i].state
		}
		p.maps = append(p.maps, n)
	}
	return !slices.EqualFunc(p.maps, old, func(a, b mapping) bool { return a.Mapping == b.Mapping })
}

// mapping finds the mapping that holds an address, nil if no file does.
func (r *Resolver) mapping(pid int, p *process, addr uint64) *mapping {
	if m := p.find(addr); m != nil || p.gone || r.clock < p.readAt {
		return m
	}
	if r.read(pid, p) {
		p.wait = 0
	} else {
		p.wait = min(2*p.wait+1, maxWait)
	}
	p.readAt = r.clock + 1 + p.wait
	return p.find(addr)
}

func (p *process) find(addr uint64) *mapping {
	i, found := slices.BinarySearchFunc(p.maps, addr, func(m mapping, a uint64) int {
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

// name fills in what the mapping and its file know of the frame's address.
func (r *Resolver) name(pid int, m *mapping, f *event.Frame) {
	f.Module = m.module
	f.Offset = f.Addr - m.Start + m.Offset // in the file, unless the file says better
	t := r.table(pid, m)
	if t == nil {
		return
	}
	at, ok := t.virtual(f.Offset - 1)
	if !ok {
		return
	}
	f.Offset = at + 1
	f.Symbol = t.symbol(at)
}

// table returns the symbols of the mapping's file, nil if it cannot be read.
func (r *Resolver) table(pid int, m *mapping) *table {
	id := fileID{m.Dev, m.Inode}
	t := r.files.get(id)
	if m.state == fileUnreadable || t != nil && m.state == fileKnown {
		return t
	}
	name, err := r.proc.Open(pid, m.Mapping)
	if err != nil {
		// Another process may have had the file read.
		m.state = fileUnreadable
		return t
	}
	file, version, err := open(name)
	if err != nil {
		m.state = fileUnreadable
		return t
	}
	defer file.Close()
	m.state = fileKnown
	if t == nil || t.version != version { // inode numbers are used again, too
		t = load(file)
		t.version = version
		r.files.put(id, t)
	}
	return t
}
