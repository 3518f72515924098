package health_test

import (
	"testing"
	"time"

	"github.com/ingero-io/ingero/cluster/health"
)

// withOthers returns a crew that has run for a minute, whose agents know other fleets.
func withOthers(n int) *crew {
	c := newCrew(n)
	c.others = true
	c.run(time.Minute)
	return c
}

// leave makes ranks push elsewhere from now on; notice: they send a notice.
func (c *crew) leave(from, to int, notice bool) {
	for i := from; i < to; i++ {
		c.silent[i] = true
		if notice {
			p := c.message(i)
			p.Sent++
			p.Ranks[0].Exited = true
			c.fleet.Push(c.now, p)
		}
	}
}

func (c *crew) come() { clear(c.silent) }

func (c *crew) nothing(t *testing.T, when string) {
	t.Helper()
	if len(c.verdicts) != 0 {
		t.Errorf("%s: %+v", when, c.verdicts)
	}
}

// A fleet reports nothing about ranks that push to another one now.
func TestRanksThatPushElsewhere(t *testing.T) {
	for name, share := range map[string]int{"one": 1, "a quarter": 4, "half": 8, "most": 12} {
		t.Run(name+" could not say so, and the others follow", func(t *testing.T) {
			c := withOthers(16)
			c.leave(0, share, false)
			c.run(11 * time.Second)
			c.nothing(t, "before the others have followed")
			c.leave(share, 16, true)
			c.run(90 * time.Second)
			c.nothing(t, "after they have")
			if cohorts, ranks := c.fleet.Sizes(); cohorts != 0 || ranks != 0 {
				t.Errorf("%d cohorts and %d ranks are left", cohorts, ranks)
			}
		})
		t.Run(name+" said so, and come back", func(t *testing.T) {
			c := withOthers(16)
			c.leave(0, share, true)
			if _, ranks := c.fleet.Sizes(); ranks != 16-share {
				t.Errorf("%d ranks of %d are left", ranks, 16-share)
			}
			c.run(20 * time.Second)
			c.nothing(t, "while they are away")
			c.come()
			c.run(20 * time.Second)
			c.nothing(t, "when they are back")
			if a := c.fleet.Push(c.now, c.message(0)); a == nil || a.Live != 16 || !a.Quorum() {
				t.Errorf("%+v", a)
			}
		})
	}
}

// A node that is really silent is missing, if the others stay.
func TestMissingWhereThereAreOtherFleets(t *testing.T) {
	c := withOthers(8)
	c.leave(6, 7, false)
	c.run(11 * time.Second)
	c.nothing(t, "after 11 s")
	c.run(5 * time.Second)
	if m := c.of(health.KindMissing); len(m) != 1 || len(c.verdicts) != 1 || m[0].Rank != 6 {
		t.Errorf("%+v", c.verdicts)
	}
}

// A straggler that pushes here while the others are elsewhere is not a slow cohort, and several are not a degraded
// one.
func TestFewOfACohortAreNotTheCohort(t *testing.T) {
	for _, slow := range []int{1, 3} {
		c := withOthers(16)
		c.run(time.Minute)
		c.slow = func(rank int) float64 {
			if rank < slow {
				return 1.3
			}
			return 1
		}
		c.run(20 * time.Second)
		if n := len(c.of(health.KindStraggler)); n != slow {
			t.Fatalf("%d of %d are stragglers", n, slow)
		}
		c.leave(slow, 16, true)
		c.run(30 * time.Second)
		if n := len(c.of(health.KindCohortSlow)) + len(c.of(health.KindCohortDegraded)); n != 0 {
			t.Errorf("%d slow: %+v", slow, c.verdicts)
		}
	}
}

// The last known place of ranks that have left is no reason to report that others wait for them.
func TestRanksElsewhereDoNotHang(t *testing.T) {
	c := withOthers(8)
	entered := uint32(100)
	c.place = func(int) health.Place { return health.Place{Comm: 9, Enqueued: entered, Completed: entered - 1} }
	c.run(4 * time.Second)
	c.leave(0, 3, false)
	c.run(4 * time.Second)
	c.place = func(int) health.Place { // all of them are in a long collective
		return health.Place{Comm: 9, Enqueued: entered + 5, Completed: entered + 4, Open: 4 * time.Second}
	}
	c.run(6 * time.Second)
	c.nothing(t, "while a collective takes long")
}

// A notice makes no cohort, and nothing in it counts as refused.
func TestANoticeMakesNoCohort(t *testing.T) {
	c := newCrew(4)
	c.run(time.Second)
	p := c.message(0)
	p.Ranks[0].Exited = true
	f := health.NewFleet()
	a := f.Push(c.now, p)
	cohorts, ranks := f.Sizes()
	if a == nil || a.Live != 0 || a.Size != 4 || cohorts != 0 || ranks != 0 || f.Refused() != [health.Reasons]uint64{} {
		t.Errorf("%+v, %d cohorts, %d ranks, %v", a, cohorts, ranks, f.Refused())
	}
	was := c.fleet.Refused()
	p.Sent++
	for range 2 { // the second time, it is unknown
		a = c.fleet.Push(c.now, p)
		p.Sent++
	}
	if a == nil || a.Live != 3 || c.fleet.Refused() != was {
		t.Errorf("%+v, %v", a, c.fleet.Refused())
	}
}
