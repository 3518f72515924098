package question

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ingero-io/ingero/cluster/health"
	"github.com/ingero-io/ingero/cluster/wire"
)

// Episode is what a node's own agent reported about a rank, from the begin to the end.
type Episode struct {
	Cluster, Node string
	Rank          *int32
	PID           int64  // of the rank's process; 0: not known
	Type          string // of the first event: straggler_state, hang and so on
	ID            string
	// Since is when it began. First and Last are when it was reported. Resolved says whether it has ended, at Until: it
	// was reported then, the rank was slow again later, or its node sends that the rank is not. Until of one that has not
	// ended is the last time within the scope at which the rank's process is known to run, see running; of what is about a
	// moment, such as gone, it is Last.
	Since, First, Last, Until int64
	Resolved                  bool
	// The newest value that an event has. Excess is a share; times are milliseconds per step.
	Excess, OwnMS, PeerMS, LostMS, StepMS *float64
	Ranks                                 int    // compared; 0: not known
	Cohort                                string // of which the rank is: those with the same work
	Cause, Culprit                        string
	CauseMS, Explained                    *float64
	Evidence                              string
}

// Straggler reports whether a rank is slower than its peers.
func (e *Episode) Straggler() bool {
	return e.Type == wire.EventStraggler || e.Type == wire.EventResolved
}

// ofStragglers are the types of such events, for SQL.
const ofStragglers = "'" + wire.EventStraggler + "', '" + wire.EventResolved + "'"

// momentary is the type of an event that has no end: the process is gone.
var momentary = health.KindGone.String()

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
	// As joined joins them.
	open := fmt.Sprintf(`select *, first_value(resolved) over (partition by cluster_id, node_id, rank, event_id, case
				when event_id is null and type not in (%s) then type end
				order by timestamp_ns desc) as ended
			from stragglers where type <> '%s' and %s`, ofStragglers, momentary, a.where(before, "timestamp_ns"))
	earlier, _, err := a.events(ctx, "("+open+") as e where not ended")
	if err != nil {
		return nil, false, err
	}
	events, more, err := a.events(ctx, "stragglers where "+a.where(s, "timestamp_ns"))
	if err != nil {
		return nil, false, err
	}
	list = joined(append(earlier, events...))
	if err := a.until(ctx, s, list); err != nil {
		return nil, false, err
	}
	if err := a.alarms(ctx, s, list); err != nil {
		return nil, false, err
	}
	return slices.DeleteFunc(list, func(e Episode) bool { return e.Until < s.From }), more, nil
}

// events returns the events of a source, in order.
func (a *Asker) events(ctx context.Context, from string) (events []event, more bool, err error) {
	more, err = a.rows(ctx, func(l *line) {
		var e event
		e.Cluster, e.Node, e.Rank, e.Type, e.ID = l.nextText(), l.nextText(), l.rank(), l.nextText(), l.nextText()
		e.First, e.Resolved, e.since = l.int(), l.bool(), l.nextText()
		e.Excess, e.OwnMS, e.PeerMS, e.LostMS, e.StepMS = l.number(), l.number(), l.number(), l.number(), l.number()
		ranks, world := int(l.int()), int(l.int())
		e.Ranks = cmp.Or(ranks, world)
		e.Cause, e.Culprit, e.CauseMS = l.nextText(), l.nextText(), l.number()
		e.Explained, e.Evidence = l.number(), l.nextText()
		e.Cohort, e.PID = l.nextText(), l.int()
		events = append(events, e)
	}, `select cluster_id, node_id, rank, type, event_id, timestamp_ns, resolved, since, excess, own_ms, peer_ms,
			lost_ms_per_step, step_ms, ranks, nranks, cause, culprit, cause_ms_per_step, cause_explained, evidence_ids,
			cohort, pid
		from %s order by timestamp_ns desc, cluster_id, node_id, rank, event_id`, from)
	slices.Reverse(events) // oldest first
	return events, more, err
}

// fewNodes is how many nodes a question names at most.
const fewNodes = 50

// until sets the time up to which episodes are known to last.
func (a *Asker) until(ctx context.Context, s Scope, list []Episode) error {
	open := map[string]bool{}
	for i := range list {
		e := &list[i]
		if e.Until == 0 {
			e.Until = e.Last
		}
		if e.goesOn() {
			open[e.Node] = true
		}
	}
	if len(open) == 0 {
		return nil
	}
	r, err := a.running(ctx, s, a.oneOf(open))
	if err != nil {
		return err
	}
	for i := range list {
		if e := &list[i]; e.goesOn() {
			e.Until = max(e.Last, r.last(e))
		}
	}
	return nil
}

func (e *Episode) goesOn() bool { return !e.Resolved && e.Type != momentary }

// oneOf returns a further condition: the node is one of some, unless there are too many of them to name.
func (a *Asker) oneOf(nodes map[string]bool) string {
	if len(nodes) > fewNodes {
		return ""
	}
	return " and node_id in (" + a.list(slices.Sorted(maps.Keys(nodes))) + ")"
}

// alarms ends what has not ended of ranks that their nodes no longer call stragglers: a tracer that was started again
// does not know what it reported before.
func (a *Asker) alarms(ctx context.Context, s Scope, list []Episode) error {
	open := map[string]bool{}
	for i := range list {
		if list[i].Straggler() && !list[i].Resolved {
			open[list[i].Node] = true
		}
	}
	if len(open) == 0 {
		return nil
	}
	type one struct {
		cluster, node string
		rank          int32
	}
	off, on := map[one]int64{}, map[one]int64{} // the newest points of 0, and of others
	_, err := a.rows(ctx, func(l *line) {
		k := one{l.nextText(), l.nextText(), int32(l.int())}
		off[k], on[k] = l.int(), l.int()
	}, `select cluster_id, node_id, rank, max(case when value = 0 then timestamp_ns end),
			max(case when value <> 0 then timestamp_ns end)
		from events where metric_name = 'ingero.node.straggler_event' and rank is not null and %s%s
		group by cluster_id, node_id, rank`, a.where(s, "timestamp_ns"), a.oneOf(open))
	for i := range list {
		e := &list[i]
		if !e.Straggler() || e.Resolved || e.Rank == nil {
			continue
		}
		k := one{e.Cluster, e.Node, *e.Rank}
		if last := max(e.Last, on[k]); off[k] > last {
			e.Resolved, e.Until = true, last
		}
	}
	return err
}

// joined joins events, given in order, to episodes, the newest first: those of the same rank with the same id; without
// one, those of the same type.
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
			old.addLater(&e.Episode)
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
	replaced(list)
	return list
}

// replaced ends stragglers, given the newest first, that were last reported before the same rank's next one: the tracer
// was started again meanwhile.
func replaced(list []Episode) {
	type one struct {
		cluster, node string
		rank          int32
	}
	later := map[one][]*Episode{} // the newest first
	for i := range list {
		e := &list[i]
		if !e.Straggler() || e.Rank == nil {
			continue
		}
		k := one{e.Cluster, e.Node, *e.Rank}
		for _, n := range slices.Backward(later[k]) {
			if !e.Resolved && n.First > e.Last && alike(n, e) {
				e.Resolved, e.Until = true, max(e.Last, n.Since)
			}
		}
		later[k] = append(later[k], e)
	}
}

// alike reports whether two episodes of a rank are of the same process, or if that is not known, of the same cohort, as
// far as that is known.
func alike(a, b *Episode) bool {
	if a.PID != 0 && b.PID != 0 {
		return a.PID == b.PID
	}
	return a.Cohort == "" || b.Cohort == "" || a.Cohort == b.Cohort
}

// addLater takes over what a later event says.
func (e *Episode) addLater(later *Episode) {
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
	e.Ranks, e.Cohort, e.PID = cmp.Or(later.Ranks, e.Ranks), cmp.Or(later.Cohort, e.Cohort), cmp.Or(later.PID, e.PID)
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
			Cluster: l.nextText(), Node: l.nextText(), Rank: l.rank(), Severity: l.nextText(),
			Summary: l.nextText(), ID: l.nextText(),
			Cause: l.nextText(), Process: l.nextText(), CausePID: l.int(), Root: l.nextText(), RootPID: l.int(),
			Effect: l.nextText(), EffectPID: l.int(), LostPct: l.number(), ExplainedPct: l.number(),
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
