package ownwork_test

import (
	"testing"
	"time"

	"github.com/ingero-io/ingero/cluster/health"
	"github.com/ingero-io/ingero/cluster/ownwork"
)

// judge passes measured steps to the agents' halves, each on its own node, and to a fleet. It returns the ranks and
// the verdicts.
func judge(steps []ownwork.Step, size int) (ranks map[int32]*health.Rank, verdicts []health.Verdict) {
	ranks = map[int32]*health.Rank{}
	fleet := health.NewFleet()
	var now, next time.Duration
	for _, s := range inOrder(steps) {
		r := ranks[s.Rank]
		if r == nil {
			r = health.NewRank(health.RankOptions{Cohort: s.Key(), Rank: s.Rank})
			ranks[s.Rank] = r
		}
		if now = s.End; next == 0 {
			next = now + health.PushEvery
		}
		r.Step(s.Step)
		if now < next {
			continue
		}
		next += health.PushEvery
		for i, r := range ranks {
			p := &health.Push{
				Cohort: s.Key(), Node: uint64(i + 1), Sent: now, Size: int32(size), Width: r.Width(), Merge: r.Merge(),
				Reference: r.Reference(), Echo: r.Echo(), Ranks: make([]health.RankPush, 1),
			}
			r.Push(&p.Ranks[0])
			if a := fleet.Push(now, p); a != nil {
				verdicts = r.Take(now, a, verdicts)
			}
		}
		verdicts = fleet.Sweep(now, verdicts)
	}
	return ranks, verdicts
}

// stragglers returns the ranks that were reported as stragglers.
func stragglers(verdicts []health.Verdict) map[int32]bool {
	m := map[int32]bool{}
	for _, v := range verdicts {
		if v.Kind == health.KindStraggler && !v.Resolved {
			m[v.Rank] = true
		}
	}
	return m
}

func TestMeasuredStepsNameTheStraggler(t *testing.T) {
	for name, slow := range map[string]func(*rank){
		"none": func(*rank) {},
		"host": func(r *rank) { r.hostSlow = 1.25 },
		"gpu":  func(r *rank) { r.gpuSlow = 1.25 },
	} {
		t.Run(name, func(t *testing.T) {
			j := newJob(4)
			j.join("world", all)
			step := func() {
				j.ddp()
				for _, r := range j.ranks {
					j.tracker.Clock(r.pid, r.host, 0.95/r.gpuSlow)
				}
			}
			j.rounds(800, step)
			slow(j.ranks[2])
			j.rounds(500, step)
			_, verdicts := judge(j.steps, 4)
			found := stragglers(verdicts)
			if want := name != "none"; found[2] != want || len(found) > 1 || !want && len(found) > 0 {
				t.Errorf("stragglers: %v; %+v", found, verdicts)
			}
		})
	}
}

// Nobody waits for a slower host if its GPU has work queued meanwhile. Own work alone makes it a straggler; its time
// to spare shows that it is not.
func TestStragglerWithTimeToSpareIsNone(t *testing.T) {
	j := newJob(4)
	j.join("world", all)
	step := func() {
		j.launch(50, time.Millisecond)
		j.work(20 * ms)
		j.launch(50, time.Millisecond)
		j.collect(opReduce, "world", all, 1<<20)
		j.wait()
	}
	j.rounds(400, step)
	j.ranks[2].hostSlow = 1.3
	j.rounds(400, step)
	_, verdicts := judge(j.steps, 4)
	if found := stragglers(verdicts); !found[2] || len(found) > 1 {
		t.Errorf("stragglers: %v", found)
	}
	for _, r := range j.ranks {
		if r := j.reports[r.pid]; !r.Spare() {
			t.Errorf("rank %d: of its own work %.2f±%.2f follow", r.Source.Rank, r.Follows, r.FollowsError)
		}
	}
}
