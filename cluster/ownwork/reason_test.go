package ownwork_test

import (
	"testing"
	"time"

	"github.com/ingero-io/ingero/cluster/ownwork"
	"github.com/ingero-io/ingero/event"
)

func TestWhyNothingIsMeasured(t *testing.T) {
	for name, c := range map[string]struct {
		want ownwork.Reason
		run  func(*job)
	}{
		"no collective, as with gloo": {ownwork.NoCollective, func(j *job) {
			j.rounds(100, func() { j.work(20 * ms); j.launch(10, ms); j.wait() })
		}},
		"one rank": {ownwork.Alone, func(j *job) {
			j.join("world", func(i int) int { return i })
			j.rounds(100, j.alone)
		}},
		"communicator of before": {ownwork.OldCommunicator, func(j *job) {
			j.join("world", all)
			j.calls = nil
			j.rounds(100, j.ddp)
		}},
		"too early": {ownwork.Learning, func(j *job) {
			j.join("world", all)
			j.rounds(3, func() { j.ddp(); j.work(300 * ms) })
		}},
		"only sends": {ownwork.OnlyPairs, func(j *job) {
			j.join("world", all)
			j.rounds(100, func() {
				for _, r := range j.ranks {
					j.call(r, opOf("ncclSend"), 20_000, handle["world"], 1<<20, 1, 6)
				}
				j.work(20 * ms)
				j.wait()
			})
		}},
		"no more": {ownwork.Silent, func(j *job) {
			j.join("world", all)
			j.rounds(100, j.ddp)
			j.rounds(32, func() { j.work(time.Second); j.launch(10, ms); j.wait() })
		}},
		"in graphs": {ownwork.InGraphs, func(j *job) {
			j.join("world", all)
			j.rounds(100, j.ddp)
			j.rounds(320, func() {
				j.work(100 * ms)
				for _, r := range j.ranks {
					j.call(r, opGraph, 50_000)
				}
				j.wait()
			})
		}},
		"never waits": {ownwork.NeverWaits, func(j *job) {
			j.join("world", all)
			j.rounds(1000, func() { j.work(40 * ms); j.launch(5, ms); j.collect(opReduce, "world", all, 8) })
		}},
		"several ranks": {ownwork.SeveralRanks, func(j *job) {
			j.join("world", all)
			j.comms[j.ranks[0].comm("tp")] = &comm{}
			id := j.comms[j.ranks[0].comm("world")].id
			for _, r := range j.ranks { // a thread each for another GPU
				j.comms[r.comm("tp")] = &comm{id: id, size: 6}
				j.call(r, opInit, 1e6, handle["tp"], 6, uint64(r.pid-100+3), id)
			}
			j.rounds(100, func() { j.collect(opReduce, "tp", all, 9); j.ddp() })
		}},
		"dropped": {ownwork.Dropped, func(j *job) {
			for s := range uint64(100) {
				j.losses[s] = event.Loss{Kind: event.LostCall, Count: 1}
			}
			j.join("world", all)
			j.rounds(100, j.ddp)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			j := newJob(3)
			c.run(j)
			j.reason(t, c.want)
			steps := c.want == ownwork.NeverWaits
			if r := j.reports[100]; (r.Source != ownwork.Source{}) != steps && c.want != ownwork.Dropped {
				t.Errorf("steps by %+v", r.Source)
			}
			if c.want == ownwork.Dropped && len(j.steps) > 0 {
				t.Errorf("%d steps in spite of it", len(j.steps))
			}
		})
	}
	for r := range ownwork.Reasons {
		if r.String() == "" || r.String() == ownwork.Reasons.String() {
			t.Errorf("reason %d has no text", r)
		}
	}
}

func (j *job) alone() {
	j.work(20 * ms)
	j.launch(10, ms)
	j.collect(opReduce, "world", func(i int) int { return i }, 8)
	j.wait()
}

// A process is forgotten when it ends or executes another program, a thread when it ends.
func TestEnds(t *testing.T) {
	j := newJob(3)
	j.join("world", all)
	j.rounds(100, j.ddp)
	j.tracker.Ended([]event.Life{{Kind: event.LifeExit, Thread: event.Thread{PID: 100, TID: 100}}})
	j.tracker.Lives([]event.Life{{Kind: event.LifeExec, Thread: event.Thread{PID: 101, TID: 101}}})
	j.tracker.Ended([]event.Life{{Kind: event.LifeExit, Thread: event.Thread{PID: 102, TID: 7}}})
	for pid, want := range map[uint32]ownwork.Reason{
		100: ownwork.NoCollective, 101: ownwork.NoCollective, 102: ownwork.Measured,
	} {
		if got := j.tracker.Report(pid, j.ranks[0].host).Reason; got != want {
			t.Errorf("process %d: %v; want %v", pid, got, want)
		}
	}
}

// A thread that only watches collectives waits beside the one that works. Its waits are not the rank's. Those of a
// thread of the backward pass, which enters collectives, are.
func TestThreadsBeside(t *testing.T) {
	for name, c := range map[string]struct {
		tid, launches uint32
		waits         bool
	}{"watching": {9000, 0, false}, "backward pass": {8000, 1, true}} {
		t.Run(name, func(t *testing.T) {
			j := newJob(3)
			j.join("world", all)
			j.rounds(100, func() {
				j.work(20 * ms)
				j.collect(opReduce, "world", all, 8)
				for _, r := range j.ranks {
					r.tid = c.tid
					before := r.host
					for range c.launches {
						j.call(r, opLaunch, 5000)
					}
					j.call(r, opSync, 5e6, 5)
					if !c.waits { // the other thread goes on meanwhile
						r.host = before
					}
					r.tid = r.pid
				}
				j.work(8 * ms)
				j.wait()
			})
			own, wait, n := j.mean(0, 0)
			if n < 50 || c.waits != (wait > 4*ms) || own < 26*ms || own > 30*ms {
				t.Errorf("own work %v, wait %v in %d steps", own, wait, n)
			}
		})
	}
}

// A long launch is own work if the queue cannot be full.
func TestSlowLaunch(t *testing.T) {
	j := newJob(3)
	j.join("world", all)
	j.rounds(400, func() {
		j.collect(opReduce, "world", all, 8)
		for _, r := range j.ranks {
			j.call(r, opLaunch, 7e6)
		}
		j.wait()
	})
	if own, wait, n := j.mean(0, 0); n < 50 || own < 7*ms || wait > ms {
		t.Errorf("own work %v, wait %v in %d steps", own, wait, n)
	}
}

// A copy to pageable memory itself waits, and the synchronisation after it finds everything done.
func TestCopyToTheHostBeforeTheSynchronisation(t *testing.T) {
	j := newJob(3)
	j.join("world", all)
	const toDevice, toHost = 1, 2
	j.rounds(100, func() {
		for _, r := range j.ranks { // the next batch
			j.call(r, opCopy, 3e6, 1<<20, toDevice)
		}
		j.work(20 * ms)
		j.launch(10, ms)
		j.collect(opReduce, "world", all, 8)
		for _, r := range j.ranks {
			j.call(r, opCopy, 10_000+r.gpu-min(r.gpu, r.host), 4, toHost)
		}
		j.wait()
	})
	own, wait, n := j.mean(0, 0)
	if n < 50 || own < 22*ms || own > 24*ms || wait < 8*ms {
		t.Errorf("own work %v, wait %v in %d steps", own, wait, n)
	}
}
