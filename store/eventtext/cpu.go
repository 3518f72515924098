package eventtext

import (
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

var throttleKind = kind{
	word: "throttle", timed: true, parse: doThrottle,
	format: lines(func(r *Recording) []store.Throttle { return r.Throttles }, (*writer).throttle),
}

func doThrottle(p *parser, f *fields) {
	p.rec.Throttles = append(p.rec.Throttles, store.Throttle{
		At: f.time(event.Thread{}), Cgroup: f.text("cgroup"), Periods: f.uint("periods", 64), NS: f.dur("time"),
		QuotaUS: f.dur("quota") / 1000, PeriodUS: f.dur("period") / 1000, Version: uint8(f.uint("version", 8)),
	})
}

func (w *writer) throttle(t *store.Throttle) {
	w.word("throttle " + w.when(t.At))
	w.text("cgroup", t.Cgroup)
	w.num("periods", t.Periods)
	w.dur("time", t.NS)
	w.dur("quota", t.QuotaUS*1000)
	w.dur("period", t.PeriodUS*1000)
	w.num("version", uint64(t.Version))
}

var stallKind = kind{
	word: "stall", timed: true, parse: doStall,
	format: lines(func(r *Recording) []event.Stall { return r.Stalls }, (*writer).stall),
}

func doStall(p *parser, f *fields) {
	p.rec.Stalls = append(p.rec.Stalls, event.Stall{
		Start: f.time(event.Thread{}), Duration: f.dur("dur"), CPU: uint16(f.uint("cpu", 16)),
	})
}

func (w *writer) stall(s *event.Stall) {
	w.word("stall " + w.when(s.Start))
	w.dur("dur", s.Duration)
	w.num("cpu", uint64(s.CPU))
}
