package agent

import (
	"slices"
	"time"

	"github.com/ingero-io/ingero/event"
)

const (
	// innerRate is from how many calls of the driver a second within calls of the runtime
	// their probes are worth the trouble: at 0.6 us each they take 0.3 % of a core.
	innerRate = 5_000
	// innerSeconds is how many seconds in a row have to show no other such call of the driver:
	// two, as one may lie between two that do.
	innerSeconds = 2
	// checkEvery and checkFor say when the probes are put back to look whether all such calls of
	// the driver still are within calls of the runtime: 1 % of the time, which leaves 1 % of
	// the cost. A tenth of a second has many steps of a program that calls that often.
	checkEvery = 10 * time.Second
	checkFor   = 100 * time.Millisecond
)

// innerCalls decides when the probes on the driver's launches, waits or copies (event.InnerRoles)
// may be taken off: when every one is a part of a traced call of the runtime. It looks at each role
// by itself, and at each group of processes that have their links in common. Pure: times are given.
type innerCalls struct {
	group  func(pid uint32) int                     // of a process: itself if it has links of its own, else 0
	open   [1 << 8][len(event.InnerRoles)]openInner // by thread, and index of the role
	procs  map[innerProcessKey]*innerProcess
	groups map[innerGroupKey]*innerGroup
	off    time.Duration // for how long some group had no probe, until `since`
	since  time.Time     // from when on a group has had none; zero: all have them
}

type innerProcessKey struct {
	pid  uint32
	role event.Role
}

type innerGroupKey struct {
	group int
	role  event.Role
}

// openInner are calls of the driver, of one role, within a call that has not returned yet.
type openInner struct {
	event.Thread
	start uint64 // of the last one
	count uint64
	depth uint8
}

// innerProcess is what a process called in a second, or in a check, of one role.
type innerProcess struct {
	nested uint64
	bare   uint64 // by the driver's functions alone
	fresh  bool   // not all of its libraries may have had their probes yet
	alone  bool   // once it has called the driver's functions alone, it will again
}

type innerGroup struct {
	quiet   int       // seconds in a row with innerRate calls, all within calls of the runtime
	off     bool      // the probes are taken off
	checks  bool      // the probes are on to look
	turn    time.Time // when to check, or to end the check
	turning bool      // probes are being put on or taken off
	joined  bool      // by a thread of which nothing is known
}

func newInnerCalls(group func(uint32) int) *innerCalls {
	return &innerCalls{
		group: group, procs: map[innerProcessKey]*innerProcess{}, groups: map[innerGroupKey]*innerGroup{},
	}
}

// calls looks at calls in the order in which those of a thread returned.
func (x *innerCalls) calls(calls []event.Call) {
	for i := range calls {
		c := &calls[i]
		own := -1 // index of its role, if it is a call of the driver that matters
		if c.Op.Inner() {
			own = slices.Index(event.InnerRoles[:], c.Op.Role())
		}
		open := &x.open[c.TID&uint32(len(x.open)-1)]
		for k := range open {
			o := &open[k]
			if o.count > 0 && o.depth == c.Depth+1 && o.Thread == c.Thread {
				x.returned(c, o, event.InnerRoles[k])
			}
			switch {
			case k != own:
			case c.Depth == 0:
				x.process(c.PID, event.InnerRoles[k]).bare++
			case o.Thread == c.Thread && o.depth == c.Depth && o.count > 0:
				o.start = c.Start
				o.count++
			default: // what another thread left there is not known then
				*o = openInner{c.Thread, c.Start, 1, c.Depth}
			}
		}
	}
}

// returned handles the call around calls of the driver of a role. One of that role is looked at
// itself; a call of another thread's time was lost.
func (x *innerCalls) returned(c *event.Call, o *openInner, role event.Role) {
	switch s := c.Op.Source(); {
	case c.Op.Inner() && c.Op.Role() == role || o.start < c.Start:
	case s == event.SourceCUDA || s == event.SourceGraph:
		x.process(c.PID, role).nested += o.count
	default: // a collective operation's, for one, which is no launch in the recording
		x.process(c.PID, role).bare += o.count
	}
	*o = openInner{}
}

func (x *innerCalls) process(pid uint32, role event.Role) *innerProcess {
	k := innerProcessKey{pid, role}
	p := x.procs[k]
	if p == nil {
		p = &innerProcess{fresh: true}
		x.procs[k] = p
	}
	return p
}

// lives handles threads that make their first call.
func (x *innerCalls) lives(lives []event.Life) {
	for i := range lives {
		l := &lives[i]
		if l.Kind != event.LifeFirst {
			continue
		}
		for _, role := range event.InnerRoles {
			x.process(l.PID, role)
			if g := x.groups[innerGroupKey{x.group(l.PID), role}]; g != nil {
				g.joined = true
			}
		}
	}
}

// ended forgets processes that ended, with their first threads.
func (x *innerCalls) ended(ends []event.Life) {
	for i := range ends {
		l := &ends[i]
		if l.PID != l.TID {
			continue
		}
		for _, role := range event.InnerRoles {
			delete(x.procs, innerProcessKey{l.PID, role})
			if group := x.group(l.PID); group != 0 {
				delete(x.groups, innerGroupKey{group, role}) // its links are gone
			}
		}
	}
}

// sum adds up what a group called since the last time.
func (x *innerCalls) sum(k innerGroupKey) (nested uint64, alone bool) {
	for of, p := range x.procs {
		if of.role != k.role || x.group(of.pid) != k.group {
			continue
		}
		p.alone = p.alone || p.bare > 0 && !p.fresh
		nested += p.nested
		alone = alone || p.alone || p.bare > 0
		p.nested, p.bare, p.fresh = 0, 0, false
	}
	return nested, alone
}

// change is that a group's probes of a role are to be put on or taken off.
type change struct {
	innerGroupKey
	on bool
}

// second handles a second's calls, and says which groups need their probes no more.
func (x *innerCalls) second(now time.Time, span time.Duration) (list []change) {
	for of := range x.procs {
		if k := (innerGroupKey{x.group(of.pid), of.role}); x.groups[k] == nil {
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

func (g *innerGroup) take(k innerGroupKey, now time.Time) change {
	g.off, g.checks, g.turning, g.quiet, g.turn = true, false, true, 0, now.Add(checkEvery)
	return change{k, false}
}

// check says which groups have their probes put back now, to look, and which have them taken
// off again. A thread that is new to a group is looked at for as long as those before it.
func (x *innerCalls) check(now time.Time) (list []change) {
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
func (x *innerCalls) turned(c change, now time.Time) {
	g := x.groups[c.innerGroupKey]
	if g == nil {
		return
	}
	g.turning = false
	if c.on {
		g.turn = now.Add(checkFor)
	}
}

// missing is for how long calls of the driver were not counted separately, in any group.
func (x *innerCalls) missing(now time.Time) time.Duration {
	x.count(now)
	return x.off // none is counted twice, however many groups there are
}

func (x *innerCalls) count(now time.Time) {
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
