package diagnose

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/ledger"
	"github.com/ingero-io/ingero/report"
)

// claimNetwork takes waits for the answer of a peer that cannot be followed: it is
// on another machine, or was not seen.
func claimNetwork(_ *scene, a *account) []piece { return a.through(NetworkWait) }

// serving reports whether a wait is for what a client may send to the server that
// the thread is: it is at the accepting end of the connection.
func serving(o *event.OffCPU) bool {
	serves, known := o.Socket.Serves()
	return o.Class == event.Network && known && serves
}

// asked reports whether a wait is for an answer: the thread connected to a server,
// so that it speaks first.
func asked(o *event.OffCPU) bool {
	serves, known := o.Socket.Serves()
	return o.Class == event.Network && known && !serves
}

// beyond is the wait in a link that nobody could be found behind, and that was for
// a server's answer: most of the link's time, or nil.
func beyond(l *ledger.Link) (*event.OffCPU, uint64) {
	var most *event.OffCPU
	var all, longest uint64
	for _, o := range l.Rows {
		if !asked(o) {
			continue
		}
		b, e := ledger.Blocked(o)
		v := overlap(b, e, l.From, l.To)
		all += v
		if v > longest {
			most, longest = o, v
		}
	}
	return most, all
}

// endpoint is the server that most time was lost to, and what of it.
func (f *finding) endpoint() string {
	by := map[string]uint64{}
	for _, p := range f.pieces {
		o := p.row
		if l := &p.chain[len(p.chain)-1]; len(p.chain) > 1 {
			if w, _ := beyond(l); w != nil {
				o = w
			}
		}
		by[o.Socket.Endpoint()] += p.lost
	}
	var ends []string
	for e := range by {
		ends = append(ends, e)
	}
	slices.SortFunc(ends, func(a, b string) int { return cmp.Or(cmp.Compare(by[b], by[a]), cmp.Compare(a, b)) })
	return ends[0]
}

func tellNetwork(s *scene, f *finding, c *report.Chain) {
	end := f.endpoint()
	t := f.root(s)
	on := "an answer from " + end
	if f.through() && t != f.sub.Thread {
		who := s.who(t, f.sub.PID)
		c.Summary = fmt.Sprintf("%s lost %s waiting for %s waited for an answer from %s", f.process(s), f.pct(), f.behind(who), end)
		c.Path = f.path(s, "blocked", on)
	} else {
		c.Summary = fmt.Sprintf("%s lost %s waiting for answers from %s %s", f.process(s), f.pct(), end, f.place())
		c.Path = []report.Step{f.step(s, "blocked", on, f.lost)}
	}
	c.Cause.Detail = fmt.Sprintf("%s connected to %s and waited for what it sent, up to %s at a time; what the other side did is not in this recording", s.name(t.PID, ""), end, span(f.stall))
	c.Path = append(c.Path, report.Step{Layer: "NET", Process: end, State: "unknown", On: "its answer", NS: f.explained})
	c.Recommendations = []string{
		fmt.Sprintf("ask ahead: request what the next step needs from %s while this one runs, in another thread than the one that launches the GPU's work", end),
		fmt.Sprintf("see where the time goes: ss -ti dst %s (round trip, retransmissions), and the load of the other side", end),
	}
}
