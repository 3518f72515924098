package eventtext

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ingero-io/ingero/event"
)

var callKind = kind{
	word: "call", timed: true, parse: doCall,
	format: lines(func(r *Recording) []event.Call { return r.Calls }, (*writer).call),
}

func doCall(p *parser, f *fields) {
	c := event.Call{Thread: f.must("thread").Thread}
	c.Start = f.time(c.Thread)
	c.Duration = f.dur("dur")
	c.Op = f.op("op")
	c.Depth = uint8(f.uint("depth", 8))
	c.GPU = int8(f.int("gpu", 8, event.NoGPU))
	c.Ret = int32(f.int("ret", 32, 0))
	c.Args = f.args()
	c.Ledger = f.ledger()
	c.Stack = f.uint("stack", 64)
	c.Weight = uint32(f.uint("weight", 32))
	end := f.sum(c.Start, c.Duration)
	if c.Depth == 0 {
		p.cursor[c.Thread] = end
	}
	if n := len(p.rec.Calls); n == cap(p.rec.Calls) { // append alone makes long slices longer by a quarter only
		p.rec.Calls = slices.Grow(p.rec.Calls, n+1)
	}
	p.rec.Calls = append(p.rec.Calls, c)
}

// args are the arguments of a call.
func (f *fields) args() (args [event.NumArgs]uint64) {
	list := f.numbers("args")
	if len(list) > event.NumArgs {
		f.fail(fmt.Errorf("more than %d args", event.NumArgs))
	}
	copy(args[:], list)
	return args
}

func (w *writer) call(c *event.Call) {
	w.word("call " + w.when(c.Start))
	w.thread("thread", c.Thread)
	w.op("op", c.Op)
	w.dur("dur", c.Duration)
	w.num("depth", uint64(c.Depth))
	w.int("gpu", int64(c.GPU), event.NoGPU)
	w.int("ret", int64(c.Ret), 0)
	if c.Args != [event.NumArgs]uint64{} {
		w.list("args", c.Args[:])
	}
	w.ledger(&c.Ledger)
	w.hex("stack", c.Stack)
	w.num("weight", uint64(c.Weight))
}

var gapKind = kind{
	word: "gap", timed: true, parse: doGap,
	format: lines(func(r *Recording) []event.Gap { return r.Gaps }, (*writer).gap),
}

func doGap(p *parser, f *fields) {
	g := event.Gap{Thread: f.must("thread").Thread}
	g.Start = f.time(g.Thread)
	g.Duration = f.dur("dur")
	g.Next = f.op("next")
	g.Ledger = f.ledger()
	p.cursor[g.Thread] = f.sum(g.Start, g.Duration)
	p.rec.Gaps = append(p.rec.Gaps, g)
}

func (w *writer) gap(g *event.Gap) {
	w.word("gap " + w.when(g.Start))
	w.thread("thread", g.Thread)
	w.dur("dur", g.Duration)
	w.op("next", g.Next)
	w.ledger(&g.Ledger)
}

var statKind = kind{
	word: "stat", parse: doStat,
	format: lines(func(r *Recording) []Stat { return r.Stats }, (*writer).stat),
}

func doStat(p *parser, f *fields) {
	s := Stat{Thread: f.must("thread").Thread, Op: f.op("op")}
	s.Calls, s.Errors = f.uint("calls", 64), f.uint("errors", 64)
	s.SumNS, s.MaxNS, s.Bytes = f.dur("sum"), f.dur("max"), f.uint("bytes", 64)
	for key, to := range map[string]*uint64{"first": &s.First, "last": &s.Last} {
		if v, ok := f.get(key); ok {
			*to = f.timeOf(v, s.Thread)
		}
	}
	s.Ledger = f.ledger()
	s.Durations = f.counts("durations")
	p.rec.Stats = append(p.rec.Stats, s)
}

func (w *writer) stat(s *Stat) {
	w.word("stat")
	w.thread("thread", s.Thread)
	w.op("op", s.Op)
	w.num("calls", s.Calls)
	w.num("errors", s.Errors)
	w.dur("sum", s.SumNS)
	w.dur("max", s.MaxNS)
	w.num("bytes", s.Bytes)
	if s.First != 0 {
		w.set("first", w.when(s.First))
	}
	if s.Last != 0 {
		w.set("last", w.when(s.Last))
	}
	w.ledger(&s.Ledger)
	if len(s.Durations) > 0 {
		c := make([]string, len(s.Durations))
		for i, d := range s.Durations {
			c[i] = fmt.Sprintf("%s*%d", formatDuration(d.NS), d.N)
		}
		w.set("durations", strings.Join(c, ","))
	}
}
