package diagnose

import (
	"github.com/ingero-io/ingero/explain/report"
)

// owner returns what a process belongs to, nil if only its name is known.
func (ps *processes) owner(pid uint32) *report.Owner {
	p := ps.byPID[pid]
	if p == nil {
		return nil
	}
	o := &p.Owner
	r := &report.Owner{
		PID: pid, Process: ps.name(pid, ""), Text: printable(o.String()), Cgroup: p.Cgroup, CgroupID: o.CgroupID,
		Container: o.Container, Runtime: o.Runtime, PodUID: o.PodUID, Namespace: o.Namespace, Pod: o.Pod,
		PodContainer: o.PodContainer,
		SlurmJob:     o.SlurmJob, SlurmStep: o.SlurmStep, Unit: o.Unit, NSPID: o.NSPID,
	}
	for _, n := range []struct {
		value *int
		to    **int
	}{{&p.Rank, &r.Rank}, {&p.LocalRank, &r.LocalRank}, {&p.WorldSize, &r.WorldSize}} {
		if *n.value >= 0 {
			*n.to = n.value
		}
	}
	if r.Words() == "" {
		return nil
	}
	return r
}

// owners returns the owners of the processes that a chain names, in the order of its path.
func (ps *processes) owners(c *report.Chain) []report.Owner {
	pids := []uint32{c.Effect.PID}
	for i := range c.Path {
		if c.Path[i].Node == "" { // processes of other machines are not in ps
			pids = append(pids, c.Path[i].PID)
		}
	}
	if c.Cause.Node == "" {
		pids = append(pids, c.Cause.PID)
	}
	var list []report.Owner
	seen := map[uint32]bool{}
	for _, pid := range pids {
		if seen[pid] {
			continue
		}
		seen[pid] = true
		if o := ps.owner(pid); o != nil {
			list = append(list, *o)
		}
	}
	return list
}
