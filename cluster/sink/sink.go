// Package sink keeps what tracers report about slow ranks: the number of events by type, and which nodes have slow
// ranks now. It has no clock and no I/O.
package sink

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/ingero-io/ingero/cluster/health"
	"github.com/ingero-io/ingero/cluster/wire"
)

const (
	// repeatTime is how long after a connection a tracer has repeated all ongoing events. An event from an earlier
	// connection that is not repeated by then has ended.
	repeatTime = 2 * time.Second
	// otherType stands for unknown types of events: anybody who may write to the socket can make them up.
	otherType = "other"
	// maxOfNode bounds the slow ranks of a node.
	maxOfNode = 64
	// maxKinds and maxClusters bound the number of separate counters.
	maxKinds, maxClusters = 64, 256
)

// Types are the types of events with their own counters.
var Types = []string{
	wire.EventStraggler, wire.EventResolved, health.KindSlowVsSelf.String(), health.KindGone.String(),
	health.KindMissing.String(), health.KindHang.String(), health.KindCohortSlow.String(),
	health.KindCohortDegraded.String(), "inference_outlier", otherType,
}

// Reasons are the reasons for dropping events.
var Reasons = []string{"max_nodes", "max_ranks"}

// Node is a node of a cluster.
type Node struct{ Cluster, Node string }

// entry is a slow rank.
type entry struct {
	source int
	since  time.Time
	stale  bool // from an earlier connection, and not repeated yet
	caused bool // its cause is counted
	cohort string
	wait   float64 // number of GPUs that wait for it
}

// Sink keeps the events. It is not safe for concurrent use.
type Sink struct {
	maxNodes int
	active   map[Node]map[string]*entry // by event
	settles  map[int]time.Duration      // when a source has repeated all ongoing events

	Events  map[string]uint64 // by type
	Dropped map[string]uint64 // by reason
	Faults  uint64            // lines that are not events
	Last    time.Time         // time of the newest event; zero: none yet
	Causes  map[string]uint64 // of slow ranks, by kind
	// Waiting is how long other ranks' GPUs have waited for slow ones, in seconds, by cluster.
	Waiting map[string]float64

	ticked time.Duration
}

// New returns a sink that keeps at most maxNodes nodes.
func New(maxNodes int) *Sink {
	s := &Sink{
		maxNodes: maxNodes, active: map[Node]map[string]*entry{}, settles: map[int]time.Duration{},
		Events: map[string]uint64{}, Dropped: map[string]uint64{}, Causes: map[string]uint64{}, Waiting: map[string]float64{},
	}
	for _, t := range Types {
		s.Events[t] = 0
	}
	for _, r := range Reasons {
		s.Dropped[r] = 0
	}
	return s
}

// Line takes in a line of a source. The error says what is wrong with it.
func (s *Sink) Line(source int, line []byte) error {
	e, err := wire.ParseEvent(line)
	if err != nil {
		s.Faults++
		return err
	}
	t := e.Type
	if !slices.Contains(Types, t) {
		t = otherType
	}
	s.Events[t]++
	if e.At.After(s.Last) {
		s.Last = e.At
	}
	switch e.Type {
	case wire.EventStraggler:
		s.begin(source, &e)
	case wire.EventResolved:
		s.end(&e)
	}
	return nil
}

// key identifies a slow rank of a node. It is empty for earlier agents, whose events only name the node.
func key(e *wire.Event) string {
	if e.ID == "" && e.Rank != nil {
		return fmt.Sprint("rank ", *e.Rank)
	}
	return e.ID
}

func (s *Sink) begin(source int, e *wire.Event) {
	n := Node{e.Cluster, e.Node}
	ranks := s.active[n]
	if ranks == nil {
		if len(s.active) >= s.maxNodes {
			s.Dropped["max_nodes"]++
			return
		}
		ranks = map[string]*entry{}
		s.active[n] = ranks
	}
	if old := ranks[key(e)]; old != nil {
		old.source, old.stale = source, false
		s.cause(old, e)
		return
	}
	if len(ranks) >= maxOfNode {
		s.Dropped["max_ranks"]++
		return
	}
	since := e.At
	if e.Since != nil {
		since = *e.Since
	}
	x := &entry{source: source, since: since, cohort: e.Cohort, wait: waiting(e)}
	s.cause(x, e)
	ranks[key(e)] = x
}

// cause counts the cause of a slow rank, once.
func (s *Sink) cause(x *entry, e *wire.Event) {
	if x.caused || e.Cause == nil || e.Cause.Kind == "" {
		return
	}
	x.caused = true
	kind := e.Cause.Kind
	if _, known := s.Causes[kind]; !known && len(s.Causes) >= maxKinds {
		kind = otherType
	}
	s.Causes[kind]++
}

// waiting returns how many GPUs wait for a slow rank: those of the other ranks, times the share of a step that the
// rank loses.
func waiting(e *wire.Event) float64 {
	if e.LostMS == nil || e.StepMS == nil || !(*e.LostMS > 0) || !(*e.StepMS > 0) || e.WorldSize < 2 {
		return 0
	}
	return min(1, *e.LostMS / *e.StepMS) * float64(e.WorldSize-1)
}

func (s *Sink) end(e *wire.Event) {
	n := Node{e.Cluster, e.Node}
	delete(s.active[n], key(e))
	if len(s.active[n]) == 0 {
		delete(s.active, n)
	}
}

// Connected notes that a source was connected.
func (s *Sink) Connected(source int, now time.Duration) {
	s.settles[source] = now + repeatTime
	for _, ranks := range s.active {
		for id, e := range ranks {
			if e.source == source && id != "" { // earlier agents repeat nothing: keep theirs
				e.stale = true
			}
		}
	}
}

// Tick drops events that a source has not repeated in time. Call it about once a second.
func (s *Sink) Tick(now time.Duration) {
	if took := (now - s.ticked).Seconds(); s.ticked > 0 && took > 0 {
		s.wait(took)
	}
	s.ticked = now
	for source, at := range s.settles {
		if now < at {
			continue
		}
		delete(s.settles, source)
		for n, ranks := range s.active {
			for id, e := range ranks {
				if e.source == source && e.stale {
					delete(ranks, id)
				}
			}
			if len(ranks) == 0 {
				delete(s.active, n)
			}
		}
	}
}

// wait adds the waits of some seconds. The ranks of a cohort only wait for their slowest one.
func (s *Sink) wait(seconds float64) {
	type job struct{ cluster, cohort string }
	most := map[job]float64{}
	for n, ranks := range s.active {
		for _, e := range ranks {
			j := job{n.Cluster, e.cohort}
			most[j] = max(most[j], e.wait)
		}
	}
	for j, gpus := range most {
		if _, known := s.Waiting[j.cluster]; gpus > 0 && (known || len(s.Waiting) < maxClusters) {
			s.Waiting[j.cluster] += gpus * seconds
		}
	}
}

// Active is a node with slow ranks.
type Active struct {
	Node
	Ranks int
	Since time.Time // when the first of them became slow
}

// Active lists the nodes with slow ranks, by cluster and name.
func (s *Sink) Active() []Active {
	var list []Active
	for n, ranks := range s.active {
		a := Active{Node: n, Ranks: len(ranks)}
		for _, e := range ranks {
			if a.Since.IsZero() || e.since.Before(a.Since) {
				a.Since = e.since
			}
		}
		list = append(list, a)
	}
	slices.SortFunc(list, func(a, b Active) int {
		return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Node.Node, b.Node.Node))
	})
	return list
}
