package diagnose

import (
	"fmt"
	"strings"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
)

var causeInputStarvation = cause{
	kind:         event.CauseInputStarvation,
	takes:        blocked,
	claimEpisode: claimInput,
	fromWorker:   true,
	answered:     event.CausePeerWait,
	joinsThreads: true,
	place:        sameWorkers,
	counts:       atWork,
	describe:     describeInput,
}

// claimInput takes waits for data from a worker of the same program that was computing it.
func claimInput(_ *evidence, a *account) []claim { return a.through(event.CauseInputStarvation) }

// sameWorkers returns the workers' name without their number.
func sameWorkers(ev *evidence, f *finding) (string, bool) {
	return strings.TrimRight(ev.procs.name(f.root().PID, ""), "0123456789"), true
}

// atWork are the classes of time in which a thread was at work on what was waited for.
var atWork = []event.Class{event.OnCPU, event.RunQueue, event.Throttled, event.BlockIO, event.Fault}

func describeInput(ev *evidence, f *finding, c *report.Chain) {
	t := f.root()
	one, who := ev.procs.who(t, f.sub.PID), f.about(ev)
	did := f.claims.doing()
	from := "its worker " + who
	if t.PID == f.sub.PID || f.parts.several() {
		from = who // which says that it is the program's own thread, or that they are workers
	}
	c.Summary = fmt.Sprintf("%s lost %s waiting for input from %s, which %s %s",
		f.process(ev), f.pct(), from, f.parts.was(), did.short("computing it"))
	if f.claims.newborn() {
		c.Summary = fmt.Sprintf("%s lost %s waiting for input from %s, which it had just started: each begins anew",
			f.process(ev), f.pct(), from)
		c.Recommendations = ev.procs.advise(f.sub.PID, []string{"process", f.process(ev)}, adviceKeepWorkers)
	}
	c.Cause.Detail = fmt.Sprintf("%s %s, and %s until then", who, f.worst.proof(), did.long())
	c.Path = f.path(ev, did.state(), did.on())
	words := []string{"process", f.process(ev), "worker", one}
	c.Recommendations = append(c.Recommendations, ev.procs.advise(f.sub.PID, words, adviceWorkers)...)
	c.Recommendations = append(c.Recommendations, fmt.Sprintf("see what the worker does: perf top -p %d", t.PID))
}

// newborn reports whether most of the time was lost to processes that had just begun.
func (l claimList) newborn() bool {
	var all, newborn uint64
	for _, cl := range l {
		all += cl.lost
		if cl.newborn {
			newborn += cl.lost
		}
	}
	return share(newborn, all) >= half
}
