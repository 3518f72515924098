// Package node is a node's part of a fleet: it takes what a tracer records, measures the own work of the
// ranks on the node, and says what is to be pushed and when. It takes the fleet's answers and says what
// they mean.
//
// Ranks are compared if their steps are counted by the same communicator and pattern (ownwork.Source.Key):
// these are a cohort. The number of a cohort is made of that key and the cluster's name only. A job, a stage
// or a GPU model need not be known, and cannot be known differently by two nodes.
//
// The package has no clock, no I/O and no goroutines. Times are since the Unix epoch.
package node

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/ingero-io/ingero/cluster/health"
	"github.com/ingero-io/ingero/cluster/ownwork"
	"github.com/ingero-io/ingero/cluster/wire"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

const (
	// exitTold is for how long after its end a rank is pushed, so that the fleet says which of its peers
	// still run.
	exitTold = time.Minute
	// silentFor is for how long a rank without steps is pushed. Then its job is over, or nothing is measured
	// of it any more.
	silentFor = 10 * time.Minute
)

// Options say which node it is.
type Options struct {
	Name    string // in the cluster, not empty
	Cluster string // may be empty
	// NoPolls: the fleet is not polled, but pushed to again.
	NoPolls bool
}

// Node has the ranks of a node. It is not safe for concurrent use.
type Node struct {
	options Options
	id      uint64
	spread  float64 // its share of health.PushSpread
	work    *ownwork.Tracker
	lost    []event.Loss // since the last second
	ended   []event.Life // likewise: threads and processes of which no more calls come
	steps   []ownwork.Step
	ranks   map[uint32]*rank   // by process
	cohorts map[uint64]*cohort // by number
	clocks  clocks
	now     time.Duration // of the last second
	said    []health.Verdict
}

// rank is a rank of a job on this node.
type rank struct {
	pid    uint32
	source ownwork.Source
	judge  *health.Rank
	report ownwork.Report
	pushed health.RankPush // last
	step   time.Duration   // end of the last one
	ended  time.Duration   // 0: its process runs
	clock  trend
	spent  spent
	flight flight
	held   *health.Verdict // that it is slow, while nobody waits for it
	// usualClock is that of its GPU before it became slow, as a share of the highest; 0: not known.
	usualClock float64
	told       *Said // that it is slow
}

// cohort is the ranks of this node that are compared with the same others.
type cohort struct {
	id    uint64
	ranks []*rank // by rank
	size  int32
	push  time.Duration // when the next one is due
	poll  time.Duration // likewise, 0: none is
}

// Said is something that began or ended.
type Said struct {
	health.Verdict
	PID uint32
	// Ranks is how many the communicator has.
	Ranks int32
	// Step is how long a step takes.
	Step time.Duration
	// ID is a UUID, the same from beginning to end.
	ID string
	// Cause is why a rank is slow, nil: not known.
	Cause *Cause
}

// New returns a node without ranks.
func New(o Options) *Node {
	id := wire.Node(o.Name)
	return &Node{
		options: o, id: id, spread: float64(id%1024) / 1024, work: ownwork.NewTracker(), ranks: map[uint32]*rank{},
		cohorts: map[uint64]*cohort{}, clocks: newClocks(),
	}
}

// Batch takes what was recorded. It keeps nothing of b.
func (n *Node) Batch(b *store.Batch) {
	n.work.Lives(b.Lives)
	n.work.Calls(b.Calls)
	n.work.Collectives(b.Collectives)
	n.lost = append(n.lost, b.Losses...)
	for i := range b.Lives {
		if l := &b.Lives[i]; l.Kind == event.LifeExit && l.PID != l.TID {
			n.ended = append(n.ended, *l)
		}
	}
	for _, pid := range b.Ended {
		n.ended = append(n.ended, event.Life{Kind: event.LifeExit, Thread: event.Thread{PID: pid, TID: pid}})
	}
	n.clocks.take(b)
	n.spend(b)
	n.waiting(b)
}

// Second is called about once a second, after the batches up to at (Unix ns). It appends what changed
// to out.
func (n *Node) Second(at uint64, out []Said) []Said {
	n.now = time.Duration(at)
	n.work.Losses(at, n.lost)
	n.clocks.give(n.work)
	n.steps = n.work.Take(at, n.steps[:0])
	for i := range n.steps {
		out = n.step(&n.steps[i], out)
	}
	for pid, r := range n.ranks {
		if r.ended == 0 {
			r.report = n.work.Report(pid, at)
		}
	}
	n.work.Ended(n.ended)
	for i := range n.ended {
		l := &n.ended[i]
		if r := n.ranks[l.PID]; r != nil && l.PID == l.TID && r.ended == 0 {
			r.ended = n.now
			r.judge.Exit()
		}
	}
	n.lost, n.ended = n.lost[:0], n.ended[:0]
	for _, r := range n.ranks {
		r.judge.Place(n.place(r))
		s := r.judge.State()
		r.spent.second(r.held == nil && s != health.Suspect && s != health.Straggler)
		out = n.review(r, out)
		if r.ended > 0 && n.now-r.ended > exitTold || n.now-r.step > silentFor {
			out = n.forget(r, out)
		}
	}
	return out
}

// step takes a step of a rank.
func (n *Node) step(s *ownwork.Step, out []Said) []Said {
	if s.Rank < 0 || s.Ranks < 2 {
		return out
	}
	r := n.ranks[s.PID]
	if r != nil && r.source != s.Source {
		out = n.forget(r, out) // what was learned is of other steps
		r = nil
	}
	if r == nil {
		r = n.join(s)
	}
	r.step = s.End
	r.clock.add(s.End, s.Clock)
	r.spent.steps++
	r.spent.own += s.Own.Seconds()
	r.spent.gpu += min(s.GPU, s.Own).Seconds()
	r.judge.Step(s.Step)
	return out
}

func (n *Node) join(s *ownwork.Step) *rank {
	id := wire.Cohort(n.options.Cluster, fmt.Sprintf("%016x", s.Key()), "", "")
	r := &rank{pid: s.PID, source: s.Source, judge: health.NewRank(health.RankOptions{
		Cohort: id, Rank: s.Rank, Hetero: n.work.Report(s.PID, uint64(n.now)).Pairs > 0,
	})}
	n.ranks[s.PID] = r
	c := n.cohorts[id]
	if c == nil {
		c = &cohort{id: id, size: s.Ranks, push: health.NextPush(id, n.now, n.spread)}
		n.cohorts[id] = c
	}
	at, _ := slices.BinarySearchFunc(c.ranks, s.Rank, func(r *rank, to int32) int {
		return cmp.Compare(r.source.Rank, to)
	})
	c.ranks = slices.Insert(c.ranks, at, r)
	return r
}

// leave removes a rank from its cohort.
func (n *Node) leave(r *rank) {
	delete(n.ranks, r.pid)
	for id, c := range n.cohorts {
		if i := slices.Index(c.ranks, r); i >= 0 {
			c.ranks = slices.Delete(c.ranks, i, i+1)
			if len(c.ranks) == 0 {
				delete(n.cohorts, id)
			}
			return
		}
	}
}

// forget removes a rank, of which nothing can be told any more.
func (n *Node) forget(r *rank, out []Said) []Said {
	n.leave(r)
	if r.told == nil {
		return out
	}
	end := *r.told
	end.Resolved, end.At = true, n.now
	return append(out, end)
}

// Next is when something is due to be sent, 0: nothing.
func (n *Node) Next() (at time.Duration) {
	for _, c := range n.cohorts {
		for _, due := range []time.Duration{c.push, c.poll} {
			if due > 0 && (at == 0 || due < at) {
				at = due
			}
		}
	}
	return at
}

// Due is what is to be sent at a time: a push or a poll of each cohort for which one is due. Each is to
// be answered by Answer.
func (n *Node) Due(now time.Duration) (pushes []wire.Push, polls []wire.Poll) {
	for _, id := range n.order() {
		c := n.cohorts[id]
		switch {
		case now >= c.push:
			c.push, c.poll = health.NextPush(id, now, n.spread), 0
			if p := n.pushOf(c, now); len(p.Health.Ranks) > 0 {
				pushes = append(pushes, p)
			}
		case c.poll > 0 && now >= c.poll:
			c.poll = 0
			if n.options.NoPolls {
				pushes = append(pushes, n.pushOf(c, now))
				continue
			}
			for _, r := range c.ranks {
				if r.judge.Polls() {
					polls = append(polls, wire.Poll{Cluster: n.options.Cluster, Node: n.options.Name, Health: r.judge.Poll(n.id)})
					break
				}
			}
		}
	}
	return pushes, polls
}

// order is the cohorts' numbers.
func (n *Node) order() []uint64 {
	ids := make([]uint64, 0, len(n.cohorts))
	for id := range n.cohorts {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

func (n *Node) pushOf(c *cohort, now time.Duration) wire.Push {
	p := health.Push{Cohort: c.id, Node: n.id, Sent: now, Size: c.size}
	for _, r := range c.ranks {
		if r.judge.Interval() <= 0 { // a step says how long one takes
			continue
		}
		if len(p.Ranks) == 0 {
			p.Width, p.Merge, p.Reference, p.Echo = r.judge.Width(), r.judge.Merge(), r.judge.Reference(), r.judge.Echo()
		}
		if len(p.Ranks) < health.MaxNodeRanks {
			r.judge.Push(&r.pushed)
			p.Ranks = append(p.Ranks, r.pushed)
		}
	}
	return wire.Push{Node: n.options.Name, Cluster: n.options.Cluster, WorldSize: c.size, Health: p}
}

// Answer takes the answer to a push or poll, nil if there was none, and appends what changed to out.
func (n *Node) Answer(now time.Duration, cohort uint64, answer *health.Reply, out []Said) []Said {
	c := n.cohorts[cohort]
	if c == nil {
		return out
	}
	for _, r := range c.ranks {
		if answer == nil {
			n.said = r.judge.Tick(now, n.said[:0])
		} else {
			n.said = r.judge.Take(now, answer, n.said[:0])
		}
		for _, v := range n.said {
			out = n.say(r, v, out)
		}
	}
	for _, r := range c.ranks {
		if at := now + health.PollEvery; r.judge.Polls() && at < c.push {
			c.poll = at
		}
	}
	return out
}
