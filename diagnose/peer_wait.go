package diagnose

import (
	"fmt"

	"github.com/ingero-io/ingero/report"
)

// claimPeer takes waits for data from another process that was computing.
func claimPeer(_ *scene, a *account) []piece { return a.through(PeerWait) }

func tellPeer(s *scene, f *finding, c *report.Chain) {
	t := f.root(s)
	who := f.about(s)
	did := f.doing()
	c.Summary = fmt.Sprintf("%s lost %s waiting for data from %s, which %s %s",
		f.process(s), f.pct(), who, f.was(), did.short("computing"))
	c.Cause.Detail = fmt.Sprintf("%s %s, and %s until then", who, f.proof(), did.long())
	c.Path = f.path(s, did.state(), did.on())
	c.Recommendations = []string{fmt.Sprintf("make %s faster or let %s do something else until its answer comes; see what it does: perf top -p %d", who, f.process(s), t.PID)}
}
