package diagnose

import (
	"fmt"

	"github.com/ingero-io/ingero/explain/report"
)

// graphWarnings describe what is unusual in how a process uses graphs.
func (ev *evidence) graphWarnings(p *report.Process) []string {
	var w []string
	for _, g := range ev.graphs {
		if g.pid != p.PID {
			continue
		}
		if o := g.ops[captureEnd]; o != nil && o.errors > 0 {
			why := ""
			if sp := ev.calls.captureBreaker(g.pid); sp != nil {
				why = ": " + sp.words()
			}
			w = append(w, fmt.Sprintf("%s of %s graph captures failed%s", report.Count(o.errors), report.Count(o.calls), why))
		}
		if n := g.left(); n >= minLeftGraphs {
			w = append(w, fmt.Sprintf("graph pool grows: %s executable graphs made and not destroyed; each keeps device memory",
				report.Count(n)))
		}
		if r, fell := ev.calls.rates(g); fell {
			w = append(w, fmt.Sprintf("graph launches fell from %s to %s a second", perSecond(r.before), perSecond(r.now)))
		}
	}
	return w
}
