package e2e_test

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/ingero-io/ingero/agent"
	"github.com/ingero-io/ingero/cluster/health"
	"github.com/ingero-io/ingero/cluster/ownwork"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/event/stats"
	"github.com/ingero-io/ingero/store"
)

// ownWork measures ranks as a sink of a run.
type ownWork struct {
	tracker *ownwork.Tracker
	losses  []event.Loss
	ended   []event.Life
	steps   []ownwork.Step
	reports map[uint32]ownwork.Report // the last of each process
}

func (o *ownWork) Batch(b *store.Batch) {
	o.tracker.Calls(b.Calls)
	o.tracker.Collectives(b.Collectives)
	o.losses = append(o.losses, b.Losses...)
	for _, pid := range b.Ended {
		o.ended = append(o.ended, event.Life{Kind: event.LifeExit, Thread: event.Thread{PID: pid, TID: pid}})
	}
}

func (o *ownWork) Second(s *agent.Status) {
	at := uint64(s.At.UnixNano())
	o.tracker.Losses(at, o.losses)
	n := len(o.steps)
	o.steps = o.tracker.Take(at, o.steps)
	for _, s := range o.steps[n:] {
		o.reports[s.PID] = o.tracker.Report(s.PID, at)
	}
	o.tracker.Ended(o.ended)
	o.losses, o.ended = o.losses[:0], o.ended[:0]
}

// totals are a rank's mean own work and wait, and the number of steps.
type totals struct {
	own, wait time.Duration
	n         int
}

func (o *ownWork) totals(ranks int) []totals {
	list := make([]totals, ranks)
	for _, s := range o.steps {
		r := &list[s.Rank]
		r.own, r.wait, r.n = r.own+s.Own, r.wait+s.Wait, r.n+1
	}
	for i := range list {
		n := time.Duration(max(list[i].n, 1))
		list[i].own, list[i].wait = list[i].own/n, list[i].wait/n
	}
	return list
}

// pushed runs the steps through the ranks' agents and a fleet. It returns the median of what each rank pushes (log of
// seconds), by rank, and the fleet's last answer.
func (o *ownWork) pushed(ranks int) (x []float64, last health.Reply) {
	agents := make([]*health.Rank, ranks)
	steps := slices.Clone(o.steps)
	slices.SortStableFunc(steps, func(a, b ownwork.Step) int { return cmp.Compare(a.End, b.End) })
	fleet, next := health.NewFleet(), time.Duration(0)
	of := make([][]float64, ranks)
	for _, s := range steps {
		if agents[s.Rank] == nil {
			agents[s.Rank] = health.NewRank(health.RankOptions{Cohort: s.Key(), Rank: s.Rank})
		}
		agents[s.Rank].Step(s.Step)
		if s.End < next {
			continue
		}
		next = s.End + health.PushEvery/4
		for i, r := range agents {
			if r == nil {
				continue
			}
			p := &health.Push{
				Cohort: s.Key(), Node: uint64(i + 1), Sent: s.End, Size: int32(ranks), Width: r.Width(), Merge: r.Merge(),
				Reference: r.Reference(), Echo: r.Echo(), Ranks: make([]health.RankPush, 1),
			}
			r.Push(&p.Ranks[0])
			if v := p.Ranks[0].X[0]; !math.IsNaN(float64(v)) {
				of[i] = append(of[i], float64(v))
			}
			if a := fleet.Push(s.End, p); a != nil {
				last = *a
				last.Buckets = slices.Clone(a.Buckets)
				r.Take(s.End, a, nil)
			}
		}
	}
	for _, list := range of {
		if len(list) == 0 {
			return nil, last
		}
		x = append(x, stats.Upper(list))
	}
	return x, last
}

// The rank that the program slows has the most own work and waits least, in what is measured live and in
// what a fleet is told.
func TestOwnWorkNamesTheSlowedRank(t *testing.T) {
	const ranks, late, steps = 4, 2, 300
	o := &ownWork{tracker: ownwork.NewTracker(), reports: map[uint32]ownwork.Report{}}
	j := trainInto(t, []agent.Sink{o}, "--steps", strconv.Itoa(steps), "--host-us", "1000", "--gpu-us", "15000", "--fifo", "1",
		"--ranks", strconv.Itoa(ranks), "--late-rank", strconv.Itoa(late), "--late", "sleep", "--late-ms", "6")
	list := o.totals(ranks)
	said := fmt.Sprintf("%+v", list)
	for i, r := range list {
		if r.n < steps*9/10 {
			t.Fatalf("rank %d has %d steps of %d: %v; %s", i, r.n, steps, o.reports[uint32(j.truth.PIDs[i])].Reason, said)
		}
		if i != late && (r.own > list[late].own-4*time.Millisecond || r.wait < list[late].wait+4*time.Millisecond) {
			t.Errorf("rank %d is not told from the slowed one: %s", i, said)
		}
		if got := o.reports[uint32(j.truth.PIDs[i])]; got.Reason != ownwork.Measured || got.Source.Every != 1 ||
			got.Source.Ranks != ranks || got.Source.Rank != int32(i) {
			t.Errorf("rank %d: %v, %+v", i, got.Reason, got)
		}
	}
	for _, s := range o.steps {
		if s.Work != 4 { // LAUNCHES of victim/ranks.c
			t.Fatalf("step %d of rank %d has %v launches", s.Seq, s.Rank, s.Work)
		}
	}
	x, reply := o.pushed(ranks)
	if len(x) != ranks || !reply.Quorum() {
		t.Fatalf("pushed were %v, answered %+v", x, reply)
	}
	for i := range x {
		if i != late && x[i] > x[late]-math.Log(2) {
			t.Errorf("pushed were %v", x)
		}
	}
	if t.Failed() {
		j.dump(t)
	}
}
