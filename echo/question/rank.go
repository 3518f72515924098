package question

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Episode is what a node's own agent reported about a rank, from the begin to the end.
type Episode struct {
	Cluster, Node string
	Rank          *int32
	Type          string // of the first event: straggler_state, hang and so on
	ID            string
	// Since is when it began. First and Last are when it was reported. Resolved says whether it has ended, at Last.
	// Until is its end; if it has not ended, the time of the node's last row, within the scope.
	Since, First, Last, Until int64
	Resolved                  bool
	// The newest value that an event has. Excess is a share; times are milliseconds per step.
	Excess, OwnMS, PeerMS, LostMS, StepMS *float64
	Ranks                                 int // compared; 0: not known
	Cause, Culprit                        string
	CauseMS, Explained                    *float64
	Evidence                              string
}

// Straggler reports whether a rank is slower than its peers.
func (e *Episode) Straggler() bool {
	return e.Type == "straggler_state" || e.Type == "straggler_resolved"
}

// event is an event of an episode.
type event struct {
	Episode
	since string
}

// carried is how long before a scope to look for episodes that had not ended when it began.
const carried = 7 * 24 * time.Hour

// Episodes returns the episodes in the scope, the newest first. If there are more than can be read, it returns the
// newest. An episode that began before the scope is included if its node sent something within it.
func (a *Asker) Episodes(ctx context.Context, s Scope) (list []Episode, more bool, err error) {
	before := s
	before.From, before.To = max(0, s.From-int64(carried)), s.From
	// Events belong together if they have the same rank, and the same id, or type if there is none.
	open := fmt.Sprintf(`select *, first_value(resolved) over (partition by cluster_id, node_id, rank, event_id,
				case when event_id is null then type end order by timestamp_ns desc) as ended
			from stragglers where %s`, a.where(before, "timestamp_ns"))
	earlier, _, err := a.events(ctx, "("+open+") as e where not ended")
	if err != nil {
		return nil, false, err
	}
	events, more, err := a.events(ctx, "stragglers where "+a.where(s, "timestamp_ns"))
	if err != nil {
		return nil, false, err
	}
	list = joined(append(earlier, events...))
	list = slices.DeleteFunc(list, func(e Episode) bool { return e.Resolved && e.Last < s.From })
	if err := a.until(ctx, s, list); err != nil {
		return nil, false, err
	}
	return slices.DeleteFunc(list, func(e Episode) bool { return e.Until < s.From }), more, nil
}

// events returns the events of a source, in order.
func (a *Asker) events(ctx context.Context, from string) (events []event, more bool, err error) {
	more, err = a.rows(ctx, func(l *line) {
		var e event
		e.Cluster, e.Node, e.Rank, e.Type, e.ID = l.text(), l.text(), l.rank(), l.text(), l.text()
		e.First, e.Resolved, e.since = l.int(), l.bool(), l.text()
		e.Excess, e.OwnMS, e.PeerMS, e.LostMS, e.StepMS = l.number(), l.number(), l.number(), l.number(), l.number()
		ranks, world := int(l.int()), int(l.int())
		e.Ranks = cmp.Or(ranks, world)
		e.Cause, e.Culprit, e.CauseMS, e.Explained, e.Evidence = l.text(), l.text(), l.number(), l.number(), l.text()
		events = append(events, e)
	}, `select cluster_id, node_id, rank, type, event_id, timestamp_ns, resolved, since, excess, own_ms, peer_ms,
			lost_ms_per_step, step_ms, ranks, nranks, cause, culprit, cause_ms_per_step, cause_explained, evidence_ids
		from %s order by timestamp_ns desc`, from)
	slices.Reverse(events) // oldest first
	return events, more, err
}

// fewNodes is how many nodes a question names at most.
const fewNodes = 50

// until sets the time up to which episodes are known to last.
func (a *Asker) until(ctx context.Context, s Scope, list []Episode) error {
	open := map[string]bool{}
	for i := range list {
		if list[i].Until = list[i].Last; !list[i].Resolved {
			open[list[i].Node] = true
		}
	}
	if len(open) == 0 {
		return nil
	}
	which := ""
	if len(open) <= fewNodes {
		which = " and node_id in (" + a.list(slices.Sorted(maps.Keys(open))) + ")"
	}
	s.Rank = nil // rows of other ranks show too that the node goes on
	type node struct{ cluster, name string }
	last := map[node]int64{}
	_, err := a.rows(ctx, func(l *line) { last[node{l.text(), l.text()}] = l.int() },
		"select cluster_id, node_id, max(timestamp_ns) from events where %s%s group by cluster_id, node_id",
		a.where(s, "timestamp_ns"), which)
	for i := range list {
		if e := &list[i]; !e.Resolved {
			e.Until = max(e.Last, last[node{e.Cluster, e.Node}])
		}
	}
	return err
}

// joined joins events, given in order, to episodes.
func joined(events []event) []Episode {
	type key struct {
		cluster, node, id string
		rank              int32
	}
	open, all := map[key]*Episode{}, []*Episode{}
	for i := range events {
		e := &events[i]
		k := key{cluster: e.Cluster, node: e.Node, id: e.ID, rank: -1}
		if e.Rank != nil {
			k.rank = *e.Rank
		}
		if e.ID == "" && !e.Straggler() {
			k.id = e.Type
		}
		old := open[k]
		if old == nil {
			if at, err := time.Parse(time.RFC3339Nano, e.since); err == nil {
				e.Since = at.UnixNano()
			}
			e.Since = cmp.Or(e.Since, e.First)
			old = &e.Episode
			open[k], all = old, append(all, old)
		} else {
			old.add(&e.Episode)
		}
		old.Last = e.First
		if old.Resolved {
			delete(open, k)
		}
	}
	list := make([]Episode, 0, len(all))
	for _, e := range slices.Backward(all) {
		list = append(list, *e)
	}
	return list
}

// add takes over what a later event says.
func (e *Episode) add(later *Episode) {
	e.Resolved = later.Resolved
	for _, p := range []struct{ to, from **float64 }{
		{&e.Excess, &later.Excess},
		{&e.OwnMS, &later.OwnMS},
		{&e.PeerMS, &later.PeerMS},
		{&e.LostMS, &later.LostMS},
		{&e.StepMS, &later.StepMS},
	} {
		if *p.from != nil && !later.Resolved { // at its end it is no longer slow
			*p.to = *p.from
		}
	}
	e.Ranks = cmp.Or(later.Ranks, e.Ranks)
	if later.Cause != "" {
		e.Cause, e.Culprit, e.Evidence = later.Cause, cmp.Or(later.Culprit, e.Culprit), cmp.Or(later.Evidence, e.Evidence)
		e.CauseMS, e.Explained = cmp.Or(later.CauseMS, e.CauseMS), cmp.Or(later.Explained, e.Explained)
	}
}

// Finding is a tracer's finding, which was sent once or more.
type Finding struct {
	Cluster, Node          string
	Rank                   *int32
	Severity, Summary, ID  string
	Cause, Process, Effect string // Process made Effect wait
	CausePID, EffectPID    int64  // 0: not known
	Root                   string // the process at the end of the chain
	RootPID                int64
	LostPct, ExplainedPct  *float64
	First, Last, Times     int64
}

// Findings returns the findings of a scope, the newest first, those of processes of one name as one. The numbers are
// those sent last.
func (a *Asker) Findings(ctx context.Context, s Scope) (list []Finding, more bool, err error) {
	return a.findings(ctx, s, "cluster_id, node_id, rank, cause, cause_process, effect_process")
}

// FindingsByPID returns them by process.
func (a *Asker) FindingsByPID(ctx context.Context, s Scope) (list []Finding, more bool, err error) {
	return a.findings(ctx, s, "cluster_id, node_id, rank, cause, cause_process, cause_pid, effect_process, effect_pid")
}

// findings returns one finding for each value of some columns.
func (a *Asker) findings(ctx context.Context, s Scope, by string) (list []Finding, more bool, err error) {
	more, err = a.rows(ctx, func(l *line) {
		list = append(list, Finding{
			Cluster: l.text(), Node: l.text(), Rank: l.rank(), Severity: l.text(), Summary: l.text(), ID: l.text(),
			Cause: l.text(), Process: l.text(), CausePID: l.int(), Root: l.text(), RootPID: l.int(),
			Effect: l.text(), EffectPID: l.int(), LostPct: l.number(), ExplainedPct: l.number(),
			Last: l.int(), First: l.int(), Times: l.int(),
		})
	}, `select cluster_id, node_id, rank, severity, summary, finding_id, cause, cause_process, cause_pid, root_process,
			root_pid, effect_process, effect_pid, lost_pct, explained_pct, timestamp_ns, first_ns, times
		from (select cluster_id, node_id, rank, severity, summary, finding_id, cause, cause_process, cause_pid,
				root_process, root_pid, effect_process, effect_pid, lost_pct, explained_pct, timestamp_ns,
				min(timestamp_ns) over (partition by %[1]s) as first_ns,
				count(*) over (partition by %[1]s) as times,
				row_number() over (partition by %[1]s order by timestamp_ns desc, lost_pct desc, effect_pid) as place
			from findings where %s) as f
		where place = 1 order by timestamp_ns desc, cluster_id, node_id, rank`, by, a.where(s, "timestamp_ns"))
	return list, more, err
}
