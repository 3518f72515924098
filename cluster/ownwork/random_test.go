package ownwork_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/ingero-io/ingero/account/collective"
	"github.com/ingero-io/ingero/cluster/ownwork"
	"github.com/ingero-io/ingero/event"
)

// Whatever is recorded, the steps of a process are in order and their parts add up.
func TestAnyRecords(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	often := []event.Op{opLaunch, opCopy, opSync, opReduce, opReduce, opGraph, opOf("ncclGroupEnd"), event.OpSend}
	seldom := []event.Op{opInit, opGather, opDestroy, opOf("ncclGroupStart"), opOf("ncclCommSplit")}
	measured := 0
	for range 60 {
		tracker, matcher := ownwork.NewTracker(), collective.NewTracker()
		at, seq := uint64(began), map[uint64]uint64{}
		last := map[uint32]ownwork.Step{}
		wild := random.IntN(3) == 0
		for range 30 {
			var calls []event.Call
			for range random.IntN(600) {
				c := event.Call{
					Start: at, Duration: random.Uint64N(3e6), Op: often[random.IntN(len(often))], Depth: uint8(random.IntN(8) / 7),
					Thread: event.Thread{PID: 1 + random.Uint32N(2), TID: random.Uint32N(4)}, Weight: random.Uint32N(3),
				}
				if random.IntN(100) == 0 || len(last) == 0 && random.IntN(10) == 0 {
					c.Op = seldom[random.IntN(len(seldom))]
				}
				h := random.Uint64N(2)
				c.Args = [4]uint64{h, 8, 0, random.Uint64N(3)}
				switch {
				case wild:
					c.Args[random.IntN(4)] = random.Uint64() >> random.IntN(64)
				case c.Op == event.OpSend:
					c.Args[2] = 1
				case c.Op.Role() == event.RoleCollective:
					k := uint64(c.PID)<<8 | h
					seq[k]++
					c.Args[2] = seq[k]
					if random.IntN(500) == 0 {
						seq[k] += random.Uint64N(6000)
					}
				case c.Op == opInit:
					c.Args = [4]uint64{h, 3, random.Uint64N(3), h + 1}
				}
				at += random.Uint64N(3e6)
				calls = append(calls, c)
			}
			at += 10e6
			matcher.Calls(calls)
			tracker.Calls(calls)
			tracker.Collectives(matcher.Take(at, nil))
			tracker.Losses(at, nil)
			for _, s := range tracker.Take(at, nil) {
				measured++
				before, same := last[s.PID], last[s.PID].Source == s.Source
				if s.Own <= 0 || s.Wait < 0 || s.Own+s.Wait > time.Minute || same && s.Seq > before.Seq && s.End < before.End ||
					uint64(s.End) > at || s.Key() == 0 {
					t.Fatalf("%+v after %+v", s, before)
				}
				last[s.PID] = s
			}
			tracker.Report(1, at)
		}
	}
	if measured < 1000 {
		t.Errorf("only %d steps were measured", measured)
	}
}

// Operation numbers that overflow, after years, are not counted up to the end.
func TestNumbersThatEnd(t *testing.T) {
	j := newJob(3)
	j.join("world", all)
	for _, r := range j.ranks {
		j.comms[r.comm("world")].seq = 1<<32 - 200
	}
	j.rounds(200, j.ddp)
	for _, s := range j.steps {
		if s.Seq > 200 {
			t.Fatalf("step %d", s.Seq)
		}
	}
	if r := j.reports[100]; r.Reason != ownwork.Measured || r.Steps < 100 {
		t.Errorf("%+v", r)
	}
}
