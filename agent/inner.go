package agent

import (
	"slices"
	"time"

	"github.com/ingero-io/ingero/event"
)

const (
	// innerRate is the number of driver calls a second, all within runtime calls, from which
	// their probes are removed: at 0.6 us each they cost 0.3 % of a core.
	innerRate = 5_000
	// innerSeconds is how many seconds in a row must have no other such driver call: two, as
	// one such second may lie between two with one.
	innerSeconds = 2
	// checkEvery and checkFor say when the probes are attached again to check that all such
	// driver calls still are within runtime calls: for 1 % of the time, at 1 % of the cost. A
	// program that calls that often has many steps in a tenth of a second.
	checkEvery = 10 * time.Second
	checkFor   = 100 * time.Millisecond
)

// innerCalls decides when the probes on the driver's launches, waits or copies (event.InnerRoles)
// may be removed: when every such call is within a traced runtime call. Each role and each group of
// processes that share links is judged separately. Pure: times are arguments.
type innerCalls struct {
	group  func(pid uint32) int                     // of a process: its pid if it has its own links, else 0
	open   [1 << 8][len(event.InnerRoles)]openInner // by thread, and index of the role
	procs  map[innerProcessKey]*innerProcess
	groups map[innerGroupKey]*innerGroup
	off    time.Duration // how long some group had no probes, until `since`
	since  time.Time     // since when a group has had none; zero: all have them
}

type innerProcessKey struct {
	pid  uint32
	role event.Role
}

type innerGroupKey struct {
	group int
	role  event.Role
}

// openInner are driver calls of one role within a call that has not returned yet.
type openInner struct {
	event.Thread
	start uint64 // of the last driver call
	count uint64
	depth uint8
}

// innerProcess counts a process's calls of one role in a second, or in a check.
type innerProcess struct {
	nested uint64
	bare   uint64 // not within a runtime call
	fresh  bool   // new: some of its libraries may not have their probes yet
	alone  bool   // it has made driver calls outside of runtime calls, and may again
}

type innerGroup struct {
	quiet   int       // seconds in a row with innerRate calls, all within runtime calls
	off     bool      // the probes are removed
	checks  bool      // the probes are on for a check
	turn    time.Time // when to begin or end a check
	turning bool      // probes are being attached or removed
	joined  bool      // a new thread of the group made its first call
}

func newInnerCalls(group func(uint32) int) *innerCalls {
	return &innerCalls{
		group: group, procs: map[innerProcessKey]*innerProcess{}, groups: map[innerGroupKey]*innerGroup{},
	}
}

// calls handles calls, in the order in which those of a thread returned.
func (x *innerCalls) calls(calls []event.Call) {
	for i := range calls {
		c := &calls[i]
		own := -1 // index of its role, if it is a driver call of interest
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
			default: // the slot may have another thread's calls, which are dropped
				*o = openInner{c.Thread, c.Start, 1, c.Depth}
			}
		}
	}
}

// returned handles the call around driver calls of a role. If it has the same role, it is handled
// on its own; if it began later, the record of the right one was dropped.
func (x *innerCalls) returned(c *event.Call, o *openInner, role event.Role) {
	switch s := c.Op.Source(); {
	case c.Op.Inner() && c.Op.Role() == role || o.start < c.Start:
	case s == event.SourceCUDA || s == event.SourceGraph:
		x.process(c.PID, role).nested += o.count
	default: // a collective operation, for example, which is not recorded as a launch
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

// lives handles threads that made their first call.
func (x *innerCalls) lives(lives []event.Life) {
	for i := range lives {
		l := &lives[i]
		if l.Kind != event.LifeFirst || l.Op.Mark() != 0 {
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

// ended forgets ended processes, when their first thread ends.
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

// sum adds up a group's calls since the last time.
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

// change says that a group's probes of a role are to be attached or removed.
type change struct {
	innerGroupKey
	on bool
}

// second handles one second's calls, and returns the groups that no longer need their probes.
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

// check returns the groups whose probes are to be attached for a check, and those whose check is
// over. A new thread in a group is checked as long as the threads before it.
func (x *innerCalls) check(now time.Time) (list []change) {
	for k, g := range x.groups {
		switch {
		case g.turning:
		case g.off && (g.joined || !now.Before(g.turn)):
			_, _ = x.sum(k) // drop the counts from before
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
	x.countCalls(now)
	return list
}

// turned notes that a change was made.
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

// missing is how long driver calls were not counted separately, in any group.
func (x *innerCalls) missing(now time.Time) time.Duration {
	x.countCalls(now)
	return x.off // overlaps between groups count once
}

func (x *innerCalls) countCalls(now time.Time) {
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
