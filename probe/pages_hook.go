package probe

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/cilium/ebpf"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/probe/pages"
)

// Pages counts page allocations of each process of the machine. While it is open, each
// allocation takes some tens of nanoseconds longer; docs/host.md says how many.
// It is used by one goroutine.
type Pages struct {
	t     *Tracer
	c     *ebpf.Collection
	links closers
	cpus  int
	last  map[uint32]pages.PagesPageSum // as last told
}

// pagesKept is from how many processes on those that ended are looked for, so that
// there is room for others.
const pagesKept = 2048

// OpenPages loads and attaches the program.
func (t *Tracer) OpenPages() (*Pages, error) { return t.openPages(0) }

// openPages can have room for fewer processes than it has, for tests.
func (t *Tracer) openPages(entries uint32) (*Pages, error) {
	spec, err := pages.LoadPages()
	if err != nil {
		return nil, fmt.Errorf("read page allocation object: %w", err)
	}
	if entries > 0 {
		spec.Maps["page_sums"].MaxEntries = entries
	}
	p := &Pages{t: t, last: map[uint32]pages.PagesPageSum{}}
	if p.cpus, err = ebpf.PossibleCPU(); err != nil {
		return nil, fmt.Errorf("count CPUs: %w", err)
	}
	if p.c, err = t.share(spec); err != nil {
		return nil, explain(fmt.Errorf("load page allocation program: %w", err))
	}
	others := make([]pages.PagesPageSum, p.cpus)
	if err := p.c.Maps["page_sums"].Put(uint32(0), others); err != nil {
		return nil, errors.Join(fmt.Errorf("make room for page allocations: %w", err), p.Close())
	}
	if p.links, err = attach(p.c, pages.Program); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// Read tells what each process was given since the last Read, by process id. Process 0
// is that of idle CPUs, and stands for the processes there was no room for.
func (p *Pages) Read(now uint64) ([]event.PageSum, error) {
	var list []event.PageSum
	var idle []uint32
	err := eachCPU(p.c.Maps["page_sums"], p.cpus, func(key *uint32, parts []pages.PagesPageSum) error {
		pid, sum := *key, total(parts)
		last := p.last[pid]
		if sum == last {
			idle = append(idle, pid)
			return nil
		}
		p.last[pid] = sum
		size := uint64(os.Getpagesize())
		list = append(list, event.PageSum{
			At: now, PID: pid, Comm: p.name(pid), Allocations: sum.Allocations - last.Allocations, Pages: sum.Pages - last.Pages,
			Bytes: (sum.Pages - last.Pages) * size, NoWaitBytes: (sum.Nowait - last.Nowait) * size, Failed: sum.Failed - last.Failed,
		})
		return nil
	})
	if len(p.last) > pagesKept {
		p.forget(idle)
	}
	slices.SortFunc(list, func(a, b event.PageSum) int { return cmp.Compare(a.PID, b.PID) })
	return list, err
}

// total adds up what the CPUs counted.
func total(parts []pages.PagesPageSum) (sum pages.PagesPageSum) {
	for _, v := range parts {
		sum.Allocations += v.Allocations
		sum.Pages += v.Pages
		sum.Nowait += v.Nowait
		sum.Failed += v.Failed
	}
	return sum
}

func (p *Pages) name(pid uint32) string {
	var o pages.PagesPageOwner
	if p.c.Maps["page_owners"].Lookup(pid, &o) != nil {
		return "" // there was no room for its name
	}
	return comm(&o.Comm)
}

// forget drops those of the processes that are not there any more.
func (p *Pages) forget(idle []uint32) {
	for _, pid := range idle {
		if _, err := p.t.opts.Proc.Comm(int(pid), int(pid)); err == nil || pid == 0 {
			continue
		}
		delete(p.last, pid)
		_ = p.c.Maps["page_sums"].Delete(pid)   // fails only if it is gone already
		_ = p.c.Maps["page_owners"].Delete(pid) // likewise
	}
}

// Missed is how often memory was given while the program ran already on that CPU: that
// many allocations are missing.
func (p *Pages) Missed() uint64 { return missed(p.c, pages.Program) }

// missed is how often the kernel did not run programs because another run of the same
// was in progress on the CPU. c may be nil, and have only some of the programs.
func missed(c *ebpf.Collection, names ...string) (n uint64) {
	if c == nil {
		return 0
	}
	for _, name := range names {
		p := c.Programs[name]
		if p == nil {
			continue
		}
		if s, err := p.Stats(); err == nil { // kernels before 5.12 do not tell
			n += s.RecursionMisses
		}
	}
	return n
}

// Detach stops counting; what was counted can still be read.
func (p *Pages) Detach() error {
	links := p.links
	p.links = nil
	return links.Close()
}

// Close detaches and unloads the program. It may be called twice.
func (p *Pages) Close() error {
	err := p.Detach()
	if p.c != nil {
		p.c.Close()
		p.c = nil
	}
	return err
}
