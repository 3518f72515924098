package diagnose

import (
	"fmt"

	"github.com/ingero-io/ingero/report"
)

// claimPeer takes waits for data from another process that was computing.
func claimPeer(_ *scene, a *account) []piece { return a.through(PeerWait) }

func tellPeer(s *scene, f *finding, c *report.Chain) {
	t := f.root(s)
	who := s.who(t, f.sub.PID)
	c.Summary = fmt.Sprintf("%s lost %s waiting for data from %s, which was computing", f.process(s), f.pct(), who)
	c.Cause.Detail = fmt.Sprintf("%s ended the waits by writing, and ran on a CPU until then", who)
	c.Path = f.path(s, "running", "a CPU")
	c.Recommendations = []string{fmt.Sprintf("make %s faster or let %s do something else until its answer comes; see what it does: perf top -p %d", who, f.process(s), t.PID)}
}
