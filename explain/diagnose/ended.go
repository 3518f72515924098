package diagnose

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
)

// ended lists the processes that the kernel killed for lack of memory, each once.
func (ps *processes) ended() []report.Ended {
	first := map[uint32]*event.Life{}
	for i := range ps.in.Lives {
		l := &ps.in.Lives[i]
		if l.Kind != event.LifeOOM {
			continue
		}
		if o := first[l.PID]; o == nil || l.At < o.At {
			first[l.PID] = l
		}
	}
	var out []report.Ended
	for pid, l := range first {
		e := report.Ended{Process: ps.name(pid, l.Comm), PID: pid, AtNS: l.At, Why: "memory had run out"}
		for _, m := range ps.in.Limits {
			if m.PID == pid || m.PID == l.Parent.PID {
				e.Why = fmt.Sprintf("the control group %s was at its memory limit of %s", m.Cgroup, report.Bytes(m.Bytes))
			}
		}
		if l.Parent.PID != 0 && l.Parent.PID != pid {
			e.Why += ", and " + ps.name(l.Parent.PID, "") + " wanted more"
		}
		out = append(out, e)
	}
	slices.SortFunc(out,
		func(a, b report.Ended) int { return cmp.Or(cmp.Compare(a.AtNS, b.AtNS), cmp.Compare(a.PID, b.PID)) })
	return out
}
