package eventtext

import (
	"fmt"
	"net/netip"
	"strconv"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// socket reads socket=KIND, local=PORT, remote=ADDRESS:PORT, peer=PID and bound.
func (f *fields) socket() event.Socket {
	var s event.Socket
	if v, ok := f.get("socket"); ok {
		if s.Kind, ok = event.SocketByName(v); !ok {
			f.fail(fmt.Errorf("unknown socket %q", v))
		}
	}
	s.LocalPort = uint16(f.uint("local", 16))
	if v, ok := f.get("remote"); ok {
		a, err := netip.ParseAddrPort(v)
		if err != nil || a.Port() == 0 || a.Addr().Zone() != "" {
			f.fail(fmt.Errorf("bad address %q: want ADDRESS:PORT", v))
			return s
		}
		s.Remote, s.RemotePort = a.Addr().As16(), a.Port()
	}
	s.Peer = uint32(f.uint("peer", 32))
	s.Bound = f.flag("bound")
	return s
}

func (w *writer) socket(s *event.Socket) {
	w.text("socket", s.Kind.String())
	w.num("local", uint64(s.LocalPort))
	if e := s.Endpoint(); e != "" {
		w.set("remote", e)
	}
	w.num("peer", uint64(s.Peer))
	w.flag("bound", s.Bound)
}

var reclaimKind = kind{
	word: "reclaim", timed: true, parse: doReclaim,
	format: lines(func(r *Recording) []event.Reclaim { return r.Reclaims }, (*writer).reclaim),
}

func doReclaim(p *parser, f *fields) {
	r := event.Reclaim{Thread: f.must("thread").Thread}
	r.Start = f.time(r.Thread)
	r.Duration = f.dur("dur")
	f.sum(r.Start, r.Duration)
	r.NS = r.Duration
	if v, ok := f.get("time"); ok {
		r.NS = f.duration(v)
	}
	if r.NS > r.Duration {
		f.fail(fmt.Errorf("time is longer than the span"))
	}
	v, _ := f.get("kind")
	var ok bool
	if r.Kind, ok = event.ReclaimByName(v); !ok {
		f.fail(fmt.Errorf("unknown reclaim %q", v))
	}
	r.Parts = uint32(f.uint("parts", 32))
	p.rec.Reclaims = append(p.rec.Reclaims, r)
}

func (w *writer) reclaim(r *event.Reclaim) {
	w.word("reclaim " + w.when(r.Start))
	w.thread("thread", r.Thread)
	w.dur("dur", r.Duration)
	w.set("time", formatDuration(r.NS))
	w.set("kind", r.Kind.String())
	w.num("parts", uint64(r.Parts))
}

var symbolKind = kind{
	word: "symbol", named: true, parse: doSymbol,
	format: lines(func(r *Recording) []Symbol { return r.Symbols }, (*writer).symbol),
}

func doSymbol(p *parser, f *fields) {
	name, err := unquote(f.name)
	f.fail(err)
	p.rec.Symbols = append(p.rec.Symbols, Symbol{Addr: f.uint("addr", 64), Name: name})
}

func (w *writer) symbol(s *Symbol) {
	w.word("symbol " + quote(s.Name))
	w.hex("addr", s.Addr)
}

var kernelKind = kind{
	word: "kernel", named: true, parse: doKernel,
	format: lines(func(r *Recording) []store.Kernel { return r.Kernels }, (*writer).kernel),
}

func doKernel(p *parser, f *fields) {
	name, err := unquote(f.name)
	f.fail(err)
	p.rec.Kernels = append(p.rec.Kernels, store.Kernel{
		PID: uint32(f.uint("pid", 32)), Func: f.uint("func", 64), Name: name,
	})
}

func (w *writer) kernel(k *store.Kernel) {
	w.word("kernel " + quote(k.Name))
	w.num("pid", uint64(k.PID))
	w.hex("func", k.Func)
}

var limitKind = kind{
	word: "limit", parse: doLimit,
	format: lines(func(r *Recording) []store.MemoryLimit { return r.Limits }, (*writer).limit),
}

func doLimit(p *parser, f *fields) {
	p.rec.Limits = append(p.rec.Limits,
		store.MemoryLimit{PID: uint32(f.uint("pid", 32)), Cgroup: f.text("cgroup"), Bytes: f.uint("bytes", 64)})
}

func (w *writer) limit(l *store.MemoryLimit) {
	w.word("limit")
	w.num("pid", uint64(l.PID))
	w.text("cgroup", l.Cgroup)
	w.num("bytes", l.Bytes)
}

var schedKind = kind{
	word: "sched", parse: doSched,
	format: lines(func(r *Recording) []store.Scheduling { return r.Scheduling }, (*writer).sched),
}

func doSched(p *parser, f *fields) {
	s := store.Scheduling{
		Thread: event.Thread{PID: uint32(f.uint("pid", 32)), TID: uint32(f.uint("tid", 32))},
		Policy: store.Policy(f.uint("policy", 8)),
		Nice:   int8(f.int("nice", 8, 0)), Realtime: uint8(f.uint("rt", 8)), CPUs: f.text("cpus"),
		Before: f.text("before"),
	}
	if at, ok := f.get("changed"); ok {
		s.Changed = f.timeOf(at, event.Thread{})
	}
	p.rec.Scheduling = append(p.rec.Scheduling, s)
}

func (w *writer) sched(s *store.Scheduling) {
	w.word("sched")
	w.num("pid", uint64(s.PID))
	w.num("tid", uint64(s.TID))
	w.num("policy", uint64(s.Policy))
	if s.Nice != 0 {
		w.set("nice", strconv.Itoa(int(s.Nice)))
	}
	w.num("rt", uint64(s.Realtime))
	w.text("cpus", s.CPUs)
	w.text("before", s.Before)
	if s.Changed != 0 {
		w.set("changed", w.when(s.Changed))
	}
}

var nodesKind = kind{word: "nodes", parse: doNodes, format: (*writer).nodes}

func doNodes(p *parser, f *fields) {
	for {
		cpus, ok := f.get("cpus")
		if !ok {
			return
		}
		p.rec.Nodes = append(p.rec.Nodes, cpus)
	}
}

func (w *writer) nodes(r *Recording) {
	if len(r.Nodes) == 0 {
		return
	}
	w.word("nodes")
	for _, cpus := range r.Nodes {
		w.set("cpus", cpus)
	}
	w.line("")
}
