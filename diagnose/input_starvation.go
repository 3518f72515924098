package diagnose

import (
	"fmt"

	"github.com/ingero-io/ingero/report"
)

// claimInput takes waits for data from a worker of the process's own that was
// computing it.
func claimInput(_ *evidence, a *account) []claim { return a.through(InputStarvation) }

func describeInput(ev *evidence, f *finding, c *report.Chain) {
	t := f.root(ev)
	one, who := ev.who(t, f.sub.PID), f.about(ev)
	did := f.doing()
	from := "its worker " + who
	if t.PID == f.sub.PID || f.several() {
		from = who // which says that it is the program's own thread, or that they are workers
	}
	c.Summary = fmt.Sprintf("%s lost %s waiting for input from %s, which %s %s",
		f.process(ev), f.pct(), from, f.was(), did.short("computing it"))
	c.Cause.Detail = fmt.Sprintf("%s %s, and %s until then", who, f.proof(), did.long())
	c.Path = f.path(ev, did.state(), did.on())
	c.Recommendations = append(ev.advise(f.sub.PID, []string{"process", f.process(ev), "worker", one}, adviceWorkers),
		fmt.Sprintf("see what the worker does: perf top -p %d", t.PID))
}
