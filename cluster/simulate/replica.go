package simulate

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/ingero-io/ingero/cluster/health"
	"github.com/ingero-io/ingero/cluster/replicas"
)

// Outage is a time in which the first cohort's preferred fleet does not answer.
type Outage struct {
	From, For float64 // seconds
	// Share is the share of nodes that cannot reach it, while it goes on for the others. 1: it is killed, and has lost
	// its state when it is back.
	Share float64
}

// killed returns the outage of a fleet that is killed.
func killed(from, length float64) Outage { return Outage{From: from, For: length, Share: 1} }

// peers are fleets that agents choose from.
type peers struct {
	names    []string
	choosers []*replicas.Chooser // by node
	first    int                 // the fleet that has the outages
	dead     bool
	push     health.Push // scratch for a notice
}

func newPeers(n, nodes int, first uint64) *peers {
	p := &peers{}
	for i := range n {
		p.names = append(p.names, fmt.Sprintf("fleet-%d", i))
	}
	for range nodes {
		p.choosers = append(p.choosers, replicas.New(p.names))
	}
	p.first = replicas.Order(p.names, first)[0]
	return p
}

// outage returns the outage at a time, nil: there is none.
func (w *world) outage(now time.Duration) *Outage {
	for i := range w.job.Net.Outages {
		if o := &w.job.Net.Outages[i]; now >= at(o.From) && now < at(o.From+o.For) {
			return o
		}
	}
	return nil
}

// reaches reports whether a node reaches a fleet.
func (w *world) reaches(node, fleet int, now time.Duration) bool {
	o := w.outage(now)
	return fleet != w.peers.first || o == nil || float64(node) >= o.Share*float64(len(w.nodes))
}

// kill starts or ends the time in which the fleet is dead. A fleet that is killed loses its state.
func (w *world) kill(now time.Duration) {
	o := w.outage(now)
	dead := o != nil && o.Share == 1
	if dead && !w.peers.dead {
		w.fleets[w.peers.first] = health.NewFleet()
	}
	w.peers.dead = dead
}

// pushAmong pushes to the fleet that a node has chosen, and to another one if that does not answer.
func (w *world) pushAmong(i int, now time.Duration, push *health.Push) *health.Reply {
	w.kill(now)
	push.Others = true
	c := w.peers.choosers[i]
	to, notices := c.Push(now, push.Cohort)
	w.notices(i, now, notices, push)
	for {
		lost := w.job.Net.Lost > 0 && w.random.Float64() < w.job.Net.Lost
		if w.reaches(i, to, now) && !lost {
			answer := w.fleets[to].Push(now, push)
			if answer == nil {
				return nil
			}
			own := *answer // copied: a notice to the same fleet would overwrite it
			own.Buckets = slices.Clone(answer.Buckets)
			w.notices(i, now, c.Answered(now, push.Cohort, to, own.Live, own.Size), push)
			return &own
		}
		var again bool
		if to, again = c.Failed(now, push.Cohort, to, true); !again {
			return nil
		}
	}
}

// notices tells fleets that the ranks of a push are no longer there.
func (w *world) notices(i int, now time.Duration, to []int, push *health.Push) {
	if len(to) == 0 {
		return
	}
	n := &w.peers.push
	ranks := append(n.Ranks[:0], push.Ranks...)
	*n = *push
	n.Ranks, n.Echo = ranks, health.Summary{}
	n.Sent++
	for k := range ranks {
		ranks[k].Exited = true
	}
	c := w.peers.choosers[i]
	for _, k := range to {
		var answer *health.Reply
		if w.reaches(i, k, now) {
			answer = w.fleets[k].Push(now, n)
		}
		if answer != nil {
			w.notices(i, now, c.Noticed(now, push.Cohort, k, answer.Live), push)
		} else {
			c.NoticeFailed(now, push.Cohort, k)
		}
	}
}

// pollAmong polls the fleet that a node has chosen.
func (w *world) pollAmong(i int, now time.Duration, q health.Poll) *health.Reply {
	to := w.peers.choosers[i].At(now, q.Cohort)
	if !w.reaches(i, to, now) {
		return nil
	}
	return w.fleets[to].Poll(now, q)
}

// among is the part with several fleets, one of which is killed or cut off. It has its own random numbers, so that
// the other parts are the same with and without it.
func (l *lab) among() {
	before := l.stream
	l.stream = 1 << 32
	defer func() { l.stream = before }()
	for _, n := range []int{8, 64} {
		for _, fleets := range []int{2, 5} {
			if l.has(n) {
				l.amongOf(n, fleets)
			}
		}
	}
}

const lostCase = "10 % of pushes lost"

// outageCases are outages of a fleet around the onset of a straggler.
var outageCases = []struct {
	name    string
	outages func(onset float64) []Outage
	lost    float64
}{
	{"one killed at onset, back after 10 s", func(at float64) []Outage { return []Outage{killed(at, 10)} }, 0},
	{"one killed 2 s after onset, back after 3 s", func(at float64) []Outage { return []Outage{killed(at+2, 3)} }, 0},
	{"one killed 3 s after onset, back after 0.3 s", func(at float64) []Outage { return []Outage{killed(at+3, 0.3)} }, 0},
	{"one back at onset after 30 s", func(at float64) []Outage { return []Outage{killed(at-30, 30)} }, 0},
	{"one back 10 s before onset", func(at float64) []Outage { return []Outage{killed(at-40, 30)} }, 0},
	{"half of the nodes cut off from one at onset, for 60 s", func(at float64) []Outage {
		return []Outage{{From: at, For: 60, Share: 0.5}}
	}, 0},
	{"a quarter cut off from one at onset, for 60 s", func(at float64) []Outage {
		return []Outage{{From: at, For: 60, Share: 0.25}}
	}, 0},
	{lostCase, func(float64) []Outage { return nil }, 0.1},
}

// amongOf runs all cases with n ranks. The two slow ranks are the first and the last, so that each part of the nodes
// has one.
func (l *lab) amongOf(n, fleets int) {
	const step, noise, window = 0.2, 0.02, 60
	of := fmt.Sprintf("%d fleets, ", fleets)
	for _, c := range outageCases {
		s := l.trials(l.few(24), window, func(r *rand.Rand) Job {
			j := withStragglers(n, 2, step, noise, 1.2, window)(r)
			j.Faults[0].Rank, j.Faults[1].Rank = 0, n-1
			j.Length += 30
			j.Net = Net{Fleets: fleets, Outages: c.outages(j.Faults[0].From), Lost: c.lost}
			return j
		})
		l.addRow(s.row(partAmong, of+c.name, n, step, noise).quiet(&s))
	}
	s := l.trials(l.few(24), window, func(r *rand.Rand) Job {
		j := disturbed(n, 1, 0.03, 3600, r)
		j.Phases = false // so that no cohort is slower than it was
		j.Net = Net{Fleets: fleets, Lost: 0.001}
		for t := 60 + 60*r.Float64(); t < 3500; t += 60 + 240*r.Float64() {
			o := Outage{From: t, For: 0.2 + 60*r.Float64()*r.Float64(), Share: 1}
			if r.Float64() < 0.5 {
				o.Share = r.Float64()
			}
			j.Net.Outages = append(j.Net.Outages, o)
		}
		return j
	})
	l.addRow(s.row(partAmong, of+"20 outages an hour, no straggler", n, 1, 0.03).quiet(&s))
}

// quiet counts cohort_slow as false too: none of these cohorts is slow.
func (r Row) quiet(s *Score) Row {
	r.Other += s.CohortSlow
	return r
}
