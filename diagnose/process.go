package diagnose

import (
	"cmp"
	"slices"

	"github.com/ingero-io/ingero/recording"
	"github.com/ingero-io/ingero/report"
)

// processes is the per-process table.
func (s *scene) processes() []report.Process {
	var list []report.Process
	for pid, ops := range recording.OpTable(s.in.Ops) {
		p := report.Process{PID: pid, Process: s.name(pid, ""), Node: s.in.Node, Ops: ops}
		if info := s.procs[pid]; info != nil {
			p.Node = cmp.Or(info.Node, p.Node)
			p.Owner = s.owner(pid)
			p.Framework = string(info.Framework)
			if info.Rank >= 0 {
				p.Rank = &info.Rank
			}
		}
		p.Memory, p.Warnings = s.figures(pid), s.warnings(&p)
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b report.Process) int { return cmp.Compare(a.PID, b.PID) })
	return list
}
