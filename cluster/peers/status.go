package peers

import (
	"fmt"

	"github.com/ingero-io/ingero/cluster/agentsocket"
	"github.com/ingero-io/ingero/cluster/health"
	"github.com/ingero-io/ingero/cluster/node"
	"github.com/ingero-io/ingero/cluster/wire"
)

// maxLast is of how many processes the last event is kept.
const maxLast = 1024

// listenForStatus answers "ingero fleet status". If it cannot, everything else goes on.
func (p *Peers) listenForStatus() {
	var err error
	if p.asking, err = agentsocket.Listen(p.options.Status, p.status); err != nil {
		p.options.Logger.Warn("\"ingero fleet status\" cannot ask this tracer", "err", err)
	}
}

// remember keeps the last event of a process. mu is held.
func (p *Peers) remember(t *shownEvent) {
	if len(p.last) >= maxLast {
		clear(p.last)
	}
	p.last[t.pid] = t.event
}

// status is what is known of the ranks, and of what is traced besides.
func (p *Peers) status() *wire.AgentStatus {
	p.mu.Lock()
	traced := p.traced
	p.mu.Unlock()
	pids, names := namesOf(traced)
	is := p.agent.Status(pids)
	s := &wire.AgentStatus{
		Node: p.options.Node, Cluster: p.options.Cluster, Fleet: p.options.Address, Failing: is.Failing,
		Ranks: []wire.AgentRank{},
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range is.Ranks {
		r := agentRank(&is.Ranks[i])
		r.Process = names[r.PID]
		if e, ok := p.last[r.PID]; ok {
			r.Event = &e
		}
		s.Ranks = append(s.Ranks, r)
		s.Reachable = is.Reachable && (s.Reachable || r.Rank != nil) // without a rank nothing was asked
	}
	return s
}

// namesOf are the processes' numbers and, by these, their names.
func namesOf(list []Process) (pids []uint32, names map[uint32]string) {
	names = map[uint32]string{}
	for _, t := range list {
		pids = append(pids, t.PID)
		names[t.PID] = t.Name
	}
	return pids, names
}

// agentRank is a rank as an agent says it.
func agentRank(r *node.RankStatus) wire.AgentRank {
	a := wire.AgentRank{PID: r.PID, Note: r.Reason.String(), Skipped: r.Skipped}
	if r.Rank == health.NoRank {
		return a
	}
	a.Rank, a.WorldSize, a.Cohort = &r.Rank, r.Ranks, fmt.Sprintf("%016x", r.Cohort)
	a.State, a.Mode, a.G, a.H = r.State.String(), r.Mode.String(), r.G, r.H
	a.OwnMS, a.PeerMS, a.WaitMS, a.StepMS = 1e3*r.Own, 1e3*r.Peer, 1e3*r.Wait, 1e3*r.Step.Seconds()
	a.Measured, a.Spare, a.Exited = r.Measured.String(), r.Spare, r.Exited
	return a
}
