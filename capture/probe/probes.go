package probe

import (
	"errors"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"

	"github.com/ingero-io/ingero/capture/probe/blockio"
	"github.com/ingero-io/ingero/capture/probe/codesample"
	"github.com/ingero-io/ingero/capture/probe/gpukernel"
	"github.com/ingero-io/ingero/capture/probe/inflight"
	"github.com/ingero-io/ingero/capture/probe/kernel"
	"github.com/ingero-io/ingero/capture/probe/memory"
	"github.com/ingero-io/ingero/capture/probe/pages"
	"github.com/ingero-io/ingero/capture/probe/syscalls"
	"github.com/ingero-io/ingero/capture/probe/tcp"
	"github.com/ingero-io/ingero/event"
)

// kernelProbes are the kernel probes of every Tracer that accounts for threads, in the order in
// which they are attached and their rings are drained. A new one is a line here. Probes that slow
// every process of the machine are not here; they are opened only on request: OpenFootprint,
// OpenPages.
var kernelProbes = []*kernel.Probe{
	memory.Probe,
	inflight.Probe,
	blockio.Probe,
	tcp.Probe,
	gpukernel.Probe,
	codesample.Probe,
}

// loaded is a kernel probe of a Tracer.
type loaded struct {
	*kernel.Loaded
	ring *ring // nil if it has none
}

// loadProbes loads the kernel probes. Tracing works without any one of them.
func (t *Tracer) loadProbes() {
	for _, p := range kernelProbes {
		l := loaded{}
		var err error
		if l.Loaded, err = t.Open(p); l.Loaded == nil {
			t.log.Info(p.Without, "err", err)
			continue
		}
		if err != nil { // part of it is attached
			t.log.Info(p.Without, "err", err)
		}
		if p.Ring != "" {
			if l.ring, err = newRing(l.Collection.Maps[p.Ring]); err != nil {
				t.log.Info(p.Without, "err", errors.Join(err, l.Close()))
				continue
			}
		}
		t.probes = append(t.probes, l)
	}
}

// probe is one of the kernel probes; nil if it could not be loaded.
func (t *Tracer) probe(p *kernel.Probe) *kernel.Loaded {
	for i := range t.probes {
		if t.probes[i].Probe == p {
			return t.probes[i].Loaded
		}
	}
	return nil
}

// Open loads a kernel probe and attaches its programs. If attaching fails, it returns both the
// error and what was loaded.
func (t *Tracer) Open(p *kernel.Probe) (*kernel.Loaded, error) {
	types := t.types
	if types == nil {
		types = btf.NewCache()
	}
	h := &kernel.Host{
		Types: types, Perf: t.variant.backend == BackendPerf,
		Stacks: t.opts.Stack != StackOff, Python: t.usePython(), Ring: uint64(t.opts.RingBytes),
		ToUnix: t.decode.toUnix, Log: t.log,
	}
	l, err := kernel.New(p, h, t.share)
	if err != nil {
		err = explain(err)
	}
	return l, err
}

// open is Open, but on an error it closes everything and returns nil.
func (t *Tracer) open(p *kernel.Probe) (*kernel.Loaded, error) {
	l, err := t.Open(p)
	if err != nil && l != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, err
}

// Footprint counts the system calls of processes, and what they touch.
type Footprint = syscalls.Footprint

// OpenFootprint loads and attaches the programs. No process is watched before Watch.
func (t *Tracer) OpenFootprint() (*Footprint, error) {
	if t.opts.NoLedger || t.opts.Empty {
		return nil, errors.New("a footprint needs the ledger")
	}
	l, err := t.open(syscalls.Probe(0))
	if err != nil {
		return nil, err
	}
	return syscalls.NewFootprint(l), nil
}

// Pages counts page allocations of each process of the machine.
type Pages = pages.Counter

// OpenPages loads and attaches the program.
func (t *Tracer) OpenPages() (*Pages, error) {
	l, err := t.open(pages.Probe(0))
	if err != nil {
		return nil, err
	}
	return pages.NewCounter(l, func(pid uint32) bool {
		_, err := t.opts.Proc.Comm(int(pid), int(pid))
		return err == nil
	})
}

// Requests appends what processes did at block devices in the completed seconds, by
// second, and deletes it from the map. With all, it also takes the current second: for
// the end, when nothing is attached any more.
func (t *Tracer) Requests(list []event.RequestSum, all bool) ([]event.RequestSum, error) {
	l := t.probe(blockio.Probe)
	if l == nil {
		return list, nil
	}
	now, err := monotonic()
	if err != nil {
		return list, err
	}
	return blockio.Sums(l.Collection, list, now, t.decode.toUnix, all), nil
}

// share loads programs that use maps which are already loaded.
func (t *Tracer) share(spec *ebpf.CollectionSpec) (*ebpf.Collection, error) {
	replace := map[string]*ebpf.Map{}
	for name := range spec.Maps {
		if m := t.shared[name]; m != nil {
			spec.Maps[name].MaxEntries = m.MaxEntries()
			replace[name] = m
		}
	}
	return kernel.Load(spec, ebpf.CollectionOptions{MapReplacements: replace, Cache: t.types})
}
