package agent

import (
	"sync/atomic"
	"time"
	"unique"

	"github.com/ingero-io/ingero/capture/privilege"
	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/capture/symbol/elf"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// The number of names kept, of all processes together, and the number of processes. A name takes
// some 60 bytes; its text is kept once for all processes. The largest frameworks register some
// 100,000 kernels.
const (
	maxKernelNames = 1 << 20
	maxKernelProcs = 4096
)

// maxLaunched and maxAllLaunched bound the launched functions that are known, of a process and of all: a program may
// launch what it likes.
const (
	maxLaunched    = 1 << 17
	maxAllLaunched = 1 << 19
)

// kernels finds the names of the kernels that traced processes launch: the names that programs
// register and look up, else the symbol of the host function. It belongs to the recorder's
// goroutine.
type kernels struct {
	symbol  func(pid int, addr uint64) string
	read    func(pid int, addr uint64) string // a string in a process's memory
	procs   map[uint32]*kernelTable
	recent  [1 << 10]kernelKey // recent launches: most repeat one
	nest    nestedLaunches
	known   int    // number of names in all of procs
	told    int    // number of launched functions in all of procs
	dropped uint64 // names dropped for lack of room, not reported yet
	fresh   []store.Kernel
}

type kernelKey struct {
	pid  uint32
	fn   uint64
	used bool
}

// kernelTable has what is known of one process.
type kernelTable struct {
	names    map[uint64]knownName
	recorded map[uint64]recordedName // by function, of launched ones
	passed   map[uint64]uint64       // by driver function without its own name: the runtime function that has it
	parent   *kernelTable            // of a fork: its functions are at the same addresses
}

type knownName struct {
	text unique.Handle[string]
	from uint64 // address of the text in the process, if it was not read yet; NameSame: the kernel
	kind probe.NameKind
}

func newKernels(native *elf.Resolver) *kernels {
	return &kernels{symbol: native.Function, read: withTimeout(readString, readPatience), procs: map[uint32]*kernelTable{}}
}

// observe learns names. It appends to list the names of kernels launched for the first time, and of
// launched ones whose names became known only now. It forgets processes that ended before.
func (k *kernels) observe(r *probe.Records, ended []uint32, list []store.Kernel) []store.Kernel {
	k.fresh = list
	for _, pid := range ended {
		k.forget(pid)
	}
	names := r.KernelNames
	for i := range r.Lives {
		l := &r.Lives[i]
		for len(names) > 0 && names[0].At <= l.At { // in the order of their times
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

// missed returns the number of names dropped since the last call.
func (k *kernels) missed() (dropped uint64) {
	dropped, k.dropped = k.dropped, 0
	return dropped
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
			k.known, k.told = 0, 0
		}
		t = &kernelTable{names: map[uint64]knownName{}, recorded: map[uint64]recordedName{}, passed: map[uint64]uint64{}}
		k.procs[pid] = t
	}
	return t
}

func (k *kernels) forget(pid uint32) {
	if t := k.procs[pid]; t != nil {
		k.known -= len(t.names)
		k.forgetLaunched(t)
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
			k.dropped++
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
	for n := 0; t != nil && n < 16; t, n = t.parent, n+1 { // follows forks of forks
		if name, ok := t.names[fn]; ok {
			return name, true
		}
	}
	return knownName{}, false
}

// maxSame bounds how many handles may refer to one another: the kernel's to its host function, the
// function's to the kernel.
const maxSame = 4

// resolve finds the name of a function, and the function it is registered for, which may be another
// one.
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
	if _, ok := t.recorded[key.fn]; !ok {
		k.tell(c.PID, t, key.fn)
	}
}

func (t *kernelTable) launched() int { return len(t.recorded) + len(t.passed) }

// forgetLaunched forgets what a process launched: if it is launched again, its name is recorded once more.
func (k *kernels) forgetLaunched(t *kernelTable) {
	k.told -= t.launched()
	clear(t.recorded)
	clear(t.passed)
}

// record notes a launched function.
func (k *kernels) record(t *kernelTable, fn uint64, name recordedName) {
	before := t.launched()
	t.recorded[fn] = name
	k.grown(t, before)
}

// grown notes that a process has launched more, and forgets what the one with the most did if it is too much.
func (k *kernels) grown(t *kernelTable, before int) {
	k.told += t.launched() - before
	if t.launched() > maxLaunched {
		k.forgetLaunched(t)
	}
	if k.told <= maxAllLaunched {
		return
	}
	for _, o := range k.procs {
		if o.launched() > t.launched() {
			t = o
		}
	}
	k.forgetLaunched(t)
}

// tell records the name of a function, if it is known.
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
	told := recordedName{symbol, source}
	k.record(t, fn, told)
	if symbol != "" {
		k.fresh = append(k.fresh, told.kernel(pid, fn))
	}
}

// A page of a process may be provided by a file system or the process itself (FUSE, userfaultfd),
// which may block for ever. So a read is given up after a while; while maxStuck reads are blocked,
// no new one is started.
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

// readString reads a string in a process's memory, up to the length that the kernel side reads;
// empty if the process is gone.
func readString(pid int, addr uint64) string {
	const page, most = 4096, 4056
	var text []byte
	for len(text) < most {
		b := make([]byte, min(page-int(addr%page), most-len(text))) // up to the end of the page: the next one may be missing
		n, err := privilege.ReadMemory(pid, addr, b)
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
