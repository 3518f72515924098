package pages

import (
	"cmp"
	"fmt"
	"os"
	"slices"

	"github.com/cilium/ebpf"

	"github.com/ingero-io/ingero/capture/bpf"
	"github.com/ingero-io/ingero/capture/probe/kernel"
	"github.com/ingero-io/ingero/event"
)

// Counter counts page allocations of each process of the machine. While it is open, each
// allocation takes some tens of nanoseconds longer; docs/host.md says how many.
// It is used by one goroutine.
type Counter struct {
	probe *kernel.Loaded
	lives func(pid uint32) bool
	cpus  int
	last  map[uint32]PagesPageSum // as last told
}

// kept is from how many processes on those that ended are looked for, so that
// there is room for others.
const kept = 2048

// NewCounter makes a Counter of the probe, which is loaded and is the Counter's from here on.
// lives reports whether there is a process.
func NewCounter(l *kernel.Loaded, lives func(pid uint32) bool) (*Counter, error) {
	cpus, err := ebpf.PossibleCPU()
	if err != nil {
		return nil, fmt.Errorf("count CPUs: %w", err)
	}
	return &Counter{probe: l, lives: lives, cpus: cpus, last: map[uint32]PagesPageSum{}}, nil
}

// Read tells what each process was given since the last Read, by process id. Process 0
// is that of idle CPUs, and stands for the processes there was no room for.
func (p *Counter) Read(now uint64) ([]event.PageSum, error) {
	var list []event.PageSum
	var idle []uint32
	err := kernel.EachCPU(p.probe.Collection.Maps["page_sums"], p.cpus, func(key *uint32, parts []PagesPageSum) error {
		pid, sum := *key, total(parts)
		last := p.last[pid]
		if sum == last {
			idle = append(idle, pid)
			return nil
		}
		p.last[pid] = sum
		size := uint64(os.Getpagesize())
		list = append(list, event.PageSum{
			At: now, PID: pid, Comm: p.name(pid),
			Allocations: sum.Allocations - last.Allocations, Pages: sum.Pages - last.Pages,
			Bytes: (sum.Pages - last.Pages) * size, NoWaitBytes: (sum.Nowait - last.Nowait) * size,
			Failed: sum.Failed - last.Failed,
		})
		return nil
	})
	if len(p.last) > kept {
		p.forgetIdle(idle)
	}
	slices.SortFunc(list, func(a, b event.PageSum) int { return cmp.Compare(a.PID, b.PID) })
	return list, err
}

// total adds up what the CPUs counted.
func total(parts []PagesPageSum) (sum PagesPageSum) {
	for _, v := range parts {
		sum.Allocations += v.Allocations
		sum.Pages += v.Pages
		sum.Nowait += v.Nowait
		sum.Failed += v.Failed
	}
	return sum
}

func (p *Counter) name(pid uint32) string {
	var o PagesPageOwner
	if p.probe.Collection.Maps["page_owners"].Lookup(pid, &o) != nil {
		return "" // there was no room for its name
	}
	return bpf.Comm(&o.Comm)
}

// forgetIdle drops those of the processes that are not there any more.
func (p *Counter) forgetIdle(idle []uint32) {
	for _, pid := range idle {
		if pid == 0 || p.lives(pid) {
			continue
		}
		delete(p.last, pid)
		_ = p.probe.Collection.Maps["page_sums"].Delete(pid)   // fails only if it is gone already
		_ = p.probe.Collection.Maps["page_owners"].Delete(pid) // likewise
	}
}

// Missed is how often memory was given while the program ran already on that CPU: that
// many allocations are missing.
func (p *Counter) Missed() uint64 { return p.probe.Missed(program) }

// Detach stops counting; what was counted can still be read.
func (p *Counter) Detach() error { return p.probe.Detach() }

// Close detaches and unloads the program. It may be called twice.
func (p *Counter) Close() error { return p.probe.Close() }
