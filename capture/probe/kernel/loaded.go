package kernel

import (
	"errors"
	"fmt"
	"io"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
)

// Loaded is a probe in the kernel.
type Loaded struct {
	*Probe
	Collection *ebpf.Collection // empty once it is closed
	Iterator   *link.Iter       // nil: the probe has none
	ToUnix     uint64           // as of its Host
	links      []func() error
}

// New has a probe prepared for the host, loaded by load, which shares the tracer's maps, and
// attached. With an error of attaching, what was loaded is returned too.
func New(p *Probe, h *Host, load func(*ebpf.CollectionSpec) (*ebpf.Collection, error)) (*Loaded, error) {
	spec, err := p.Load()
	if err != nil {
		return nil, fmt.Errorf("read %s object: %w", p.Name, err)
	}
	var wanted []string
	if p.Prepare != nil {
		if wanted, err = p.Prepare(spec, h); err != nil {
			return nil, err
		}
	}
	l := &Loaded{Probe: p, ToUnix: h.ToUnix}
	if l.Collection, err = load(spec); err != nil {
		return nil, fmt.Errorf("load %s programs: %w", p.Name, err)
	}
	if p.Fill != nil {
		if err := p.Fill(l.Collection); err != nil {
			return nil, errors.Join(fmt.Errorf("fill maps of %s programs: %w", p.Name, err), l.Close())
		}
	}
	if p.Iterator != "" {
		l.Iterator, err = link.AttachIter(link.IterOptions{Program: l.Collection.Programs[p.Iterator]})
		if err != nil {
			return nil, errors.Join(fmt.Errorf("attach iterator: %w", err), l.Close())
		}
	}
	l.links, err = Attach(l.Collection, wanted...)
	return l, err
}

// Attach attaches programs to their tracepoints. Those that are attached are returned
// also with an error.
func Attach(c *ebpf.Collection, names ...string) (links []func() error, err error) {
	for _, name := range names {
		l, err := link.AttachTracing(link.TracingOptions{Program: c.Programs[name]})
		if err != nil {
			return links, fmt.Errorf("attach %s: %w", name, err)
		}
		links = append(links, l.Close)
	}
	return links, nil
}

// Missed is how often the kernel did not run programs because another run of the same
// was in progress on the CPU. Programs that were not loaded count as none.
func (l *Loaded) Missed(names ...string) (n uint64) {
	for _, name := range names {
		p := l.Collection.Programs[name]
		if p == nil {
			continue
		}
		if s, err := p.Stats(); err == nil { // kernels before 5.12 do not tell
			n += s.RecursionMisses
		}
	}
	return n
}

// Detach ends what runs at tracepoints; maps and the iterator can still be read.
func (l *Loaded) Detach() error {
	links := l.links
	l.links = nil
	var first error
	for _, end := range links {
		if err := end(); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// Close detaches and unloads. It may be called twice.
func (l *Loaded) Close() error {
	err := l.Detach()
	if l.Iterator != nil {
		err = errors.Join(err, l.Iterator.Close())
		l.Iterator = nil
	}
	l.Collection.Close()
	l.Collection = new(ebpf.Collection)
	return err
}

// Iterate runs a program of a task iterator over all threads, for what it does to them.
func Iterate(p *ebpf.Program) error {
	it, err := link.AttachIter(link.IterOptions{Program: p})
	if err != nil {
		return fmt.Errorf("list threads: %w", err)
	}
	defer func() { _ = it.Close() }() // only a descriptor; the threads are listed by then
	r, err := it.Open()
	if err != nil {
		return fmt.Errorf("list threads: %w", err)
	}
	defer r.Close()
	if _, err := io.Copy(io.Discard, r); err != nil {
		return fmt.Errorf("list threads: %w", err)
	}
	return nil
}

// Each calls f for every entry of a hash map.
func Each[K, V any](m *ebpf.Map, f func(*K, *V) error) error {
	return EachCPU(m, 1, func(k *K, v []V) error { return f(k, &v[0]) })
}

// EachCPU calls f for every entry of a hash map that has a value for each CPU.
func EachCPU[K, V any](m *ebpf.Map, cpus int, f func(*K, []V) error) error {
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
