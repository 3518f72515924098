package health_test

import (
	"cmp"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/ingero-io/ingero/cluster/health"
)

const job = 77

// crew is a job of ranks with a step of 0.2 s, each with its own agent, and a fleet.
type crew struct {
	fleet    *health.Fleet
	ranks    []*health.Rank
	now      time.Duration
	seq      uint64
	next     time.Duration // next push
	random   *rand.Rand
	slow     func(rank int) float64
	place    func(rank int) health.Place
	silent   map[int]bool // no pushes
	others   bool         // agents know other fleets
	stopped  bool         // no steps
	down     bool
	verdicts []health.Verdict
}

func newCrew(n int) *crew {
	c := &crew{
		fleet: health.NewFleet(), now: time.Hour, random: rand.New(rand.NewPCG(1, 2)),
		slow: func(int) float64 { return 1 }, place: func(int) health.Place { return health.Place{} },
		silent: map[int]bool{},
	}
	c.next = c.now
	for i := range n {
		c.ranks = append(c.ranks, health.NewRank(health.RankOptions{Cohort: job, Rank: int32(i)}))
	}
	return c
}

// run advances time by d.
func (c *crew) run(d time.Duration) {
	for end := c.now + d; c.now < end; {
		most := 0.0
		own := make([]float64, len(c.ranks))
		for i := range c.ranks {
			own[i] = 0.2 * c.slow(i) * math.Exp(0.02*c.random.NormFloat64())
			most = max(most, own[i])
		}
		c.now += time.Duration(most * float64(time.Second))
		for i, r := range c.ranks {
			if !c.stopped {
				r.Step(health.Step{
					Seq: c.seq, End: c.now, Own: time.Duration(own[i] * float64(time.Second)),
					Wait: time.Duration((most - own[i]) * float64(time.Second)), Measured: health.MeasuredDevice,
				})
			}
		}
		c.seq++
		if c.now >= c.next {
			c.push()
			c.next += health.PushEvery
		}
	}
}

func (c *crew) push() {
	for i := range c.ranks {
		if !c.silent[i] {
			c.pushRank(i)
		}
	}
	for i, r := range c.ranks {
		if r.Polls() && !c.down {
			c.verdicts = r.Take(c.now, c.fleet.Poll(c.now, r.Poll(uint64(i+1))), c.verdicts)
		}
	}
	if !c.down {
		c.verdicts = c.fleet.Sweep(c.now, c.verdicts)
	}
}

func (c *crew) message(i int) *health.Push {
	r := c.ranks[i]
	r.Place(c.place(i))
	p := &health.Push{
		Cohort: job, Node: uint64(i + 1), Sent: c.now, Size: int32(len(c.ranks)), Width: r.Width(), Merge: r.Merge(),
		Echo: r.Echo(), Ranks: make([]health.RankPush, 1), Others: c.others,
	}
	r.Push(&p.Ranks[0])
	return p
}

func (c *crew) pushRank(i int) {
	if c.down {
		c.verdicts = c.ranks[i].Tick(c.now, c.verdicts)
		return
	}
	if a := c.fleet.Push(c.now, c.message(i)); a != nil {
		c.verdicts = c.ranks[i].Take(c.now, a, c.verdicts)
	}
}

// of returns the verdicts of a kind that have begun.
func (c *crew) of(k health.Kind) (found []health.Verdict) {
	for _, v := range c.verdicts {
		if v.Kind == k && !v.Resolved {
			found = append(found, v)
		}
	}
	return found
}

func (c *crew) resolved(k health.Kind) bool {
	return slices.ContainsFunc(c.verdicts, func(v health.Verdict) bool { return v.Kind == k && v.Resolved })
}

func slowRank(rank int, factor float64) func(int) float64 {
	return func(i int) float64 {
		if i == rank {
			return factor
		}
		return 1
	}
}

func everyone(factor float64) func(int) float64 { return func(int) float64 { return factor } }

func TestStragglerIsNamedAndResolved(t *testing.T) {
	c := newCrew(8)
	c.run(time.Minute)
	if s := c.ranks[5].State(); s != health.Active || c.ranks[5].Mode() != health.ModeFleet {
		t.Fatalf("after a minute: %v, %v", s, c.ranks[5].Mode())
	}
	onset := c.now
	c.slow = slowRank(5, 1.2)
	c.run(20 * time.Second)
	found := c.of(health.KindStraggler)
	if len(found) != 1 || found[0].Rank != 5 || found[0].Folded {
		t.Fatalf("found %+v", found)
	}
	v := found[0]
	if v.Excess < 0.15 || v.Excess > 0.26 || math.Abs(v.Own-0.24) > 0.02 || math.Abs(v.Peer-0.2) > 0.01 || v.N < 5 {
		t.Errorf("reported: %+v", v)
	}
	if d := v.Since - onset; d < -2*time.Second || d > 2*time.Second {
		t.Errorf("since %v after it began", d)
	}
	if c.ranks[5].State() != health.Straggler || c.resolved(health.KindStraggler) {
		t.Error("it is no straggler any more")
	}
	c.slow = everyone(1)
	c.run(20 * time.Second)
	if !c.resolved(health.KindStraggler) || c.ranks[5].State() != health.Active {
		t.Errorf("not resolved: %v", c.ranks[5].State())
	}
}

func TestChangeOfAllIsNoStraggler(t *testing.T) {
	for _, factor := range []float64{0.6, 1.3, 2} {
		c := newCrew(8)
		c.run(time.Minute)
		c.slow = everyone(factor)
		c.run(time.Minute)
		if s := c.of(health.KindStraggler); len(s) != 0 {
			t.Errorf("x%g: %+v", factor, s)
		}
		slow := c.of(health.KindCohortSlow)
		if want := factor > 1; want != (len(slow) == 1) {
			t.Errorf("x%g: cohort_slow %+v", factor, slow)
		}
		c.run(5 * time.Minute)
		if factor > 1 && !c.resolved(health.KindCohortSlow) {
			t.Errorf("x%g: still reports that the cohort is slow", factor)
		}
	}
}

// Many stragglers at once are one condition.
func TestManyStragglersAreFolded(t *testing.T) {
	c := newCrew(12)
	c.run(time.Minute)
	c.slow = func(i int) float64 {
		if i < 5 {
			return 1.3
		}
		return 1
	}
	c.run(20 * time.Second)
	if d := c.of(health.KindCohortDegraded); len(d) != 1 || d[0].N != 5 || d[0].Rank != health.NoRank {
		t.Errorf("cohort_degraded: %+v", d)
	}
	folded := 0
	for _, v := range c.of(health.KindStraggler) {
		if v.Folded {
			folded++
		}
		if v.Rank >= 5 {
			t.Errorf("none: %+v", v)
		}
	}
	if folded < 2 {
		t.Errorf("%d of 5 are folded", folded)
	}
	c.slow = everyone(1)
	c.run(time.Minute)
	if !c.resolved(health.KindCohortDegraded) {
		t.Error("not resolved")
	}
}

// Without peers a rank can only report that it is slower than it was.
func TestWithoutFleetOnlySlowVsSelf(t *testing.T) {
	c := newCrew(4)
	c.run(2 * time.Minute)
	c.down = true
	c.run(time.Minute)
	if m := c.ranks[0].Mode(); m != health.ModeLocalCached || len(c.verdicts) != 0 {
		t.Fatalf("mode %v, %+v", m, c.verdicts)
	}
	c.slow = slowRank(2, 1.3)
	c.run(30 * time.Second)
	found := c.of(health.KindSlowVsSelf)
	if len(found) != 1 || found[0].Rank != 2 || len(c.of(health.KindStraggler)) != 0 {
		t.Errorf("found %+v", c.verdicts)
	}
	c.down = false
	c.run(30 * time.Second)
	if !c.resolved(health.KindSlowVsSelf) || len(c.of(health.KindStraggler)) != 1 {
		t.Errorf("with peers again: %+v", c.verdicts)
	}
	c.down = true
	c.run(6 * time.Minute)
	if m := c.ranks[0].Mode(); m != health.ModeLocalBaseline {
		t.Errorf("after 6 minutes: %v", m)
	}
}

// Ranks that are slower than their own past, as judged without the fleet, are not a degraded cohort.
func TestSlowVsSelfDegradesNoCohort(t *testing.T) {
	c := newCrew(8)
	c.run(2 * time.Minute)
	c.down = true
	c.run(30 * time.Second)
	c.slow = everyone(1.5)
	c.run(30 * time.Second)
	if n := len(c.of(health.KindSlowVsSelf)); n != 8 {
		t.Fatalf("%d ranks are slower than they were", n)
	}
	c.down = false
	c.run(30 * time.Second)
	if d := c.of(health.KindCohortDegraded); len(d) != 0 {
		t.Errorf("%+v", d)
	}
}

func TestNeverHeardOfFleet(t *testing.T) {
	c := newCrew(3)
	c.down = true
	c.run(20 * time.Second)
	if m := c.ranks[0].Mode(); m != health.ModeNone {
		t.Errorf("at first: %v", m)
	}
	c.run(time.Minute)
	if m := c.ranks[0].Mode(); m != health.ModeLocalBaseline {
		t.Errorf("after a minute: %v", m)
	}
}

func TestGoneMissingAndEndOfJob(t *testing.T) {
	t.Run("gone", func(t *testing.T) {
		c := newCrew(8)
		c.run(time.Minute)
		c.ranks[3].Exit()
		c.run(10 * time.Second)
		if g := c.of(health.KindGone); len(g) != 1 || g[0].Rank != 3 || len(c.of(health.KindMissing)) != 0 {
			t.Errorf("%+v", c.verdicts)
		}
	})
	t.Run("missing", func(t *testing.T) {
		c := newCrew(8)
		c.run(time.Minute)
		c.silent[6] = true
		c.run(12 * time.Second)
		if m := c.of(health.KindMissing); len(m) != 1 || m[0].Rank != 6 || m[0].Node != 7 || m[0].Folded {
			t.Errorf("%+v", c.verdicts)
		}
		c.silent[6] = false
		c.run(4 * time.Second)
		if !c.resolved(health.KindMissing) {
			t.Error("not resolved when it pushed again")
		}
	})
	t.Run("one of two nodes is cut off", func(t *testing.T) {
		for _, n := range []int{2, 8, 16} {
			c := newCrew(n)
			c.run(time.Minute)
			for i := range n / 2 {
				c.silent[i] = true
			}
			c.run(12 * time.Second)
			m := c.of(health.KindMissing)
			if len(m) != n/2 || m[0].Folded != (n/2 >= 3) {
				t.Errorf("of %d: %+v", n, c.verdicts)
			}
			for i := range n / 2 {
				c.silent[i] = false
			}
			c.run(4 * time.Second)
			if !c.resolved(health.KindMissing) {
				t.Errorf("of %d: not resolved when it pushed again", n)
			}
		}
	})
	t.Run("the fleet was cut off", func(t *testing.T) {
		c := newCrew(8)
		c.run(time.Minute)
		for i := range c.ranks {
			c.silent[i] = true
		}
		c.run(20 * time.Second)
		for i := range 6 { // these return first
			c.silent[i] = false
		}
		c.run(4 * time.Second)
		c.silent[6], c.silent[7] = false, false
		c.run(10 * time.Second)
		if len(c.verdicts) != 0 {
			t.Errorf("%+v", c.verdicts)
		}
	})
	t.Run("end of the job", func(t *testing.T) {
		c := newCrew(8)
		c.run(time.Minute)
		c.stopped = true
		for _, r := range c.ranks {
			r.Exit()
		}
		c.run(10 * time.Second)
		for i := range c.ranks {
			c.silent[i] = true
		}
		c.run(3 * time.Minute)
		if len(c.verdicts) != 0 {
			t.Errorf("%+v", c.verdicts)
		}
		if cohorts, ranks := c.fleet.Sizes(); cohorts != 0 || ranks != 0 {
			t.Errorf("%d cohorts and %d ranks are kept", cohorts, ranks)
		}
	})
}

func TestHang(t *testing.T) {
	open := 4 * time.Second
	for _, tc := range []struct {
		name  string
		place func(i int) health.Place
		want  []int32
	}{
		{"one has not entered", func(i int) health.Place {
			if i == 2 {
				return health.Place{Comm: 9, Enqueued: 99, Completed: 99}
			}
			return health.Place{Comm: 9, Enqueued: 100, Completed: 99, Open: open}
		}, []int32{2}},
		{"all entered, one does not end", func(i int) health.Place {
			if i == 5 {
				return health.Place{Comm: 9, Enqueued: 100, Completed: 98, Open: open}
			}
			return health.Place{Comm: 9, Enqueued: 100, Completed: 99, Open: open}
		}, []int32{5}},
		{"the innermost communicator counts", func(i int) health.Place {
			p := health.Place{Comm: uint32(1 + i/4), Enqueued: 100, Completed: 99, Open: open}
			if i == 6 {
				p.Enqueued, p.Open = 99, 0
			}
			return p
		}, []int32{6}},
		{"numbers wrap", func(i int) health.Place {
			if i == 1 {
				return health.Place{Comm: 9, Enqueued: math.MaxUint32, Completed: math.MaxUint32}
			}
			return health.Place{Comm: 9, Enqueued: 1, Completed: math.MaxUint32, Open: open}
		}, []int32{1}},
		{"not long enough", func(i int) health.Place {
			return health.Place{Comm: 9, Enqueued: uint32(100 - i), Open: 2 * time.Second}
		}, nil},
	} {
		c := newCrew(8)
		c.run(20 * time.Second)
		c.place = tc.place
		c.now += time.Second
		c.push()
		var got []int32
		for _, v := range c.of(health.KindHang) {
			got = append(got, v.Rank)
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, not %v", tc.name, got, tc.want)
		}
		c.place = func(int) health.Place { return health.Place{Comm: 9, Enqueued: 101, Completed: 101} }
		c.run(4 * time.Second)
		if tc.want != nil && !c.resolved(health.KindHang) {
			t.Errorf("%s: not resolved", tc.name)
		}
	}
}

// A fleet that has just started answers the first push: the agent echoes the summary that it got.
func TestRestartedFleetAnswersFirstPush(t *testing.T) {
	c := newCrew(8)
	c.run(time.Minute)
	before := c.ranks[0].Echo()
	c.fleet = health.NewFleet()
	a := c.fleet.Push(c.now, c.message(0))
	if !a.Quorum() || a.Buckets[0] != before || a.Width != c.ranks[0].Width() {
		t.Fatalf("answer %+v; echoed was %+v", a, before)
	}
	c.slow = slowRank(5, 1.3)
	c.run(4 * time.Second)
	c.fleet = health.NewFleet() // while it is a suspect
	c.run(16 * time.Second)
	c.onlyStraggler(t, 5)
}

// onlyStraggler fails unless the rank was reported as a straggler, and nothing else was.
func (c *crew) onlyStraggler(t *testing.T, rank int32) {
	t.Helper()
	if s := c.of(health.KindStraggler); len(s) != 1 || s[0].Rank != rank || len(c.verdicts) != 1 {
		t.Errorf("want one straggler, rank %d: %+v", rank, c.verdicts)
	}
}

func TestLongPauseIsNoChangeOfMode(t *testing.T) {
	c := newCrew(4)
	c.run(time.Minute)
	c.stopped = true
	c.run(40 * time.Second)
	if m, s := c.ranks[0].Mode(), c.ranks[0].State(); m != health.ModeFleet || s != health.Idle {
		t.Errorf("in the pause: %v, %v", m, s)
	}
	c.stopped = false
	c.run(30 * time.Second)
	if s := c.ranks[0].State(); s != health.Active || len(c.verdicts) != 0 {
		t.Errorf("after it: %v, %+v", s, c.verdicts)
	}
}

func TestHostileInput(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, tc := range []struct {
		name   string
		change func(p *health.Push)
		reason health.Reason
	}{
		{"no cohort", func(p *health.Push) { p.Cohort = 0 }, health.RefusedPush},
		{"no node", func(p *health.Push) { p.Node = 0 }, health.RefusedPush},
		{"no ranks", func(p *health.Push) { p.Ranks = nil }, health.RefusedPush},
		{"too many ranks", func(p *health.Push) { p.Ranks = make([]health.RankPush, 65) }, health.RefusedPush},
		{"a size of millions", func(p *health.Push) { p.Size = 1 << 30 }, health.RefusedPush},
		{"no such width", func(p *health.Push) { p.Width = 1 << 20 }, health.RefusedPush},
		{"interval is no number", func(p *health.Push) { p.Ranks[0].Interval = nan }, health.RefusedPush},
		{"negative rank", func(p *health.Push) { p.Ranks[0].Rank = -5 }, health.RefusedRank},
		{"another node's rank", func(p *health.Push) { p.Node = 999 }, health.RefusedRank},
		{"replayed", func(p *health.Push) { p.Sent = time.Second }, health.RefusedReplay},
		{"infinite", func(p *health.Push) { p.Ranks[0].Newest++; p.Ranks[0].X[0] = inf }, health.RefusedValue},
		{"a million years", func(p *health.Push) { p.Ranks[0].Newest++; p.Ranks[0].X[0] = 40 }, health.RefusedValue},
		{"another width", func(p *health.Push) { p.Width, p.Merge = 7, 2 }, health.RefusedWidth},
		{"the far future", func(p *health.Push) { p.Ranks[0].Newest += 1000 }, health.RefusedPosition},
		{"the end of time", func(p *health.Push) { p.Ranks[0].Newest = math.MaxUint64 - 2 }, health.RefusedPush},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newCrew(8)
			c.run(time.Minute)
			before := c.fleet.Refused()
			for i := range 200 {
				p := c.message(2)
				p.Sent += time.Duration(i + 1)
				tc.change(p)
				c.fleet.Push(c.now, p)
			}
			if c.fleet.Refused()[tc.reason] == before[tc.reason] {
				t.Errorf("not counted as %v: %v", tc.reason, c.fleet.Refused())
			}
			c.ranks[2].Step(health.Step{}) // no own work: ignored
			c.slow = slowRank(5, 1.3)
			c.run(20 * time.Second)
			c.onlyStraggler(t, 5)
		})
	}
}

// One node that invents ranks cannot outvote a cohort.
func TestForgedRanks(t *testing.T) {
	c := newCrew(8)
	c.run(time.Minute)
	for i := range 100 {
		p := c.message(0)
		p.Node, p.Size, p.Sent = 666, 16384, c.now+time.Duration(i)
		p.Ranks = make([]health.RankPush, 64)
		for k := range p.Ranks {
			c.ranks[0].Push(&p.Ranks[k])
			p.Ranks[k].Rank = int32(100 + k)
			p.Ranks[k].State = health.Straggler
			for x := range p.Ranks[k].X {
				p.Ranks[k].X[x] = -19
			}
		}
		c.fleet.Push(c.now, p)
	}
	if _, ranks := c.fleet.Sizes(); ranks > 10 || c.fleet.Refused()[health.RefusedFull] == 0 {
		t.Errorf("%d ranks", ranks)
	}
	c.slow = slowRank(5, 1.3)
	c.run(20 * time.Second)
	if s := c.of(health.KindStraggler); len(s) != 1 || s[0].Rank != 5 {
		t.Errorf("%+v", c.verdicts)
	}
}

// Whatever is pushed, nothing breaks, and memory is bounded.
func TestRandomPushes(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	f := health.NewFleet()
	float := func() float32 { return math.Float32frombits(r.Uint32()) }
	var out []health.Verdict
	for i := range 20000 {
		p := &health.Push{
			Cohort: uint64(r.IntN(20)), Node: uint64(r.IntN(5)), Sent: time.Duration(r.Int64()), Size: int32(r.IntN(50)),
			Width: uint32(r.IntN(4)), Merge: uint32(r.IntN(3)), Free: r.IntN(2) == 0,
			Echo: health.Summary{
				Position: r.Uint64N(40), N: r.Uint32N(9), Lo: float(), Mid: float(), Hi: float(), Sigma: float(),
			},
		}
		for range r.IntN(10) {
			q := health.RankPush{
				Rank: int32(r.IntN(60)) - 2, Newest: r.Uint64N(60) >> r.UintN(3), Sigma: float(), Spread: float(), Shift: float(),
				Interval: float32(r.ExpFloat64()), State: health.State(r.IntN(9)), Exited: r.IntN(9) == 0,
				Place: health.Place{
					Comm: r.Uint32N(3), Enqueued: r.Uint32(), Completed: r.Uint32(), Open: time.Duration(r.Int64()),
				},
			}
			for k := range q.X {
				q.X[k] = float()
				if r.IntN(3) > 0 {
					q.X[k] = -float32(r.Float64())
				}
			}
			p.Ranks = append(p.Ranks, q)
		}
		now := time.Duration(i) * 20 * time.Millisecond
		a := f.Push(now, p)
		if a == nil {
			continue
		}
		for k, b := range a.Buckets {
			if !(b.Lo <= b.Mid && b.Mid <= b.Hi) || k > 0 && b.Position <= a.Buckets[k-1].Position {
				t.Fatalf("answer %+v", a)
			}
		}
		if i%100 == 0 {
			out = f.Sweep(now, out[:0])
		}
	}
	if cohorts, ranks := f.Sizes(); cohorts == 0 || cohorts > 19 || ranks > cohorts*63 {
		t.Errorf("%d cohorts, %d ranks", cohorts, ranks)
	}
}

// A merged bucket is the mean of aligned ones; a stall counts at most four times their median.
func TestMergedBucket(t *testing.T) {
	r := health.NewRank(health.RankOptions{Cohort: job})
	r.Step(health.Step{Seq: 1, End: time.Hour, Own: time.Second})
	r.Take(time.Hour, &health.Reply{Width: 1, Merge: 4}, nil)
	for i, own := range []time.Duration{1, 1, 1, 1, 1, 100} { // numbers 2 to 7; the first complete four are 4 to 7
		end := time.Hour + time.Duration(i+1)*200*time.Second
		r.Step(health.Step{Seq: uint64(2 + i), End: end, Own: own * time.Second})
	}
	var p health.RankPush
	r.Push(&p)
	if want := math.Log(7.0 / 4); p.Newest != 1 || math.Abs(float64(p.X[0])-want) > 1e-6 || p.X[1] == p.X[1] {
		t.Errorf("position %d, %v; want one of %.4f", p.Newest, p.X, want)
	}
}

func TestNoisyBucketsAreMerged(t *testing.T) {
	for _, tc := range []struct{ sigma, spread float32 }{{0.15, 0.1}, {0.1, 0.15}} {
		f := health.NewFleet()
		p := &health.Push{Cohort: 1, Node: 1, Size: 8, Width: 3, Merge: 1, Ranks: make([]health.RankPush, 8)}
		var merge []uint32
		for tick := range 60 {
			now := time.Duration(tick) * health.PushEvery
			p.Sent = now + 1
			for i := range p.Ranks {
				m := float32(math.Sqrt(float64(p.Merge)))
				p.Ranks[i] = health.RankPush{
					Rank: int32(i), Newest: uint64(100 + tick*4), Interval: 0.2, Sigma: tc.sigma / m, Spread: tc.spread / m,
				}
			}
			a := f.Push(now, p)
			p.Width, p.Merge = a.Width, a.Merge
			if k := len(merge); k == 0 || merge[k-1] != a.Merge {
				merge = append(merge, a.Merge)
			}
		}
		if !slices.Equal(merge, []uint32{1, 8}) { // 0.15/sqrt(8) is below 0.06
			t.Errorf("%+v: %v are merged", tc, merge)
		}
	}
}

// The reference amount of work is what most ranks have. It stays while they are near it.
func TestReferenceAmount(t *testing.T) {
	f := health.NewFleet()
	p := &health.Push{Cohort: 1, Node: 1, Size: 8, Width: 3, Merge: 1, Ranks: make([]health.RankPush, 8)}
	sent := time.Duration(0)
	push := func(amount float32) float32 {
		for range 3 {
			sent++
			p.Sent = sent
			for i := range p.Ranks {
				p.Ranks[i] = health.RankPush{Rank: int32(i), Newest: 100, Interval: 0.2, Amount: amount}
			}
			p.Ranks[7].Amount = 1e30
			p.Reference = f.Push(time.Second, p).Reference
		}
		return p.Reference
	}
	if a := push(0); a != 0 && a != 1e30 {
		t.Errorf("of no amounts: %g", a)
	}
	for _, tc := range []struct{ amount, want float32 }{{100, 100}, {140, 100}, {70, 100}, {160, 160}, {20, 20}} {
		if a := push(tc.amount); a != tc.want {
			t.Errorf("of %g: %g, not %g", tc.amount, a, tc.want)
		}
	}
	f = health.NewFleet() // it takes over what agents have
	if a := push(25); a != 20 {
		t.Errorf("after a restart: %g", a)
	}
}

// Whatever a fleet answers, a rank pushes finite numbers.
func TestRandomAnswers(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	float := func() float32 { return math.Float32frombits(random.Uint32()) }
	r := health.NewRank(health.RankOptions{Cohort: job, Rank: 1})
	var out []health.Verdict
	var p health.RankPush
	now := time.Hour
	for i := range 50000 {
		now += time.Duration(random.IntN(300)) * time.Millisecond
		r.Step(health.Step{
			Seq: uint64(i), End: now, Own: time.Duration(random.Int64() >> random.UintN(63)), Wait: time.Second,
			Work: random.NormFloat64() / random.NormFloat64(), Clock: random.NormFloat64(),
			Measured: health.Measured(random.IntN(4)),
		})
		a := health.Reply{
			Width: 1, Merge: 1, Size: random.Uint32N(20), Live: random.Uint32N(20), Reference: float(),
			Degraded: random.IntN(2) == 0,
		}
		if random.IntN(1000) == 0 {
			a.Width, a.Merge = random.Uint32()>>random.UintN(32), random.Uint32()>>random.UintN(32)
		}
		r.Push(&p)
		for range random.IntN(5) {
			b := health.Summary{
				Position: p.Newest - random.Uint64N(3), N: random.Uint32N(99),
				Lo: float(), Mid: float(), Hi: float(), Sigma: float(),
			}
			if random.IntN(3) > 0 {
				b.Lo, b.Mid, b.Hi = -2, -1.9, -1.8
			}
			a.Buckets = append(a.Buckets, b)
		}
		out = r.Take(now, &a, out[:0])
		for _, v := range []float32{p.Sigma, p.Spread, p.Offset, p.G, p.Excess, p.Shift, p.Interval, p.Own, p.Wait} {
			if v != v || v > 1e12 || v < -1e12 {
				t.Fatalf("step %d: %+v", i, p)
			}
		}
		for _, v := range out {
			if v.G != v.G || v.H != v.H || v.Sigma != v.Sigma || v.Excess != v.Excess {
				t.Fatalf("step %d: %+v", i, v)
			}
		}
	}
	if r.State().String() == "unknown" || p.Interval == 0 {
		t.Errorf("%v, %+v", r.State(), p)
	}
}

func fill(f *health.Fleet, cohort uint64, nodes, tick int) {
	p := &health.Push{Cohort: cohort, Size: int32(nodes * 8), Width: 3, Merge: 1, Ranks: make([]health.RankPush, 8)}
	for n := range nodes {
		p.Node, p.Sent = uint64(n+1), time.Duration(tick+1)
		for i := range p.Ranks {
			p.Ranks[i] = health.RankPush{Rank: int32(n*8 + i), Newest: uint64(tick*4 + 100), Interval: 0.2, Sigma: 0.01}
		}
		f.Push(time.Duration(tick)*health.PushEvery, p)
	}
}

func TestMemoryOfANode(t *testing.T) {
	const cohorts, nodes = 16, 125
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	f := health.NewFleet()
	for c := range cohorts {
		fill(f, uint64(c+1), nodes, 0)
	}
	if a := f.Poll(0, health.Poll{Cohort: 1}); a == nil || !a.Quorum() {
		t.Fatalf("answer %+v", a)
	}
	if node := (heap() - before) / (cohorts * nodes); node > 1500 {
		t.Errorf("%d bytes a node of 8 ranks", node)
	}
	runtime.KeepAlive(f)
}

func TestManyCohortsOfOne(t *testing.T) {
	f := health.NewFleet()
	for i := range 70000 {
		fill(f, uint64(i+1), 1, 0)
	}
	cohorts, _ := f.Sizes()
	if cohorts != 1<<16 || f.Refused()[health.RefusedCohorts] != 70000-1<<16 {
		t.Errorf("%d cohorts, refused %v", cohorts, f.Refused())
	}
	if out := f.Sweep(2*time.Minute, nil); len(out) != 0 {
		t.Errorf("%d verdicts on what only ended", len(out))
	}
	if cohorts, ranks := f.Sizes(); cohorts != 0 || ranks != 0 {
		t.Errorf("%d cohorts and %d ranks are kept", cohorts, ranks)
	}
}

func TestPushAllocatesNothing(t *testing.T) {
	f := health.NewFleet()
	fill(f, 1, 8, 0)
	tick := 0
	p := &health.Push{Cohort: 1, Node: 1, Size: 64, Width: 3, Merge: 1, Ranks: make([]health.RankPush, 8)}
	if n := testing.AllocsPerRun(200, func() {
		tick++
		p.Sent = time.Duration(tick + 1)
		for i := range p.Ranks {
			p.Ranks[i] = health.RankPush{Rank: int32(i), Newest: 100, Interval: 0.2}
		}
		f.Push(time.Second, p)
	}); n != 0 {
		t.Errorf("%g allocations a push", n)
	}
}

func TestPushIsSmall(t *testing.T) {
	p := health.Push{Ranks: make([]health.RankPush, 8)}
	size := binary.Size(p.Ranks) + binary.Size(p.Echo) + 8*3 + 4*3 + 1
	if size > 1000 || size < 8*64 {
		t.Errorf("8 ranks are %d bytes", size)
	}
}

func TestSweepGoesByCohort(t *testing.T) {
	f := health.NewFleet()
	silent := func(cohort uint64, node int) bool { return cohort%2 == 0 && node == 4 }
	var got []health.Verdict
	for tick := range 10 {
		now := time.Duration(tick+1) * health.PushEvery
		for cohort := uint64(1); cohort <= 200; cohort++ {
			for node := range 8 {
				if tick < 5 || !silent(cohort, node) {
					f.Push(now, &health.Push{
						Cohort: cohort, Node: uint64(node + 1), Sent: now, Size: 8,
						Ranks: []health.RankPush{{Rank: int32(node), Newest: uint64(tick), Interval: 0.2}},
					})
				}
			}
		}
		got = f.Sweep(now, got)
	}
	byCohort := func(a, b health.Verdict) int { return cmp.Compare(a.Cohort, b.Cohort) }
	if len(got) != 100 || !slices.IsSortedFunc(got, byCohort) {
		t.Errorf("%d verdicts, or not by cohort: %v", len(got), got)
	}
}

func TestScore(t *testing.T) {
	c := newCrew(4)
	if s := c.ranks[0].Score(0.25, 2); s.Health != 1 || s.Memory != 0.25 || !math.IsNaN(s.CPU) {
		t.Errorf("at first: %+v", s)
	}
	c.run(time.Minute)
	c.slow = slowRank(1, 1.5)
	c.run(20 * time.Second)
	slow, peer := c.ranks[1].Score(0.5, 0.5), c.ranks[0].Score(0.5, 0.5)
	if slow.Health < 0.6 || slow.Health > 0.72 || slow.Throughput > 0.72 || slow.Compute < 0.98 {
		t.Errorf("the straggler: %+v", slow)
	}
	if peer.Health < 0.93 || peer.Throughput < 0.93 || peer.Compute > 0.8 {
		t.Errorf("its peer: %+v", peer)
	}
}

func TestNextPush(t *testing.T) {
	a, b := health.NextPush(12345, time.Hour, 0), health.NextPush(12345, time.Hour, 0.99)
	if d := b - a; d < 0 || d > health.PushSpread {
		t.Errorf("agents of a cohort push %v apart", d)
	}
	if n := health.NextPush(12345, a, 0); n != a+health.PushEvery {
		t.Errorf("the next after %v is %v", a, n)
	}
	if n := health.NextPush(1<<40, 0, 0); n <= 0 || n > health.PushEvery {
		t.Errorf("the first is %v", n)
	}
}

// The GPU's clock is low, and only the host's times are known.
func TestClockIsASignalOfItsOwn(t *testing.T) {
	c := newCrew(4)
	clock := 1.0
	step := func(d time.Duration) {
		for end := c.now + d; c.now < end; c.seq++ {
			c.now += 200 * time.Millisecond
			for i, r := range c.ranks {
				s := health.Step{
					Seq: c.seq, End: c.now, Own: time.Duration(100e6 * math.Exp(0.02*c.random.NormFloat64())),
					Wait: 100 * time.Millisecond, Clock: 1, Measured: health.MeasuredHost,
				}
				if i == 3 {
					s.Clock = clock
				}
				r.Step(s)
			}
			if c.now >= c.next {
				c.push()
				c.next += health.PushEvery
			}
		}
	}
	step(time.Minute)
	clock = 0.8
	step(20 * time.Second)
	if s := c.of(health.KindStraggler); len(s) != 1 || s[0].Rank != 3 || s[0].Measured != health.MeasuredHost {
		t.Errorf("%+v", c.verdicts)
	}
}
