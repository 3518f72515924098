package arrival_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ingero-io/ingero/echo/arrival"
)

const ms = 1e6

// job is a made job: eight ranks on two nodes, whose clocks differ by an hour.
type job struct {
	steps int
	ranks int
	// late is how much later than the others a rank is in a step, in nanoseconds.
	late func(rank, step int) float64
}

// spans returns an all-reduce at the end of each step of 90 ms. Ranks differ by at most a millisecond.
func (j job) spans() []arrival.Span {
	random := rand.New(rand.NewPCG(1, 2))
	var list []arrival.Span
	begin, before := 1_700_000_000e9, make([]int64, j.ranks)
	for step := range j.steps {
		enters, last := make([]float64, j.ranks), 0.0
		for r := range enters {
			enters[r] = begin + 90*ms + random.Float64()*ms
			if j.late != nil {
				enters[r] += j.late(r, step)
			}
			last = max(last, enters[r])
		}
		end := last + 4*ms
		for r := range enters {
			off := int64(r/4) * 3600e9
			s := arrival.Span{
				Process: arrival.Process{Rank: arrival.Rank{Cluster: "east", Node: fmt.Sprint("n", r/4), Rank: int32(r)}},
				Comm:    "c1", Seq: int64(step),
				Enter: int64(enters[r]) + off, Exit: int64(end) + off + int64(random.Float64()*0.05*ms), Before: before[r],
			}
			before[r] = s.Exit
			list = append(list, s)
		}
		begin = end
	}
	random.Shuffle(len(list), func(i, k int) { list[i], list[k] = list[k], list[i] })
	return list
}

func TestEvery14thStepOfRank5(t *testing.T) {
	got := arrival.Compare(job{steps: 700, ranks: 8, late: func(rank, step int) float64 {
		if rank == 5 && step%14 == 13 {
			return 290 * ms
		}
		return 0
	}}.spans(), arrival.Options{})
	if len(got.Ranks) != 8 || got.Nodes != 2 || got.Collectives != 700 || got.Alone != 0 || got.Thin != "" {
		t.Errorf("%+v", got)
	}
	if math.Abs(got.ClockNS-1800e9) > 1e9 { // half of them are an hour ahead: the median is in the middle
		t.Errorf("clocks differ by %v s", got.ClockNS/1e9)
	}
	if len(got.Late) != 1 {
		t.Fatalf("%+v", got.Late)
	}
	l := got.Late[0]
	near := func(what string, got, want, by float64) {
		t.Helper()
		if math.Abs(got-want) > by {
			t.Errorf("%s: %v; want %v", what, got, want)
		}
	}
	if l.Node != "n1" || l.Rank.Rank != 5 || !l.Blamed || l.Times != 50 || l.Collectives != 700 || l.Every != 14 || l.Waiting != 7 || l.Held != 0 {
		t.Errorf("%+v", l)
	}
	near("late", l.MedianNS, 290*ms, ms)
	near("own", l.OwnNS, 380.5*ms, ms)
	near("of the others", l.PeerNS, 90.5*ms, ms)
	near("lost", l.LostNS, 50*290*ms, 50*ms)
	near("waited", l.WaitedNS, 7*50*290*ms, 350*ms)
	near("share", l.LostShare, 14.5/(700*0.0955+14.5), 0.01)
}

func TestWhoIsLate(t *testing.T) {
	always := func(slow ...int) func(int, int) float64 {
		return func(rank, _ int) float64 {
			for i, s := range slow {
				if rank == s {
					return float64(30+10*i) * ms
				}
			}
			return 0
		}
	}
	for name, c := range map[string]struct {
		job    job
		blamed []int32
		thin   string
	}{
		"nobody":                 {job{steps: 200, ranks: 8}, nil, ""},
		"one, each time":         {job{steps: 200, ranks: 8, late: always(2)}, []int32{2}, ""},
		"of three":               {job{steps: 200, ranks: 3, late: always(1)}, []int32{1}, ""},
		"two, the later first":   {job{steps: 200, ranks: 8, late: always(2, 6)}, []int32{6}, ""},
		"of two":                 {job{steps: 200, ranks: 2, late: always(1)}, nil, "no collective was told of by 3 ranks"},
		"few steps":              {job{steps: 19, ranks: 8, late: always(2)}, nil, "fewer than 20 collectives can be compared"},
		"once":                   {job{steps: 200, ranks: 8, late: func(r, s int) float64 { return map[bool]float64{true: 5000 * ms}[r == 3 && s == 77] }}, nil, ""},
		"often, but cheap":       {job{steps: 400, ranks: 8, late: func(r, s int) float64 { return map[bool]float64{true: 8 * ms}[r == 3 && s%20 == 1] }}, nil, ""},
		"everybody now and then": {job{steps: 400, ranks: 8, late: func(r, s int) float64 { return map[bool]float64{true: 120 * ms}[s%80 == r*10] }}, []int32{0, 1, 2, 3, 4, 5, 6, 7}, ""},
		"half, every other step": {job{steps: 200, ranks: 8, late: func(r, s int) float64 { return map[bool]float64{true: 100 * ms}[r >= 4 && s%2 == 1] }}, []int32{4, 5, 6, 7}, ""},
		"of three, every other":  {job{steps: 200, ranks: 3, late: func(r, s int) float64 { return map[bool]float64{true: 290 * ms}[r == 1 && s%2 == 1] }}, []int32{1}, ""},
		"half, each time":        {job{steps: 200, ranks: 8, late: func(r, _ int) float64 { return map[bool]float64{true: 100 * ms}[r >= 4] }}, []int32{4, 5, 6, 7}, ""},
		"all at once":            {job{steps: 200, ranks: 8, late: func(_, s int) float64 { return float64(s % 7 * 100 * ms) }}, nil, ""},
	} {
		got := arrival.Compare(c.job.spans(), arrival.Options{})
		var blamed []int32
		for _, l := range got.Late {
			if l.Blamed != (l.Why == "") {
				t.Errorf("%s: %+v", name, l)
			}
			if l.Blamed && l.LostShare > 0 {
				blamed = append(blamed, l.Rank.Rank)
			}
		}
		if len(c.blamed) > 2 { // they cost the same
			slices.Sort(blamed)
		}
		if got.Thin != c.thin || !slices.Equal(blamed, c.blamed) {
			t.Errorf("%s: %v are blamed, thin: %q; want %v, %q", name, blamed, got.Thin, c.blamed, c.thin)
		}
	}
}

// Of those that are late together, each waits only as long as it is there before the last one.
func TestLateRanksDoNotWaitForEachOther(t *testing.T) {
	got := arrival.Compare(job{steps: 200, ranks: 8, late: func(r, _ int) float64 {
		return map[bool]float64{true: 100 * ms}[r >= 4]
	}}.spans(), arrival.Options{})
	waited, here := 0.0, 0.0
	for _, l := range got.Late {
		waited, here = waited+l.WaitedNS, here+l.WaitedBy["n1"]
		if l.Waiting != 4 {
			t.Errorf("%d ranks wait for %d", l.Waiting, l.Rank.Rank)
		}
	}
	if math.Abs(waited/(200*4*100*ms)-1) > 0.02 || here > 0.01*waited {
		t.Errorf("%v s are waited, %v s by those that are late", waited/1e9, here/1e9)
	}
}

// Eight processes of a node have the same rank, each in a communicator of its own: they are eight ranks.
func TestProcessesWithTheSameRank(t *testing.T) {
	var spans []arrival.Span
	for group := range 8 {
		one := job{steps: 200, ranks: 4, late: func(r, _ int) float64 {
			return map[bool]float64{true: 20 * ms}[r == 2 && group == 3]
		}}.spans()
		for i := range one {
			s := &one[i]
			s.Comm, s.Node, s.PID = fmt.Sprint("c", group), fmt.Sprint("n", s.Rank.Rank), int64(100+group)
		}
		spans = append(spans, one...)
	}
	jobs := arrival.Jobs(spans)
	if len(jobs) != 8 {
		t.Fatalf("%d jobs", len(jobs))
	}
	for group, spans := range jobs {
		got := arrival.Compare(spans, arrival.Options{})
		if len(got.Ranks) != 4 || len(got.Late) != map[bool]int{true: 1}[group == 3] {
			t.Fatalf("%+v", got)
		}
		if group == 3 {
			l := got.Late[0]
			if l.Node != "n2" || l.PID != 103 || !l.Blamed || math.Abs(l.LostShare-20./115) > 0.02 {
				t.Errorf("%+v", l)
			}
		}
	}
}

// The next job on the same nodes has other processes. What a rank of it costs is a share of its own time.
func TestTheNextJobIsAnother(t *testing.T) {
	first := job{steps: 200, ranks: 8}.spans()
	next := job{steps: 200, ranks: 8, late: func(r, _ int) float64 {
		return map[bool]float64{true: 20 * ms}[r == 6]
	}}.spans()
	for i := range first {
		first[i].PID = int64(100 + first[i].Rank.Rank)
	}
	for i := range next {
		s := &next[i]
		s.Comm, s.PID, s.Enter, s.Exit = "c2", int64(200+s.Rank.Rank), s.Enter+22*3600e9, s.Exit+22*3600e9
		if s.Before > 0 {
			s.Before += 22 * 3600e9
		}
	}
	jobs := arrival.Jobs(append(first, next...))
	if len(jobs) != 2 {
		t.Fatalf("%d jobs", len(jobs))
	}
	got := arrival.Compare(jobs[1], arrival.Options{})
	if len(got.Late) != 1 || !got.Late[0].Blamed || math.Abs(got.Late[0].LostShare-20./115) > 0.02 {
		t.Errorf("%+v", got.Late)
	}
}

// Rank 1 waits in another communicator for a rank that sends nothing, and so comes late here: not by its own time.
func TestWhoIsHeldUpIsNotBlamed(t *testing.T) {
	spans := job{steps: 100, ranks: 4, late: func(rank, _ int) float64 {
		return map[bool]float64{true: 50 * ms}[rank == 1]
	}}.spans()
	for i := range spans {
		if s := &spans[i]; s.Rank.Rank == 1 && s.Before > 0 {
			s.Before += 50 * ms
		}
	}
	got := arrival.Compare(spans, arrival.Options{})
	if len(got.Late) != 0 || got.Thin != "" {
		t.Errorf("%+v", got.Late)
	}
}

// A short, noisy job does not hide the straggler of another job of the same cluster.
func TestJobs(t *testing.T) {
	long := job{steps: 1000, ranks: 8, late: func(rank, step int) float64 {
		return map[bool]float64{true: 290 * ms}[rank == 5 && step%14 == 13]
	}}.spans()
	noisy := job{steps: 60, ranks: 24, late: func(rank, step int) float64 {
		return float64((rank*7919+step*104729)%97) * 5 * ms
	}}.spans()
	for i := range noisy {
		s := &noisy[i]
		s.Comm, s.Node = "c2", "other "+s.Node
		if s.Rank.Rank >= 12 { // ranks that share no communicator with the others, but for one
			s.Comm = "c3"
		}
	}
	for _, s := range slices.Clone(noisy) {
		if (s.Rank.Rank == 0 || s.Rank.Rank == 12) && s.Seq == 7 {
			s.Comm = "c4"
			noisy = append(noisy, s)
		}
	}
	jobs := arrival.Jobs(append(noisy, long...))
	if len(jobs) != 2 || len(jobs[0]) != len(noisy) || len(jobs[1]) != len(long) {
		t.Fatalf("%d jobs", len(jobs))
	}
	got := arrival.Compare(jobs[1], arrival.Options{})
	want := arrival.Compare(long, arrival.Options{})
	if len(got.Late) != 1 || !got.Late[0].Blamed || got.Late[0].LostShare != want.Late[0].LostShare ||
		math.Abs(want.Late[0].LostShare-290./14/(95+290./14)) > 0.01 || got.Late[0].WaitedBy["n0"] <= got.Late[0].WaitedBy["n1"] {
		t.Errorf("%+v", got.Late)
	}
}

// The share that a rank costs is of its own time, also if other ranks were there for longer.
func TestShareOfItsOwnTime(t *testing.T) {
	spans := job{steps: 2000, ranks: 8, late: func(rank, step int) float64 {
		return map[bool]float64{true: 20 * ms}[rank == 7 && step >= 1800]
	}}.spans()
	spans = slices.DeleteFunc(spans, func(s arrival.Span) bool { return s.Rank.Rank == 7 && s.Seq < 1800 })
	got := arrival.Compare(spans, arrival.Options{})
	if len(got.Late) != 1 || math.Abs(got.Late[0].LostShare-20./115) > 0.02 {
		t.Errorf("%+v", got.Late)
	}
}

// Ranks enter the next collective before they have left the last one; then they had not worked between.
func TestOverlappingCollectives(t *testing.T) {
	spans := job{steps: 200, ranks: 8, late: func(rank, step int) float64 {
		return map[bool]float64{true: 290 * ms}[rank == 5 && step%14 == 13]
	}}.spans()
	for i := range spans {
		if s := &spans[i]; s.Before > 0 && !(s.Rank.Rank == 5 && s.Seq%14 == 13) {
			s.Before = s.Enter + ms
		}
	}
	got := arrival.Compare(spans, arrival.Options{})
	if len(got.Late) != 1 || got.Late[0].Rank.Rank != 5 || !got.Late[0].Blamed || got.Unjudged != 0 {
		t.Errorf("%+v", got)
	}
	for i := range spans { // also while another one of its own goes on, it may have worked too long
		if s := &spans[i]; s.Rank.Rank == 5 && s.Seq%14 == 13 {
			s.Before = s.Enter + ms
		}
	}
	if got = arrival.Compare(spans, arrival.Options{}); len(got.Late) != 0 || got.Unjudged != 14 {
		t.Errorf("%+v", got)
	}
	for i := range spans {
		spans[i].Before = 0
	}
	if got = arrival.Compare(spans, arrival.Options{}); len(got.Late) != 0 || got.Unjudged < 14 {
		t.Errorf("what ranks did before is not known: %+v", got)
	}
}

// From a share of the collectives, the estimated loss is the same as from all.
func TestShare(t *testing.T) {
	spans := job{steps: 1000, ranks: 4, late: func(rank, _ int) float64 {
		return map[bool]float64{true: 50 * ms}[rank == 1]
	}}.spans()
	var part []arrival.Span
	for _, s := range spans {
		if s.Seq%4 == 1 {
			part = append(part, s)
		}
	}
	all, some := arrival.Compare(spans, arrival.Options{}), arrival.Compare(part, arrival.Options{Share: 0.25})
	if len(all.Late) != 1 || len(some.Late) != 1 || math.Abs(all.Late[0].LostNS/some.Late[0].LostNS-1) > 0.02 ||
		math.Abs(all.Late[0].WaitedNS/some.Late[0].WaitedNS-1) > 0.02 || some.Late[0].Every != 0 {
		t.Errorf("%+v, %+v", all.Late, some.Late)
	}
}

func TestOddSpans(t *testing.T) {
	if got := arrival.Compare(nil, arrival.Options{}); got.Thin == "" || len(got.Ranks) != 0 {
		t.Errorf("%+v", got)
	}
	spans := job{steps: 50, ranks: 4}.spans()
	twice := append(append([]arrival.Span{}, spans...), spans...)
	a, b := arrival.Compare(spans, arrival.Options{}), arrival.Compare(twice, arrival.Options{})
	if a.Collectives != b.Collectives || a.ThresholdNS != b.ThresholdNS {
		t.Errorf("what is told of twice counts twice: %+v, %+v", a, b)
	}
	for i := range spans {
		spans[i].Exit = spans[i].Enter - 5 // ends before it begins
	}
	if got := arrival.Compare(spans, arrival.Options{Share: 7}); len(got.Late) != 0 || math.IsNaN(got.ThresholdNS) {
		t.Errorf("%+v", got)
	}
}

// Samples count as often as they stand for: for a rank that is always late, and for one that is late now and then,
// whose late collectives are all sent.
func TestSamplesStandForOthers(t *testing.T) {
	const every, steps = 16, 1600
	for name, c := range map[string]struct {
		late        func(rank, step int) float64
		times       int
		every, lost float64
	}{
		"always": {func(rank, _ int) float64 {
			if rank == 5 {
				return 20 * ms
			}
			return 0
		}, steps, 0, 20. / (90 + 20 + 4.5)},
		"now and then": {func(rank, step int) float64 {
			if rank == 5 && step%14 == 13 {
				return 290 * ms
			}
			return 0
		}, steps / 14, 14, 290. / (14*94.5 + 290)},
	} {
		t.Run(name, func(t *testing.T) {
			var sent []arrival.Span
			for _, s := range (job{steps: steps, ranks: 8, late: c.late}).spans() {
				switch {
				case c.every > 0 && s.Seq%14 == 13:
					s.OneOf = 1
				case s.Seq%every == 0:
					s.OneOf = every
				default:
					continue
				}
				sent = append(sent, s)
			}
			got := arrival.Compare(sent, arrival.Options{})
			if len(got.Late) != 1 {
				t.Fatalf("%+v", got)
			}
			l := got.Late[0]
			if l.Rank.Rank != 5 || !l.Blamed || l.Times < c.times*98/100 || l.Times > c.times*102/100 ||
				l.Every != int64(c.every) || l.Collectives < steps*98/100 ||
				l.Collectives > steps*110/100 || math.Abs(l.LostShare-c.lost) > 0.1*c.lost {
				t.Errorf("%+v; want %d times, %v of the time", l, c.times, c.lost)
			}
		})
	}
}

// A collective that a rank sent twice, as a sample and because it was notable, counts once, whichever comes first.
func TestWhatIsSentTwiceCountsOnce(t *testing.T) {
	spans := job{steps: 200, ranks: 8, late: func(rank, step int) float64 {
		if rank == 5 && step%20 == 7 {
			return 50 * ms
		}
		return 0
	}}.spans()
	for i := range spans {
		spans[i].OneOf = 16
	}
	for _, s := range slices.Clone(spans) {
		if s.Rank.Rank != 5 && s.Seq%20 == 7 { // it waited; what it did before is not known
			s.OneOf, s.Before = 1, 0
			spans = append(spans, s)
		}
	}
	for range 3 {
		rand.Shuffle(len(spans), func(i, k int) { spans[i], spans[k] = spans[k], spans[i] })
		got := arrival.Compare(spans, arrival.Options{})
		if len(got.Late) != 1 || got.Late[0].Times != 10 || got.Late[0].OwnNS < 140*ms {
			t.Fatalf("%+v", got.Late)
		}
	}
}
