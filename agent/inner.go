package agent

import (
	"time"

	"github.com/ingero-io/ingero/event"
)

const (
	// innerRate is from how many launches of the driver a second within calls of the runtime
	// their probe is worth the trouble: at 0.6 us each it takes 0.6 % of a core.
	innerRate = 10_000
	// innerSeconds is how many seconds in a row have to show no other launch of the driver:
	// two, as one may lie between two that do.
	innerSeconds = 2
	// checkEvery and checkFor say when the probe is put back to look whether all launches of
	// the driver still are within calls of the runtime: 1 % of the time, which leaves 1 % of
	// the cost. A tenth of a second has many steps of a program that launches that often.
	checkEvery = 10 * time.Second
	checkFor   = 100 * time.Millisecond
)

// innerLaunches decides when the probes on the driver's launches may be taken off: when every
// launch is a part of a traced call of the runtime. It looks at each group of processes
// that have one link in common. Pure: times are given.
type innerLaunches struct {
	group  func(pid uint32) int // of a process: itself if it has links of its own, else 0
	open   [1 << 8]openInner    // by thread
	procs  map[uint32]*innerProcess
	groups map[int]*innerGroup
	off    time.Duration // for how long some group had no probe, until `since`
	since  time.Time     // from when on a group has had none; zero: all have it
}

// openInner are launches of the driver within a call that has not returned yet.
type openInner struct {
	event.Thread
	start uint64 // of the last one
	count uint64
	depth uint8
}

// innerProcess is what a process launched in a second, or in a check.
type innerProcess struct {
	nested uint64
	bare   uint64 // by the driver's functions alone
	fresh  bool   // not all of its libraries may have had their probes yet
	alone  bool   // once it has launched by the driver's functions alone, it will again
}

type innerGroup struct {
	quiet   int       // seconds in a row with innerRate launches, all within calls of the runtime
	off     bool      // the probes are taken off
	checks  bool      // the probes are on to look
	turn    time.Time // when to check, or to end the check
	turning bool      // probes are being put on or taken off
	joined  bool      // by a thread of which nothing is known
}

func newInnerLaunches(group func(uint32) int) *innerLaunches {
	return &innerLaunches{group: group, procs: map[uint32]*innerProcess{}, groups: map[int]*innerGroup{}}
}

// calls looks at calls in the order in which those of a thread returned.
func (x *innerLaunches) calls(calls []event.Call) {
	for i := range calls {
		c := &calls[i]
		o := &x.open[c.TID&uint32(len(x.open)-1)]
		around := o.count > 0 && o.depth == c.Depth+1 && o.Thread == c.Thread
		if around {
			x.returned(c, o)
		}
		switch {
		case !c.Op.Inner():
		case c.Depth == 0:
			x.process(c.PID).bare++
		case o.Thread == c.Thread && o.depth == c.Depth && o.count > 0:
			o.start = c.Start
			o.count++
		default: // what another thread left there is not known then
			*o = openInner{c.Thread, c.Start, 1, c.Depth}
		}
	}
}

// returned handles the call around launches of the driver. One of the driver's launches is
// looked at itself; a call of another thread's time was lost.
func (x *innerLaunches) returned(c *event.Call, o *openInner) {
	switch s := c.Op.Source(); {
	case c.Op.Inner() || o.start < c.Start:
	case s == event.SourceCUDA || s == event.SourceGraph:
		x.process(c.PID).nested += o.count
	default: // a collective operation's, for one, which is no launch in the recording
		x.process(c.PID).bare += o.count
	}
	*o = openInner{}
}

func (x *innerLaunches) process(pid uint32) *innerProcess {
	p := x.procs[pid]
	if p == nil {
		p = &innerProcess{fresh: true}
		x.procs[pid] = p
	}
	return p
}

// lives handles threads that make their first call, and forgets processes that ended.
func (x *innerLaunches) lives(lives []event.Life) {
	for i := range lives {
		switch l := &lives[i]; {
		case l.Kind == event.LifeFirst:
			x.process(l.PID)
			if g := x.groups[x.group(l.PID)]; g != nil {
				g.joined = true
			}
		case l.Kind == event.LifeExit && l.PID == l.TID:
			delete(x.procs, l.PID)
			if k := x.group(l.PID); k != 0 {
				delete(x.groups, k) // its links are gone
			}
		}
	}
}

// sum adds up what a group launched since the last time.
func (x *innerLaunches) sum(k int) (nested uint64, alone bool) {
	for pid, p := range x.procs {
		if x.group(pid) != k {
			continue
		}
		p.alone = p.alone || p.bare > 0 && !p.fresh
		nested += p.nested
		alone = alone || p.alone || p.bare > 0
		p.nested, p.bare, p.fresh = 0, 0, false
	}
	return nested, alone
}

// change is that a group's probes are to be put on or taken off.
type change struct {
	group int
	on    bool
}

// second handles a second's calls, and says which groups need their probes no more.
func (x *innerLaunches) second(now time.Time, span time.Duration) (list []change) {
	for pid := range x.procs {
		if k := x.group(pid); x.groups[k] == nil {
			x.groups[k] = &innerGroup{}
		}
	}
	for k, g := range x.groups {
		if g.off || g.checks || g.turning {
			continue
		}
		nested, alone := x.sum(k)
		if alone || g.joined || float64(nested) < innerRate*span.Seconds() {
			g.quiet, g.joined = 0, false
			continue
		}
		if g.quiet++; g.quiet >= innerSeconds {
			list = append(list, g.take(k, now))
		}
	}
	return list
}

func (g *innerGroup) take(k int, now time.Time) change {
	g.off, g.checks, g.turning, g.quiet, g.turn = true, false, true, 0, now.Add(checkEvery)
	return change{k, false}
}

// check says which groups have their probes put back now, to look, and which have them taken
// off again. A thread that is new to a group is looked at for as long as those before it.
func (x *innerLaunches) check(now time.Time) (list []change) {
	for k, g := range x.groups {
		switch {
		case g.turning:
		case g.off && (g.joined || !now.Before(g.turn)):
			_, _ = x.sum(k) // of before
			g.off, g.checks, g.turning = false, !g.joined, true
			list = append(list, change{k, true})
		case g.checks && g.joined:
			g.checks = false
		case g.checks && !now.Before(g.turn):
			g.checks = false
			if nested, alone := x.sum(k); !alone && float64(nested) >= innerRate*checkFor.Seconds() {
				list = append(list, g.take(k, now))
			}
		}
	}
	x.count(now)
	return list
}

// turned says that a change was made.
func (x *innerLaunches) turned(c change, now time.Time) {
	g := x.groups[c.group]
	if g == nil {
		return
	}
	g.turning = false
	if c.on {
		g.turn = now.Add(checkFor)
	}
}

// missing is for how long launches of the driver were not counted separately, in any group.
func (x *innerLaunches) missing(now time.Time) time.Duration {
	x.count(now)
	return x.off // none is counted twice, however many groups there are
}

func (x *innerLaunches) count(now time.Time) {
	if !x.since.IsZero() {
		x.off += now.Sub(x.since)
	}
	x.since = time.Time{}
	for _, g := range x.groups {
		if g.off || g.turning {
			x.since = now
			return
		}
	}
}
