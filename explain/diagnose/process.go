package diagnose

import (
	"cmp"
	"slices"

	"github.com/ingero-io/ingero/explain/recording"
	"github.com/ingero-io/ingero/explain/report"
)

// processes returns the per-process table.
func (ev *evidence) processes() []report.Process {
	var list []report.Process
	for pid, ops := range recording.OpTable(ev.in.Ops) {
		p := report.Process{PID: pid, Process: ev.procs.name(pid, ""), Node: ev.in.Node, Ops: ops}
		if info := ev.procs.byPID[pid]; info != nil {
			p.Node = cmp.Or(info.Node, p.Node)
			p.Owner = ev.procs.owner(pid)
			p.Framework = string(info.Framework)
			if info.Rank >= 0 {
				p.Rank = &info.Rank
			}
		}
		p.Memory, p.Warnings = ev.heaps.figures(pid), ev.warnings(&p)
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b report.Process) int { return cmp.Compare(a.PID, b.PID) })
	return list
}
