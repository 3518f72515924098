package agent

import (
	"sync/atomic"
	"time"
	"unique"

	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/capture/symbol/elf"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// How many names are kept, of all processes together, and of how many processes.
// A name takes some 60 bytes, and its text once however many processes have it;
// the largest frameworks register some 100,000 kernels.
const (
	maxKernelNames = 1 << 20
	maxKernelProcs = 4096
)

// kernels finds out what the kernels are called that traced processes launch: by
// the names that programs register and look up, else by the symbol of their host
// function. It belongs to the recorder's goroutine.
type kernels struct {
	symbol func(pid int, addr uint64) string
	read   func(pid int, addr uint64) string // a string in a process's memory
	procs  map[uint32]*kernelTable
	recent [1 << 10]kernelKey // launches looked at last: most repeat one
	nest   nestedLaunches
	known  int    // names in all of procs
	lost   uint64 // names that there was no room for, not told yet
	fresh  []store.Kernel
}

type kernelKey struct {
	pid  uint32
	fn   uint64
	used bool
}

// kernelTable is what is known of one process.
type kernelTable struct {
	names    map[uint64]knownName
	recorded map[uint64]recordedName // by function, of those launched
	passed   map[uint64]uint64       // by driver's function without a name of its own: the runtime's that has it
	parent   *kernelTable            // of a fork: its functions are where its parent's are
}

type knownName struct {
	text unique.Handle[string]
	from uint64 // where the text is in the process's memory, if it was not read yet; NameSame: the kernel
	kind probe.NameKind
}

func newKernels(native *elf.Resolver) *kernels {
	return &kernels{symbol: native.Function, read: withTimeout(readString, readPatience), procs: map[uint32]*kernelTable{}}
}

// observe learns names and appends to list what kernels launched for the first
// time are called, and those whose names became known only now. Processes that ended
// before are forgotten.
func (k *kernels) observe(r *probe.Records, ended []uint32, list []store.Kernel) []store.Kernel {
	k.fresh = list
	for _, pid := range ended {
		k.forget(pid)
	}
	names := r.KernelNames
	for i := range r.Lives {
		l := &r.Lives[i]
		for len(names) > 0 && names[0].At <= l.At { // names and lives, as they came
			k.learn(&names[0])
			names = names[1:]
		}
		k.life(l)
	}
	for i := range names {
		k.learn(&names[i])
	}
	for i := range r.Calls {
		if c := &r.Calls[i]; c.Op.LaunchesKernel() {
			k.launched(c)
			k.nested(c)
		}
	}
	list, k.fresh = k.fresh, nil
	return list
}

// missed is for how many names there was no room since the last call.
func (k *kernels) missed() (lost uint64) {
	lost, k.lost = k.lost, 0
	return lost
}

func (k *kernels) life(l *event.Life) {
	switch {
	case l.Kind == event.LifeExec:
		k.forget(l.PID)
	case l.PID != l.TID:
	case l.Kind == event.LifeFork:
		if p := k.procs[l.Parent.PID]; p != nil {
			k.forget(l.PID)
			k.table(l.PID).parent = p
		}
	}
}

func (k *kernels) table(pid uint32) *kernelTable {
	t := k.procs[pid]
	if t == nil {
		if len(k.procs) >= maxKernelProcs { // their ends were not reported
			clear(k.procs)
			k.known = 0
		}
		t = &kernelTable{names: map[uint64]knownName{}, recorded: map[uint64]recordedName{}, passed: map[uint64]uint64{}}
		k.procs[pid] = t
	}
	return t
}

func (k *kernels) forget(pid uint32) {
	if t := k.procs[pid]; t != nil {
		k.known -= len(t.names)
		delete(k.procs, pid)
		clear(k.recent[:])
		clear(k.nest.recent[:])
	}
}

// learn keeps a name until the kernel is launched.
func (k *kernels) learn(n *probe.KernelName) {
	t := k.table(n.PID)
	name := knownName{text: unique.Make(n.Name), kind: n.Kind}
	if n.Name == "" {
		name.from = n.From
	}
	old, ok := t.names[n.Func]
	if !ok {
		if k.known >= maxKernelNames {
			k.lost++
			return
		}
		k.known++
	}
	t.names[n.Func] = name
	// It was launched before its name came, or has another name since.
	if _, recorded := t.recorded[n.Func]; recorded && old != name {
		k.tell(n.PID, t, n.Func)
		k.named(n.PID, t, n.Func)
	}
}

func (t *kernelTable) find(fn uint64) (knownName, bool) {
	for n := 0; t != nil && n < 16; t, n = t.parent, n+1 { // forks of forks
		if name, ok := t.names[fn]; ok {
			return name, true
		}
	}
	return knownName{}, false
}

// maxSame bounds how many handles are made of one another: a kernel's of its host function, a
// function's of the kernel.
const maxSame = 4

// resolve finds the name of a function, and the function that has it if it is one of
// another.
func (t *kernelTable) resolve(fn uint64) (name knownName, of uint64, ok bool) {
	for range maxSame {
		name, ok = t.find(fn)
		if !ok || name.kind != probe.NameSame {
			return name, fn, ok
		}
		fn = name.from
	}
	return knownName{}, fn, false
}

func (k *kernels) launched(c *event.Call) {
	key := kernelKey{c.PID, c.Args[0], true}
	slot := &k.recent[(key.fn>>4^key.fn>>14^uint64(key.pid))&uint64(len(k.recent)-1)]
	if *slot == key {
		return
	}
	*slot = key
	t := k.table(c.PID)
	if _, ok := t.recorded[key.fn]; !ok && len(t.recorded) < maxKernelNames {
		k.tell(c.PID, t, key.fn)
	}
}

// tell says what a function is called, unless nobody knows.
func (k *kernels) tell(pid uint32, t *kernelTable, fn uint64) {
	name, of, ok := t.resolve(fn)
	symbol := ""
	source := store.KernelBySymbol
	if ok {
		if symbol = name.text.Value(); symbol == "" {
			symbol = k.read(int(pid), name.from)
		}
		source = store.KernelSource(name.kind)
	}
	if symbol == "" {
		symbol, source = k.symbol(int(pid), of), store.KernelBySymbol
	}
	if old, recorded := t.recorded[fn]; recorded && old.symbol == symbol {
		return
	}
	t.recorded[fn] = recordedName{symbol, source}
	if symbol != "" {
		k.fresh = append(k.fresh, t.recorded[fn].kernel(pid, fn))
	}
}

// A page of a process may be one that a file system or the process itself has to
// provide (FUSE, userfaultfd), and may take for ever. So a read is given up after
// a while, and when some were, no more are made until one of them ends.
const (
	readPatience = time.Second
	maxStuck     = 4
)

// withTimeout is read with a time limit.
func withTimeout(read func(pid int, addr uint64) string, wait time.Duration) func(int, uint64) string {
	var stuck atomic.Int32
	return func(pid int, addr uint64) string {
		if stuck.Load() >= maxStuck {
			return ""
		}
		text := make(chan string, 1)
		stuck.Add(1)
		go func() {
			defer stuck.Add(-1)
			text <- read(pid, addr)
		}()
		select {
		case s := <-text:
			return s
		case <-time.After(wait):
			return ""
		}
	}
}

// readString reads a string in a process's memory, up to what the kernel side
// reads of one; empty if the process is gone.
func readString(pid int, addr uint64) string {
	const page, most = 4096, 4056
	var text []byte
	for len(text) < most {
		b := make([]byte, min(page-int(addr%page), most-len(text))) // up to a page that may not be there
		n, err := unix.ProcessVMReadv(pid, []unix.Iovec{iovec(b)}, []unix.RemoteIovec{{Base: uintptr(addr), Len: len(b)}}, 0)
		if err != nil || n == 0 {
			return ""
		}
		for i, c := range b[:n] {
			if c == 0 {
				return string(append(text, b[:i]...))
			}
		}
		text, addr = append(text, b[:n]...), addr+uint64(n)
	}
	return string(text)
}

func iovec(b []byte) unix.Iovec {
	v := unix.Iovec{Base: &b[0]}
	v.SetLen(len(b))
	return v
}
