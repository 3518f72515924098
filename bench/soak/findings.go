package soak

import (
	"fmt"
	"slices"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
)

// life is a process, from its fork to its end, as the kernel told of it. Times are Unix seconds.
type life struct {
	from, to float64  // to is 0 while it lives
	names    []string // that it or a thread of it had
	unnamed  bool     // it had others, which nobody read in time
}

// lives are all processes of the machine, by id.
type lives struct {
	of    map[uint32][]*life
	blind bool // the kernel had to drop some of what it told
}

// named is a process that a report names, and where.
type named struct {
	pid   uint32
	name  string
	where string
}

// slack is by how many seconds the time at which the end of a process was told may differ from that of the recording.
const slack = 5

// wrongFindings are what a report says that cannot be. own is what the steady program, whose id is pid, counted.
func wrongFindings(r *report.Report, l lives, pid uint32, own []second) []string {
	from, to := float64(r.Window.FromNS)/1e9, float64(r.Window.ToNS)/1e9
	var wrong []string
	for i := range r.Chains {
		c := &r.Chains[i]
		for _, p := range processesOf(c) {
			if why := l.absent(p, from, to); why != "" {
				wrong = append(wrong, fmt.Sprintf("%s: %s %s: %s", c.ID, p.where, why, c.Summary))
			}
		}
		if why := unfounded(c, pid, own, from, to); why != "" {
			wrong = append(wrong, fmt.Sprintf("%s: %s: %s", c.ID, why, c.Summary))
		}
	}
	for i := range r.InFlight {
		f := &r.InFlight[i]
		if why := l.absent(named{f.PID, f.Process, "a call in flight of"}, from, to); why != "" {
			wrong = append(wrong, "a call in flight of "+why)
		}
	}
	slices.Sort(wrong)
	return slices.Compact(wrong)
}

func processesOf(c *report.Chain) []named {
	all := []named{{c.Effect.PID, c.Effect.Process, "it is about"}, {c.Cause.PID, c.Cause.Process, "it blames"}}
	for i := range c.Path {
		all = append(all, named{c.Path[i].PID, c.Path[i].Process, "its path has"})
	}
	for i := range c.Culprits {
		all = append(all, named{c.Culprits[i].PID, c.Culprits[i].Process, "its culprits are"})
	}
	return all
}

// absent says why a process cannot have done anything in a window; "" if it can, or if nobody knows.
func (l lives) absent(p named, from, to float64) string {
	if p.pid == 0 || l.blind {
		return ""
	}
	nameless := p.name == "" || p.name == fmt.Sprintf("pid %d", p.pid)
	var others []string
	for _, x := range l.of[p.pid] {
		if x.from > to+slack || x.to > 0 && x.to < from-slack {
			continue
		}
		if x.unnamed || nameless || slices.Contains(x.names, p.name) {
			return ""
		}
		others = append(others, x.names...)
	}
	if len(others) > 0 {
		return fmt.Sprintf("%s (pid %d), which is %q at that time", p.name, p.pid, others)
	}
	return fmt.Sprintf("%s (pid %d), which does not exist at that time", p.name, p.pid)
}

// unfounded says why a finding of high severity about the steady program is wrong: by its own clock it lost far less.
// What it lost because the churn took the CPU is in its own count, too.
func unfounded(c *report.Chain, pid uint32, own []second, from, to float64) string {
	const times, allowanceNS = 2, 100e6
	if c.Severity != event.SeverityHigh || c.Effect.PID != pid {
		return ""
	}
	var excess float64
	for _, s := range own {
		if float64(s.unix+1) > from-1 && float64(s.unix) < to+1 {
			excess += float64(s.excessNS)
		}
	}
	if float64(c.LostNS) <= times*excess+allowanceNS {
		return ""
	}
	return fmt.Sprintf("the steady program is said to have lost %d ms, and lost %d ms by its own clock",
		c.LostNS/1e6, int64(excess/1e6))
}
