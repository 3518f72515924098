package diagnose

import (
	"fmt"

	"github.com/ingero-io/ingero/explain/report"
)

// given is the memory that processes were given in the seconds in which time was lost.
// It is empty if that was not recorded.
type given struct {
	own, all uint64 // bytes: of the process that lost time, and of all of them
	most     uint64 // of the one that was given the most
	who      string // its name, empty if it is the process itself
}

func givenMeanwhile(ev *evidence, claims claimList, pid uint32) given {
	const second = 1_000_000_000
	within := claims.seconds()
	by, names := map[uint32]uint64{}, map[uint32]string{}
	var g given
	for i := range ev.in.Pages {
		p := &ev.in.Pages[i]
		if within(p.At - min(p.At, second)) {
			by[p.PID] += p.Bytes
			names[p.PID] = p.Comm
			g.all += p.Bytes
		}
	}
	most := pid
	for who, n := range by {
		// PID 0 is not a process.
		if who != 0 && (n > by[most] || n == by[most] && most != pid && who < most) {
			most = who
		}
	}
	g.own, g.most = by[pid], by[most]
	if most != pid {
		g.who = ev.procs.name(most, names[most])
	}
	return g
}

// words describes the memory that was given. Other processes are mentioned only if everybody shares
// the memory that was short.
func (g *given) words(everybody bool) string {
	if g.all == 0 {
		return ""
	}
	text := fmt.Sprintf("; meanwhile it was given %s", report.Bytes(g.own))
	if !everybody {
		return text
	}
	text += fmt.Sprintf(" of the %s that all processes were", report.Bytes(g.all))
	if g.who != "" {
		text += fmt.Sprintf(", and %s, the most of all, %s", g.who, report.Bytes(g.most))
	}
	return text
}
