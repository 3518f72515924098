package probe

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"

	"github.com/ingero-io/ingero/probe/syscalls"
)

// Footprint counts the system calls of the processes it watches, their children
// included, and what they touch. While one is open, every system call of the
// machine passes its filter; docs/footprint.md says what that costs. It is used by
// one goroutine.
type Footprint struct {
	c      *ebpf.Collection
	links  closers
	toUnix uint64
	visits uint64
	calls  map[syscalls.SyscallsCallKey]syscalls.SyscallsCallSum // as last told
	errnos map[syscalls.SyscallsErrnoKey]uint64
	touch  map[syscalls.SyscallsTouchKey]*touched
	misses map[syscalls.SyscallsMissKey]uint64
	procs  map[uint32]*watched
}

// OpenFootprint loads and attaches the programs. Nobody is watched before Watch.
func (t *Tracer) OpenFootprint() (*Footprint, error) {
	return t.openFootprint(0)
}

// openFootprint can make the tables smaller than they are, for tests.
func (t *Tracer) openFootprint(entries uint32) (*Footprint, error) {
	if t.opts.NoLedger || t.opts.Empty {
		return nil, errors.New("a footprint needs the ledger")
	}
	spec, err := syscalls.LoadSyscalls()
	if err != nil {
		return nil, fmt.Errorf("read system call object: %w", err)
	}
	if err := set(spec, map[string]any{"what_of": syscalls.What()}); err != nil {
		return nil, err
	}
	if entries > 0 {
		for _, m := range spec.Maps {
			if m.Type == ebpf.Hash {
				m.MaxEntries = entries
			}
		}
	}
	f := &Footprint{
		toUnix: t.decode.toUnix, calls: map[syscalls.SyscallsCallKey]syscalls.SyscallsCallSum{}, errnos: map[syscalls.SyscallsErrnoKey]uint64{},
		touch: map[syscalls.SyscallsTouchKey]*touched{}, misses: map[syscalls.SyscallsMissKey]uint64{}, procs: map[uint32]*watched{},
	}
	if f.c, err = t.share(spec); err != nil {
		return nil, explain(fmt.Errorf("load system call programs: %w", err))
	}
	if f.links, err = attach(f.c, syscalls.Programs...); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Watch begins to count for all threads the processes have now; their later
// threads and children are counted from birth. Adopt them before.
func (f *Footprint) Watch(pids ...int) error {
	marked := f.c.Maps["marked"]
	for _, pid := range pids {
		if err := marked.Put(uint32(pid), uint8(1)); err != nil {
			return fmt.Errorf("mark process %d: %w", pid, err)
		}
	}
	defer func() {
		for _, pid := range pids {
			_ = marked.Delete(uint32(pid)) // fails only if it is gone already
		}
	}()
	return f.visit()
}

// visit runs the iterator, which marks threads and adds up CPU time.
func (f *Footprint) visit() error {
	f.visits++
	if err := f.c.Variables["visits"].Set(f.visits); err != nil {
		return fmt.Errorf("number a visit: %w", err)
	}
	return iterate(f.c.Programs["visit"])
}

// each calls f for every entry of a hash map.
func each[K, V any](m *ebpf.Map, f func(*K, *V) error) error {
	return eachCPU(m, 1, func(k *K, v []V) error { return f(k, &v[0]) })
}

// eachCPU calls f for every entry of a hash map that has a value for each CPU.
func eachCPU[K, V any](m *ebpf.Map, cpus int, f func(*K, []V) error) error {
	const chunk = 256
	keys, values := make([]K, chunk), make([]V, chunk*cpus)
	var cursor ebpf.MapBatchCursor
	for {
		n, err := m.BatchLookup(&cursor, keys, values, nil)
		if err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
			return fmt.Errorf("read %s: %w", m, err)
		}
		for i := range n {
			if err := f(&keys[i], values[i*cpus:(i+1)*cpus]); err != nil {
				return err
			}
		}
		if err != nil {
			return nil // that was the last chunk
		}
	}
}

// Close detaches and unloads the programs. It may be called twice.
func (f *Footprint) Close() error {
	err := f.Detach()
	if f.c != nil {
		f.c.Close()
		f.c = nil
	}
	return err
}

// Detach stops counting; what was counted can still be read.
func (f *Footprint) Detach() error {
	links := f.links
	f.links = nil
	return links.Close()
}

// Missed is how often the kernel did not run a program because another run of it
// was in progress on the CPU: that many calls, or beginnings of calls, are missing.
func (f *Footprint) Missed() uint64 { return missed(f.c, syscalls.Programs...) }
