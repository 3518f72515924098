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
	switch cost, words := work(a, b); {
	case words == "" || cost < smallPart*(b.NS-a.NS) && !largerCopies(a, b):
	case (a.NS+cost)*minRatio >= b.NS:
		c.MoreWork, c.WorkNS = words, c.LostNS
	default:
		c.PartWork, c.WorkNS = words, uint64(math.Round(cost*slow))
	}
	c.Between = awaited(b)-awaited(a) > (b.NS-a.NS)/2
	c.Elsewhere = elsewhere(a, b)
	rest := int64(math.Round(b.NS - a.NS))
	for _, p := range difference.Split(&a.Share, &b.Share) {
		if len(c.Parts) == maxParts || math.Abs(p.NS) < smallPart*math.Abs(b.NS-a.NS) {
			break
		}
		ns := int64(math.Round(p.NS))
		c.Parts = append(c.Parts, report.ChangePart{
			NS: ns, What: p.Words(), Op: p.Op, Class: p.Class,
			OnCPU:  p.Class == event.OnCPU && p.What != difference.Calls,
			Waited: p.Class < event.OnCPU && p.What == difference.BetweenCalls,
		})
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
	bytes  float64 // copied
	copies float64
	sites  map[opSite]float64 // waits for the GPU, by place
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
				m.copies += float64(s.Calls) / steps
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
// CPU, a disk or memory, nor did it ask to sleep, which is no wait for anybody; or it is not known whether it waited.
func awaited(m *mean) (ns float64) {
	ns = m.Between[difference.Unknown]
	for c, v := range m.Between[:event.NumClasses] {
		switch event.Class(c) {
		case event.RunQueue, event.Throttled, event.BlockIO, event.Fault, event.Sleep:
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

// slowestCopy is how long the GPU may take to copy a byte, ns: 1 GB/s is what pageable memory is copied with on slow
// buses.
const slowestCopy = 1.0

// leastOnGPU is the least share of what a step takes longer that waits for the GPU, copies and launches take longer,
// for larger copies to show that steps have more to do.
const leastOnGPU = 0.25

// fewerEach is the ratio of launches for each wait from which on steps wait for less work at a time.
const fewerEach = 1.5

// work describes how much more steps launch or copy after a change, and what that may cost at most, ns. Each launch may
// cost as much as before, unless steps now wait for less work at a time: then the waits are what became more, and
// launches cost the time in their calls. Copies that became larger show that steps have more input, if the GPU's part
// of a step became longer, too; else, or if they only became more, they cost what their bytes take on a slow bus.
func work(a, b *mean) (cost float64, words string) {
	x, y := launches(a), launches(b)
	if x > 0 && y/x >= minRatio {
		cost, words = a.NS*(y/x-1), difference.Number(y)+" instead of "+difference.Number(x)+" launches"
		if v, w := waits(a), waits(b); v > 0 && x/v >= fewerEach*y/w {
			cost = callTime(b, event.RoleLaunch) - callTime(a, event.RoleLaunch)
		}
	}
	if a.bytes > 0 && b.bytes/a.bytes >= minRatio {
		ns := (b.bytes - a.bytes) * slowestCopy
		if largerCopies(a, b) && onGPU(b)-onGPU(a) >= leastOnGPU*(b.NS-a.NS) {
			ns = a.NS * (b.bytes/a.bytes - 1)
		}
		if ns > cost {
			cost, words = ns, report.Bytes(uint64(math.Round(b.bytes)))+" instead of "+
				report.Bytes(uint64(math.Round(a.bytes)))+" copied"
		}
	}
	return cost, words
}

// waits is how often a step waits for the GPU.
func waits(m *mean) (n float64) {
	for op, x := range m.Ops {
		if op.Role() == event.RoleSync {
			n += x.Calls
		}
	}
	return n
}

// callTime is the time in a step's calls of a role, ns.
func callTime(m *mean, r event.Role) (ns float64) {
	for op, x := range m.Ops {
		if op.Role() == r {
			ns += x.NS
		}
	}
	return ns
}

// largerCopies reports whether a step's copies became larger: it may have more input.
func largerCopies(a, b *mean) bool {
	return a.bytes > 0 && b.bytes/b.copies*a.copies/a.bytes >= minRatio
}

// onGPU is the time in a step's calls that wait for the GPU, copy or launch, ns.
func onGPU(m *mean) float64 {
	return callTime(m, event.RoleSync) + callTime(m, event.RoleCopy) + callTime(m, event.RoleLaunch)
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
