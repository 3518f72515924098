package syscalls

import (
	"fmt"

	"github.com/ingero-io/ingero/capture/probe/kernel"
)

// Footprint counts the system calls of the processes it watches, their children
// included, and what they touch. While one is open, every system call of the
// machine passes its filter; docs/footprint.md says what that costs. It is used by
// one goroutine.
type Footprint struct {
	probe  *kernel.Loaded
	visits uint64
	calls  map[SyscallsCallKey]SyscallsCallSum // as last told
	errnos map[SyscallsErrnoKey]uint64
	touch  map[SyscallsTouchKey]*touched
	misses map[SyscallsMissKey]uint64
	procs  map[uint32]*watched
}

// NewFootprint makes a Footprint of the probe, which is loaded and is the Footprint's from here on.
// Nobody is watched before Watch.
func NewFootprint(l *kernel.Loaded) *Footprint {
	return &Footprint{
		probe: l, calls: map[SyscallsCallKey]SyscallsCallSum{}, errnos: map[SyscallsErrnoKey]uint64{},
		touch: map[SyscallsTouchKey]*touched{}, misses: map[SyscallsMissKey]uint64{}, procs: map[uint32]*watched{},
	}
}

// Watch begins to count for all threads the processes have now; their later
// threads and children are counted from birth. Adopt them before.
func (f *Footprint) Watch(pids ...int) error {
	marked := f.probe.Collection.Maps["marked"]
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
	if err := f.probe.Collection.Variables["visits"].Set(f.visits); err != nil {
		return fmt.Errorf("number a visit: %w", err)
	}
	return kernel.Iterate(f.probe.Collection.Programs["visit"])
}

// Close detaches and unloads the programs. It may be called twice.
func (f *Footprint) Close() error { return f.probe.Close() }

// Detach stops counting; what was counted can still be read.
func (f *Footprint) Detach() error { return f.probe.Detach() }

// Missed is how often the kernel did not run a program because another run of it
// was in progress on the CPU: that many calls, or beginnings of calls, are missing.
func (f *Footprint) Missed() uint64 { return f.probe.Missed(programs...) }
