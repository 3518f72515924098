package diagnose

import (
	"fmt"

	"github.com/ingero-io/ingero/explain/report"
)

var causePeerWait = cause{
	kind:         PeerWait,
	claimEpisode: claimPeer,
	joinsThreads: true,
	place:        sameProcess,
	counts:       atWork,
	describe:     describePeer,
	saysHow:      true,
}

// claimPeer takes waits for data from another process that was computing.
func claimPeer(_ *evidence, a *account) []claim { return a.through(PeerWait) }

func describePeer(ev *evidence, f *finding, c *report.Chain) {
	t := f.root()
	who := f.about(ev)
	did := f.claims.doing()
	c.Summary = fmt.Sprintf("%s lost %s waiting for data from %s, which %s %s",
		f.process(ev), f.pct(), who, f.parts.was(), did.short("computing"))
	c.Cause.Detail = fmt.Sprintf("%s %s, and %s until then", who, f.worst.proof(), did.long())
	c.Path = f.path(ev, did.state(), did.on())
	c.Recommendations = []string{fmt.Sprintf("make %s faster or let %s do something else until its answer comes; see "+
		"what it does: perf top -p %d", who, f.process(ev), t.PID)}
}
