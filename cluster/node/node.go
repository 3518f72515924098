// Package node is a node's part of a fleet. A Meter takes what a tracer records, and measures the own work of the
// node's ranks every second. A Node takes the Meter's rows, and decides what to push and when. It takes the fleet's
// answers and reports what they mean. The rows between the two may be recorded.
//
// Ranks form a cohort if their steps are counted by the same communicator and pattern (ownwork.Source.Key). A
// cohort's number is made from that key and the cluster's name only. Job, stage and GPU model need not be known, and
// two nodes cannot disagree about them.
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
	"github.com/ingero-io/ingero/store"
)

const (
	// exitPushed is how long after its end a rank is pushed, so that the fleet can answer which of its peers still run.
	exitPushed = time.Minute
	// silentFor is how long a rank without steps is pushed. After that its job is over, or can no longer be measured.
	silentFor = 10 * time.Minute
	// maxOthers bounds the processes that are not ranks whose reason is kept.
	maxOthers = 4096
)

// Options identify the node.
type Options struct {
	Name    string // in the cluster, not empty
	Cluster string // may be empty
	// NoPolls: the fleet is not polled, but pushed to once more.
	NoPolls bool
}

// Node keeps the ranks of a node. It is not safe for concurrent use.
type Node struct {
	options Options
	id      uint64
	spread  float64                   // in [0, 1): its share of health.PushSpread
	rows    []store.RankSteps         // since the last second
	ranks   map[uint32]*rank          // by process
	others  map[uint32]ownwork.Reason // processes that are not ranks
	cohorts map[uint64]*cohort        // by number
	now     time.Duration             // of the last second
	said    []health.Verdict
}

// rank is a rank of a job on this node.
type rank struct {
	pid     uint32
	source  ownwork.Source
	judge   *health.Rank
	reason  ownwork.Reason
	skipped uint64          // steps that were left out
	idle    bool            // its host has time to spare
	pushed  health.RankPush // last push
	step    time.Duration   // end of the last step
	ended   time.Duration   // 0: its process runs
	clock   trend
	spent   spent
	held    *health.Verdict // a verdict that it is slow, not reported while nobody waits for it
	// usualClock is its GPU's clock before it became slow, as a share of the maximum; 0: not known.
	usualClock float64
	reported   *Said // the report that it is slow; nil: none
}

// cohort is the ranks of this node that are compared with the same peers.
type cohort struct {
	id    uint64
	ranks []*rank // by rank
	size  int32
	push  time.Duration // when the next push is due
	poll  time.Duration // when a poll is due, 0: none is
}

// Said reports that something began or ended.
type Said struct {
	health.Verdict
	PID uint32
	// Ranks is the size of the communicator.
	Ranks int32
	// Step is the usual length of a step.
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
		options: o, id: id, spread: float64(id%1024) / 1024, ranks: map[uint32]*rank{}, others: map[uint32]ownwork.Reason{},
		cohorts: map[uint64]*cohort{},
	}
}

// Batch takes in the rows of a Meter: the RankSteps of b.
func (n *Node) Batch(b *store.Batch) { n.rows = append(n.rows, b.RankSteps...) }

// Second is called about once a second, after the batches up to at (Unix ns). It appends reports to out.
func (n *Node) Second(at uint64, out []Said) []Said {
	n.now = time.Duration(at)
	for i := range n.rows {
		out = n.row(&n.rows[i], out)
	}
	clear(n.rows)
	n.rows = n.rows[:0]
	for _, r := range n.ranks {
		s := r.judge.State()
		r.spent.second(r.held == nil && s != health.Suspect && s != health.Straggler)
		out = n.review(r, out)
		if r.ended > 0 && n.now-r.ended > exitPushed || n.now-r.step > silentFor {
			out = n.forget(r, out)
		}
	}
	return out
}

// row takes in a process's row.
func (n *Node) row(row *store.RankSteps, out []Said) []Said {
	for i := range row.Steps {
		out = n.step(row, &row.Steps[i], out)
	}
	r := n.ranks[row.PID]
	switch {
	case r == nil && row.Ended:
		delete(n.others, row.PID)
	case r == nil && row.Rank < 0:
		if len(n.others) >= maxOthers {
			clear(n.others)
		}
		n.others[row.PID] = reasonOf(row.Why)
	case r != nil && r.ended == 0:
		r.reason, r.skipped, r.idle = reasonOf(row.Why), row.Skipped, row.Spare
		r.spent.waited(&row.Waits)
		r.judge.Place(placeOf(row))
		if row.Ended {
			r.ended = n.now
			r.judge.Exit()
		}
	}
	return out
}

// step takes in a step of a rank.
func (n *Node) step(row *store.RankSteps, s *store.RankStep, out []Said) []Said {
	source := ownwork.Source{PID: row.PID, Comm: row.Comm, Rank: row.Rank, Ranks: row.Ranks, Every: row.Every}
	r := n.ranks[row.PID]
	if r != nil && r.source != source {
		out = n.forget(r, out) // what was learned applies to other steps
		r = nil
	}
	if r == nil {
		r = n.join(row, source)
	}
	r.step = time.Duration(s.End)
	r.clock.addShare(r.step, s.Clock)
	r.spent.steps++
	r.spent.own += time.Duration(s.OwnNS).Seconds()
	r.spent.gpu += time.Duration(min(s.GPUNS, s.OwnNS)).Seconds()
	r.judge.Step(stepOf(s))
	return out
}

func (n *Node) join(row *store.RankSteps, source ownwork.Source) *rank {
	id := wire.Cohort(n.options.Cluster, fmt.Sprintf("%016x", source.Key()), "", "")
	r := &rank{pid: row.PID, source: source, judge: health.NewRank(health.RankOptions{
		Cohort: id, Rank: source.Rank, Hetero: row.Pairs > 0,
	})}
	n.ranks[row.PID] = r
	delete(n.others, row.PID)
	c := n.cohorts[id]
	if c == nil {
		c = &cohort{id: id, size: source.Ranks, push: health.NextPush(id, n.now, n.spread)}
		n.cohorts[id] = c
	}
	at, _ := slices.BinarySearchFunc(c.ranks, source.Rank, func(r *rank, to int32) int {
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

// forget removes a rank, and resolves what was reported of it.
func (n *Node) forget(r *rank, out []Said) []Said {
	n.leave(r)
	if r.reported == nil {
		return out
	}
	end := *r.reported
	end.Resolved, end.At = true, n.now
	return append(out, end)
}

// Next returns when something is due to be sent, 0: nothing is.
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

// Due returns what is due at a time: for each cohort a push, a poll or nothing. Pass each answer to Answer.
func (n *Node) Due(now time.Duration) (pushes []wire.Push, polls []wire.Poll) {
	for _, id := range n.order() {
		c := n.cohorts[id]
		if max(c.push, c.poll) > now+health.PushEvery+health.PushSpread { // the clock was set back
			c.push, c.poll = health.NextPush(id, now, n.spread), 0
		}
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

// order returns the cohorts' numbers, sorted.
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
		if r.judge.Interval() <= 0 { // no step yet
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

// Answer takes in the answer to a push or poll, nil if there was none, and appends reports to out.
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
