package eventtext

import (
	"fmt"

	"github.com/ingero-io/ingero/event"
)

func (f *fields) space(key string) event.Space {
	v, ok := f.get(key)
	if !ok {
		return event.DeviceMemory
	}
	s, ok := event.SpaceByName(v)
	if !ok {
		f.fail(fmt.Errorf("unknown space %q", v))
	}
	return s
}

func (w *writer) space(s event.Space) {
	if s != event.DeviceMemory {
		w.set("space", s.String())
	}
}

var memoryKind = kind{
	word: "memory", timed: true, parse: doMemory,
	format: lines(func(r *Recording) []event.Memory { return r.Memory }, (*writer).memory),
}

func doMemory(p *parser, f *fields) {
	p.rec.Memory = append(p.rec.Memory, event.Memory{
		At: f.time(event.Thread{}), PID: uint32(f.uint("pid", 32)), Space: f.space("space"),
		LiveBytes: f.uint("live", 64), LiveCount: f.uint("count", 64), PeakBytes: f.uint("peak", 64),
		Allocs: f.uint("allocs", 64), Frees: f.uint("frees", 64), Failed: f.uint("failed", 64), Bytes: f.uint("bytes", 64),
		AllocNS: f.dur("alloc_time"), FreeNS: f.dur("free_time"), UnknownFrees: f.uint("unknown", 64),
		Untracked: f.uint("untracked", 64),
	})
}

func (w *writer) memory(m *event.Memory) {
	w.word("memory " + w.when(m.At))
	w.num("pid", uint64(m.PID))
	w.space(m.Space)
	w.num("live", m.LiveBytes)
	w.num("count", m.LiveCount)
	w.num("peak", m.PeakBytes)
	w.num("allocs", m.Allocs)
	w.num("frees", m.Frees)
	w.num("failed", m.Failed)
	w.num("bytes", m.Bytes)
	w.dur("alloc_time", m.AllocNS)
	w.dur("free_time", m.FreeNS)
	w.num("unknown", m.UnknownFrees)
	w.num("untracked", m.Untracked)
}

var siteKind = kind{
	word: "site", timed: true, parse: doSite,
	format: lines(func(r *Recording) []event.MemorySite { return r.MemorySites }, (*writer).site),
}

func doSite(p *parser, f *fields) {
	s := event.MemorySite{
		At: f.time(event.Thread{}), PID: uint32(f.uint("pid", 32)), Space: f.space("space"), Op: f.op("op"),
		Stack:     f.uint("stack", 64),
		LiveBytes: f.uint("live", 64), LiveCount: f.uint("count", 64),
	}
	if v, ok := f.get("oldest"); ok {
		s.Oldest = f.timeOf(v, event.Thread{})
	}
	p.rec.MemorySites = append(p.rec.MemorySites, s)
}

func (w *writer) site(s *event.MemorySite) {
	w.word("site " + w.when(s.At))
	w.num("pid", uint64(s.PID))
	w.space(s.Space)
	w.op("op", s.Op)
	w.hex("stack", s.Stack)
	w.num("live", s.LiveBytes)
	w.num("count", s.LiveCount)
	if s.Oldest != 0 {
		w.set("oldest", w.when(s.Oldest))
	}
}
