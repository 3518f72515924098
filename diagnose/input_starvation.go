package diagnose

import (
	"fmt"

	"github.com/ingero-io/ingero/report"
)

// claimInput takes waits for data from a worker of the process's own that was
// computing it.
func claimInput(_ *scene, a *account) []piece { return a.through(InputStarvation) }

func tellInput(s *scene, f *finding, c *report.Chain) {
	t := f.root(s)
	who := s.who(t, f.sub.PID)
	did := f.doing()
	from := "its worker " + who
	if t.PID == f.sub.PID {
		from = who // which says that it is the program's own thread
	}
	c.Summary = fmt.Sprintf("%s lost %s waiting for input from %s, which was %s", f.process(s), f.pct(), from, did.short("computing it"))
	c.Cause.Detail = fmt.Sprintf("%s %s, and %s until then", who, f.proof(), did.long())
	c.Path = f.path(s, did.state(), did.on())
	c.Recommendations = append(s.advise(f.sub.PID, []string{"process", f.process(s), "worker", who}, adviceWorkers),
		fmt.Sprintf("see what the worker does: perf top -p %d", t.PID))
}
