package ownwork_test

import (
	"slices"
	"testing"
	"time"

	"github.com/ingero-io/ingero/account/collective"
	"github.com/ingero-io/ingero/event"
)

// BenchmarkSecond measures a second of a node of 8 ranks: its records, and the questions asked once a second. Each
// rank has 20 steps of 250 launches and 4 collectives, or 2,000 collectives, or a full launch queue. Matching of
// collectives is not included.
func BenchmarkSecond(b *testing.B) {
	for _, c := range []struct {
		name         string
		rounds, each int
		step         func(*job)
	}{
		{"data parallel", 20, 4, (*job).ddp},
		{"tensor parallel", 20, 100, func(j *job) {
			for range 100 {
				j.launch(5, 50*time.Microsecond)
				j.collect(opReduce, "world", all, 1<<16)
			}
			j.wait()
		}},
		{"full queue", 10, 1, func(j *job) {
			j.launch(1000, 100*time.Microsecond)
			j.collect(opReduce, "world", all, 1<<20)
		}},
	} {
		b.Run(c.name, func(b *testing.B) { second(b, c.rounds, c.each, c.step) })
	}
}

// second measures rounds of a step with each collectives.
func second(b *testing.B, rounds, each int, step func(*job)) {
	j := newJob(8)
	j.join("world", all)
	j.rounds(400, func() { step(j) })
	from := j.ranks[0].host
	j.calls = nil
	for range rounds {
		step(j)
	}
	took := j.ranks[0].host - from
	calls := j.calls
	slices.SortStableFunc(calls, func(a, b event.Call) int { return int(int64(a.End()) - int64(b.End())) })
	j.matcher.Calls(calls)
	collectives := j.matcher.Take(0, nil)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		for k := 0; k < len(calls); k += 4096 {
			j.tracker.Calls(calls[k:min(k+4096, len(calls))])
		}
		j.tracker.Collectives(collectives)
		at := calls[len(calls)-1].End()
		j.tracker.Losses(at, nil)
		j.steps = j.tracker.Take(at, j.steps[:0])
		b.StopTimer()
		n += len(j.steps)
		for i := range calls {
			later(&calls[i], took, uint32(rounds*each))
		}
		for i := range collectives {
			c := &collectives[i]
			c.At, c.Start = c.At+took, c.Start+took
			if c.SyncOp != 0 {
				c.SyncStart, c.SyncEnd = c.SyncStart+took, c.SyncEnd+took
			}
		}
		b.StartTimer()
	}
	if want := 8 * rounds * (b.N - 1); n < want {
		b.Fatalf("%d steps; want %d", n, want)
	}
	perSecond := float64(b.Elapsed().Nanoseconds()) / float64(b.N) / float64(took)
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(calls)), "ns/record")
	b.ReportMetric(perSecond*100, "%core")
	b.ReportMetric(float64(len(calls))/float64(took)*1e9, "records/s")
}

// later moves a call in time; a collective gets its number in the next round.
func later(c *event.Call, by uint64, collectives uint32) {
	c.Start += by
	if c.Op == opReduce {
		seq := collective.Decode(c).Seq + collectives
		c.Args[2] = c.Args[2]>>32<<32 | uint64(seq)
	}
}
