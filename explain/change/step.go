package change

import (
	"math"
	"slices"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/difference"
	"github.com/ingero-io/ingero/explain/report"
)

// maxParts is how many parts of a difference are listed. Parts below the share smallPart are not.
const (
	maxParts  = 4
	smallPart = 0.05
)

// describe fills in what changed between the steps of two parts, with slow slow steps. It returns false if they are
// not known to be slower: without steps, launches per wait may have become fewer.
func (f *finder) describe(c report.Change, before, after part, slow float64) (report.Change, bool) {
	a, b := f.meanStep(f.list[before.from:before.to]), f.meanStep(f.list[after.from:after.to])
	unknown(a, b)
	c.Process, c.PID, c.TID, c.Parts = f.t.Process, f.t.PID, f.t.TID, []report.ChangePart{}
	if f.t.Rate {
		c.Of = f.t.Op.String()
		if x, y := launches(a), launches(b); y*alike < x {
			return c, false
		}
	}
	c.BeforeNS, c.AfterNS = uint64(math.Round(a.NS)), uint64(math.Round(b.NS))
	c.LostNS = uint64(math.Round(math.Max(0, b.NS-a.NS) * slow))
	if ratio, words := work(a, b); ratio*minRatio >= b.NS/a.NS {
		c.MoreWork, c.WorkNS = words, c.LostNS
	} else {
		c.PartWork, c.WorkNS = words, uint64(math.Round(a.NS*(ratio-1)*slow))
	}
	if c.MoreWork == "" && c.PartWork == "" {
		c.WorkNS = 0
	}
	c.Between = awaited(b)-awaited(a) > (b.NS-a.NS)/2
	c.Elsewhere = elsewhere(a, b)
	rest := int64(math.Round(b.NS - a.NS))
	for _, p := range difference.Split(&a.Share, &b.Share) {
		if len(c.Parts) == maxParts || math.Abs(p.NS) < smallPart*math.Abs(b.NS-a.NS) {
			break
		}
		ns := int64(math.Round(p.NS))
		c.Parts = append(c.Parts, report.ChangePart{NS: ns, What: p.Words()})
		rest -= ns
	}
	if rest != 0 {
		c.Parts = append(c.Parts, report.ChangePart{NS: rest, What: "all smaller parts"})
	}
	c.Summary = c.Sentence()
	return c, true
}

// mean is a mean step.
type mean struct {
	difference.Share
	bytes float64            // copied
	sites map[opSite]float64 // waits for the GPU, by place
}

type opSite struct {
	op   event.Op
	site uint64
}

// elsewhere reports whether steps still wait for the GPU, but rarely at the former places.
func elsewhere(a, b *mean) bool {
	var before, kept float64
	for at, n := range a.sites {
		before += n
		kept += math.Min(n, b.sites[at])
	}
	return len(b.sites) > 0 && kept < before/2
}

// meanStep returns the mean step of some seconds.
func (f *finder) meanStep(list []Second) *mean {
	m := &mean{Share: difference.Share{Ops: map[event.Op]*difference.OpShare{}}, sites: map[opSite]float64{}}
	var steps float64
	for i := range list {
		if s := list[i].Of(f.op); s != nil {
			steps += float64(s.Calls)
		}
	}
	m.NS = float64(len(list)) * float64(f.width) / steps
	rest := m.NS
	for i := range list {
		for j := range list[i].Ops {
			s := &list[i].Ops[j]
			x := m.Ops[s.Op]
			if x == nil {
				x = &difference.OpShare{}
				m.Ops[s.Op] = x
			}
			x.Calls += float64(s.Calls) / steps
			x.NS += float64(s.NS) / steps
			x.By[event.OnCPU] += float64(s.NS-min(s.NS, s.Ledger.Total())) / steps
			for c, ns := range s.Ledger.NS {
				x.By[c] += float64(ns) / steps
			}
			rest -= float64(s.NS) / steps
			if s.Op.Role() == event.RoleCopy {
				m.bytes += float64(s.Bytes) / steps
			}
			for _, at := range s.Sites {
				m.sites[opSite{s.Op, at.Site}] += float64(at.Calls) / steps
			}
		}
		for c, ns := range list[i].Between.NS {
			m.Between[c] += float64(ns) / steps
		}
	}
	for _, ns := range m.Between[:event.NumClasses] {
		rest -= ns
	}
	m.Between[event.OnCPU] = rest
	return m
}

// unknown moves time on a CPU to difference.Unknown if no waits were recorded on either side, in calls or between
// them: then nothing is known of that time.
func unknown(sides ...*mean) {
	waits := func(by []float64) bool {
		return slices.ContainsFunc(by[:event.NumClasses], func(ns float64) bool { return ns > 0 })
	}
	var in, between bool
	for _, m := range sides {
		between = between || waits(m.Between[:])
		for _, x := range m.Ops {
			in = in || waits(x.By[:])
		}
	}
	for _, m := range sides {
		if !between {
			m.Between[difference.Unknown], m.Between[event.OnCPU] = m.Between[event.OnCPU], 0
		}
		for _, x := range m.Ops {
			if !in {
				x.By[difference.Unknown], x.By[event.OnCPU] = x.By[event.OnCPU], 0
			}
		}
	}
}

// awaited returns the time between calls in which the thread may have had nothing to do, ns: it waited, but not for a
// CPU, a disk or memory; or it is not known whether it waited.
func awaited(m *mean) (ns float64) {
	ns = m.Between[difference.Unknown]
	for c, v := range m.Between[:event.NumClasses] {
		switch event.Class(c) {
		case event.RunQueue, event.Throttled, event.BlockIO, event.Fault:
		default:
			ns += v
		}
	}
	return ns
}

func launches(m *mean) (n float64) {
	for op, x := range m.Ops {
		if op.Role() == event.RoleLaunch {
			n += x.Calls
		}
	}
	return n
}

// work describes how much more steps launch or copy after a change, by the larger of the two.
func work(a, b *mean) (ratio float64, words string) {
	ratio = minRatio
	if x, y := launches(a), launches(b); x > 0 && y/x >= ratio {
		ratio, words = y/x, difference.Number(y)+" instead of "+difference.Number(x)+" launches"
	}
	if x, y := a.bytes, b.bytes; x > 0 && y/x > ratio {
		ratio, words = y/x, report.Bytes(uint64(math.Round(y)))+" instead of "+report.Bytes(uint64(math.Round(x)))+" copied"
	}
	if words == "" {
		return 1, ""
	}
	return ratio, words
}

// sameCalls reports whether steps make the same calls, give or take a tenth, and each call that was made at least
// once per step in at least half of the steps.
func sameCalls(a, b *mean) bool {
	var all, differ float64
	for op, x := range a.Ops {
		y := 0.0
		if o := b.Ops[op]; o != nil {
			y = o.Calls
		}
		if x.Calls > 1/alike && y < x.Calls/2 {
			return false
		}
		all += x.Calls
		differ += math.Abs(x.Calls - y)
	}
	for op, y := range b.Ops {
		if a.Ops[op] == nil {
			differ += y.Calls
		}
	}
	return differ <= (alike-1)*all
}
