package question

import (
	"context"
	"fmt"
)

// running says until when nodes and ranks are known to run.
type running struct {
	nodes   map[nodeName]int64 // the last row
	sends   map[nodeName]bool  // it sent points of metrics
	metrics map[nodeRank]int64 // the last point of a metric
	pids    map[nodeRank]map[int64]int64
}

type nodeName struct{ cluster, node string }

type nodeRank struct {
	nodeName
	rank int32
}

// running reads that within a scope, of the nodes that a further condition names.
func (a *Asker) running(ctx context.Context, s Scope, nodes string) (*running, error) {
	s.Rank = nil // rows of other ranks show too that the node goes on
	r := &running{
		nodes: map[nodeName]int64{}, sends: map[nodeName]bool{}, metrics: map[nodeRank]int64{},
		pids: map[nodeRank]map[int64]int64{},
	}
	_, err := a.rows(ctx, func(l *line) {
		n, rank := nodeName{l.nextText(), l.nextText()}, l.rank()
		last, metric := l.int(), l.int()
		r.nodes[n] = max(r.nodes[n], last)
		r.sends[n] = r.sends[n] || metric > 0
		if rank != nil {
			r.metrics[nodeRank{n, *rank}] = metric
		}
	}, `select cluster_id, node_id, rank, max(timestamp_ns), max(case when metric_name is not null then timestamp_ns end)
		from events where %s%s group by cluster_id, node_id, rank`, a.where(s, "timestamp_ns"), nodes)
	if err != nil {
		return nil, fmt.Errorf("until when nodes run: %w", err)
	}
	_, err = a.rows(ctx, func(l *line) {
		k, pid := nodeRank{nodeName{l.nextText(), l.nextText()}, int32(l.int())}, l.int()
		if r.pids[k] == nil {
			r.pids[k] = map[int64]int64{}
		}
		r.pids[k][pid] = l.int()
	}, `select cluster_id, node_id, rank, pid, max(enter_ns) from collectives
		where rank is not null and pid is not null and %s%s group by cluster_id, node_id, rank, pid`,
		a.where(s, "enter_ns"), nodes)
	if err != nil {
		return nil, fmt.Errorf("until when ranks run: %w", err)
	}
	return r, nil
}

// last returns when the process of an episode was last known to run, as far as that is known. A tracer that was started
// again does not end what it reported before, and the next job may have other processes with the same ranks.
func (r *running) last(e *Episode) int64 {
	node := nodeName{e.Cluster, e.Node}
	if e.Rank == nil || !e.Straggler() { // what hangs sends nothing
		return r.nodes[node]
	}
	k := nodeRank{node, *e.Rank}
	if pids := r.pids[k]; e.PID != 0 && len(pids) > 0 {
		return pids[e.PID]
	}
	if at := r.metrics[k]; at >= e.First {
		return at
	}
	if e.PID != 0 && r.sends[node] { // they have metrics of each rank as long as it runs
		return e.Last
	}
	return r.nodes[node]
}
