package ownwork_test

import (
	"testing"

	"github.com/ingero-io/ingero/account/collective"
	"github.com/ingero-io/ingero/cluster/ownwork"
	"github.com/ingero-io/ingero/event"
)

// BenchmarkSecond is a second of a node of 8 ranks, each with 20 steps of 250 launches and 4 collectives:
// its records, and what is asked once a second. The matching of collectives is not part of it.
func BenchmarkSecond(b *testing.B) {
	j := newJob(8)
	j.join("world", all)
	j.rounds(60, j.ddp)
	j.calls = nil
	for range 20 {
		j.ddp()
	}
	calls := j.calls
	j.matcher.Calls(calls)
	collectives := j.matcher.Take(0, nil)
	var steps []ownwork.Step
	const second = 1_000_000_000
	b.ReportAllocs()
	for b.Loop() {
		for k := 0; k < len(calls); k += 4096 {
			j.tracker.Calls(calls[k:min(k+4096, len(calls))])
		}
		j.tracker.Collectives(collectives)
		at := collectives[len(collectives)-1].SyncEnd
		j.tracker.Losses(at, nil)
		steps = j.tracker.Take(at, steps[:0])
		b.StopTimer()
		if len(steps) < 8*19 {
			b.Fatalf("%d steps", len(steps))
		}
		for i := range calls {
			later(&calls[i], second)
		}
		for i := range collectives {
			c := &collectives[i]
			c.At, c.Start, c.SyncStart, c.SyncEnd = c.At+second, c.Start+second, c.SyncStart+second, c.SyncEnd+second
		}
		b.StartTimer()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(calls)), "ns/record")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/second*100, "%core")
}

// later moves a call; a collective gets the number that it has in the next round.
func later(c *event.Call, by uint64) {
	c.Start += by
	if c.Op == opReduce {
		seq := collective.Decode(c).Seq + 80
		c.Args[2] = c.Args[2]>>32<<32 | uint64(seq)
	}
}
