// Package elf names the user-space addresses of a stack: which file each one
// lies in and, if that file has symbols, which function.
//
// It reads symbol tables: .symtab, .dynsym, and the compressed one in .gnu_debugdata
// that some distributions keep in stripped files. It reads no DWARF, so it knows no
// source lines and no inlined functions. A table is kept per file, not per process.
// The mappings of a process are read when one of its addresses is first resolved, and
// again when an address is outside of the known mappings. The package does not walk
// stacks, and it does not know Python.
package elf

import (
	"os"
	"path"
	"sync"

	"github.com/ingero-io/ingero/capture/host/proc"
	"github.com/ingero-io/ingero/capture/limit"
	"github.com/ingero-io/ingero/capture/symbol/addrspace"
	"github.com/ingero-io/ingero/event"
)

// Resolver names addresses of processes. It is safe for concurrent use.
type Resolver struct {
	// Refused, if set, is called once for a file whose symbols are not read, or not all, because they exceed
	// a limit. Set it before the first use.
	Refused func(path string, exceeded error)

	proc proc.FS

	mu     sync.Mutex // guards what follows, also while files are read
	spaces *addrspace.Cache[fileState]
	files  tables
	lent   map[fileID]*os.File
}

// New returns a resolver that finds processes in fs. A table takes 16 bytes and a name per function, or 8
// bytes if its names stay in the file: libtorch_cuda, whose names are 70 MB, takes 1 MB.
func New(fs proc.FS) *Resolver {
	return &Resolver{
		proc: fs, spaces: addrspace.New[fileState](fs), files: newTables(limit.FilesOfTables, limit.TablesBytes),
		lent: map[fileID]*os.File{},
	}
}

type mapping = addrspace.Mapping[fileState]

// fileState says what the process's first use of a mapping found.
type fileState uint8

const (
	fileUnseen     fileState = iota
	fileKnown                // compared with the cached table, or loaded
	fileUnreadable           // it cannot be opened any more
)

// Resolve names return addresses of a process, innermost first. It returns one
// frame for each address. Unknown fields stay empty: the symbol of a function
// without one, the module of memory without a file, and both if the process
// ended before its mappings were known.
//
// A return address is the instruction after a call, which may be the first of
// the next function. So the byte before it is looked up. Offset is that of the
// address in the module, as addr2line takes it.
func (r *Resolver) Resolve(pid int, addrs []uint64) []event.Frame {
	r.mu.Lock()
	defer r.mu.Unlock()
	frames := make([]event.Frame, len(addrs))
	p := r.spaces.Process(pid)
	for i, a := range addrs {
		frames[i] = event.Frame{Kind: event.FrameNative, Addr: a}
		if a == 0 {
			continue
		}
		if m := p.Find(a - 1); m != nil && m.Inode != 0 {
			r.name(pid, m, &frames[i])
		}
	}
	return frames
}

// Fork notes that a process was forked. The child has its parent's mappings.
func (r *Resolver) Fork(parent, child int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.spaces.Fork(parent, child)
}

// Forget drops the known mappings of a process. Call it when the process
// executes a new program, loads or unloads a library, and when it has ended and
// its last stacks are resolved: addresses and process ids are used again. It closes
// files that no known process maps: open files would keep a file system busy.
func (r *Resolver) Forget(pid int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.spaces.Forget(pid) {
		return
	}
	mapped := map[fileID]bool{}
	r.spaces.Each(func(m *mapping) { mapped[fileID{m.Dev, m.Inode}] = true })
	r.files.closeUnless(mapped)
}

// name fills in the module, build ID, offset and symbol of the frame's address.
func (r *Resolver) name(pid int, m *mapping, f *event.Frame) {
	f.Module = path.Base(m.Path)
	f.Offset = f.Addr - m.Start + m.Offset // in the file, unless there is a virtual address
	t := r.table(pid, m)
	if t == nil {
		return
	}
	f.BuildID = t.buildID
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
	if m.State == fileUnreadable || t.ready() && m.State == fileKnown {
		return t
	}
	file, version, err := r.open(pid, m)
	if err != nil { // it may have been read for another process
		m.State = fileUnreadable
		return t
	}
	m.State = fileKnown
	if t == nil || t.version != version { // inode numbers are used again, too
		t = load(file)
		t.version = version
		if t.refused != nil && r.Refused != nil {
			r.Refused(m.Path, t.refused)
		}
		r.files.put(id, t)
	}
	t.keep(file)
	return t
}

// Close closes all files.
func (r *Resolver) Close() {
	r.Return()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.files.closeUnless(nil)
}

// open opens the mapping's file, if it was lent or the process still has it.
func (r *Resolver) open(pid int, m *mapping) (*os.File, fileVersion, error) {
	id := fileID{m.Dev, m.Inode}
	if f := r.lent[id]; f != nil {
		delete(r.lent, id)
		return checked(f)
	}
	name, err := m.Open(r.proc, pid)
	if err != nil {
		return nil, fileVersion{}, err
	}
	return open(name)
}
