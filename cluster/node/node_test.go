package node_test

import (
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/ingero-io/ingero/cluster/health"
	"github.com/ingero-io/ingero/cluster/node"
	"github.com/ingero-io/ingero/cluster/ownwork"
	"github.com/ingero-io/ingero/event"
)

// only fails unless exactly one thing was reported, by the rank's node.
func (j *job) only(rank int, kind health.Kind) node.Said {
	j.t.Helper()
	all := j.said()
	if len(all) != 1 || all[0].Kind != kind || all[0].Rank != int32(rank) || all[0].PID != pid(rank) ||
		all[0].Ranks != int32(len(j.members)) || all[0].Resolved {
		j.t.Fatalf("said: %+v", all)
	}
	if len(j.members[rank].said) != 1 {
		j.t.Fatalf("it was said by another node: %+v", all)
	}
	return all[0]
}

// If the fleet cannot be polled, a suspect pushes more often.
func TestASuspectPushesIfItCannotPoll(t *testing.T) {
	pushes := map[bool]int{}
	for _, noPolls := range []bool{false, true} {
		j := newJobOf(t, 4, noPolls)
		j.run(90 * time.Second)
		j.members[2].slow = 1.25
		j.run(20 * time.Second)
		j.only(2, health.KindStraggler)
		if pushes[noPolls] = j.pushes; noPolls != (j.polls == 0) {
			t.Errorf("%d polls", j.polls)
		}
	}
	if pushes[true] <= pushes[false] {
		t.Errorf("%d pushes instead of polls, %d with them", pushes[true], pushes[false])
	}
}

var uuid = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

func TestASlowRankIsReportedUntilItRecovers(t *testing.T) {
	j := newJob(t, 4)
	j.run(90 * time.Second)
	if all := j.said(); len(all) > 0 {
		t.Fatalf("of an even job: %+v", all)
	}
	j.polls = 0
	began := time.Duration(j.now)
	j.members[2].slow = 1.25
	j.run(20 * time.Second)
	s := j.only(2, health.KindStraggler)
	if j.polls == 0 || j.polls > 40 {
		t.Errorf("%d polls while the rank was a suspect", j.polls)
	}
	if d := s.Since - began; d < -2*time.Second || d > 3*time.Second {
		t.Errorf("it began %s after it did", d)
	}
	if s.Excess < 0.15 || s.Excess > 0.35 || !uuid.MatchString(s.ID) {
		t.Errorf("%+v", s)
	}
	status := j.members[2].node.Status([]uint32{9, pid(2)})
	if len(status) != 2 || status[0].PID != 9 || status[0].Rank != health.NoRank ||
		status[0].Reason != ownwork.NoCollective || status[1].Rank != 2 || status[1].Ranks != 4 ||
		status[1].State != health.Straggler || status[1].Slow == nil || status[1].Slow.ID != s.ID ||
		status[1].Own < 1.1*status[1].Peer || status[1].Peer < 0.1 || status[1].Cohort != s.Cohort {
		t.Errorf("status: %+v", status)
	}
	j.members[2].slow = 1
	j.run(60 * time.Second)
	all := j.said()
	if len(all) != 2 || !all[1].Resolved || all[1].ID != s.ID || all[1].Kind != s.Kind {
		t.Errorf("afterwards: %+v", all)
	}
	if status := j.members[2].node.Status(nil); len(status) != 1 || status[0].Slow != nil {
		t.Errorf("status afterwards: %+v", status)
	}
}

// Nobody waits for a slower host while its GPU has work queued. If the GPU's clock has fallen too, others do wait.
func TestARankForWhichNobodyWaitsIsNotReported(t *testing.T) {
	j := newJob(t, 4)
	j.gpu = 180 * time.Millisecond
	j.run(120 * time.Second)
	j.members[1].slow = 1.4
	j.run(30 * time.Second)
	if all := j.said(); len(all) > 0 {
		t.Fatalf("of a rank with time to spare: %+v", all)
	}
	if s := j.members[1].node.Status(nil); len(s) != 1 || s[0].State != health.Straggler || !s[0].Spare ||
		s[0].Slow != nil {
		t.Fatalf("this tests nothing: %+v", s)
	}
	j.run(2 * time.Minute) // longer than clocks are kept for
	if all := j.said(); len(all) > 0 {
		t.Fatalf("of a rank with time to spare: %+v", all)
	}
	j.members[1].clock = 1500
	j.run(5 * time.Second)
	if s := j.only(1, health.KindStraggler); s.Excess < 0.2 || s.Cause == nil || s.Cause.Clock < 0.03 ||
		s.Cause.Clock > 0.3 {
		t.Errorf("%+v", s)
	}
}

// What was learned of one communicator does not apply to the next.
func TestANewCommunicatorBeginsAnew(t *testing.T) {
	j := newJob(t, 4)
	j.run(60 * time.Second)
	j.members[3].slow = 1.3
	j.run(20 * time.Second)
	s := j.only(3, health.KindStraggler)
	j.join()
	j.run(60 * time.Second)
	all := j.said()
	if len(all) < 2 || !all[1].Resolved || all[1].ID != s.ID {
		t.Fatalf("said: %+v", all)
	}
	if status := j.members[3].node.Status(nil); len(status) != 1 || status[0].Cohort == s.Cohort || status[0].Cohort == 0 {
		t.Errorf("status: %+v", status)
	}
}

func TestAProcessThatEndsWhileOthersRunIsGone(t *testing.T) {
	j := newJob(t, 4)
	j.run(60 * time.Second)
	m := j.members[0]
	m.batch.Ended = append(m.batch.Ended, pid(0))
	m.batch.Lives = append(m.batch.Lives, event.Life{
		At: j.now, Kind: event.LifeExit, Thread: event.Thread{PID: pid(0), TID: pid(0)},
	})
	m.ended = true
	j.run(20 * time.Second)
	j.only(0, health.KindGone)
	if s := m.node.Status(nil); len(s) != 1 || !s[0].Exited {
		t.Errorf("status: %+v", s)
	}
	j.run(60 * time.Second)
	if s := m.node.Status(nil); len(s) != 0 || m.node.Next() != 0 {
		t.Errorf("a minute later: %+v", s)
	}
}

// The fleet reports a rank that does not enter the collective in which its peers wait.
func TestARankThatHangsIsReported(t *testing.T) {
	j := newJob(t, 4)
	j.run(60 * time.Second)
	j.seq++
	stuck := j.now + 50e6
	for i := range j.members {
		if i != 2 {
			j.call(i, j.reduce, j.now+40e6, 20_000, j.comm, 1<<20, uint64(j.seq)|7<<32, 5)
		}
	}
	wait := func(second uint64) {
		j.now += 1e9
		j.second += 1e9
		for i, m := range j.members {
			if i != 2 && second > 0 {
				m.batch.InFlight = append(m.batch.InFlight, event.InFlight{
					Start: stuck, At: j.second - 1e8, Thread: event.Thread{PID: pid(i), TID: pid(i)}, Op: j.wait,
				})
			}
		}
		j.feed()
	}
	for second := range uint64(20) {
		wait(second)
	}
	if len(j.swept) != 1 || j.swept[0].Kind != health.KindHang || j.swept[0].Rank != 2 || j.swept[0].Resolved {
		t.Fatalf("the fleet says: %+v", j.swept)
	}
	if d := j.swept[0].Since - time.Duration(stuck); d < -3*time.Second || d > 3*time.Second {
		t.Errorf("since %s after the others began to wait", d)
	}
	j.call(2, j.reduce, j.now, 20_000, j.comm, 1<<20, uint64(j.seq)|7<<32, 5)
	for i := range j.members {
		j.call(i, j.wait, stuck, j.now+1e6-stuck, 5)
	}
	j.now += 2e6
	j.run(20 * time.Second)
	j.swept = slices.DeleteFunc(j.swept, func(v health.Verdict) bool { return v.Kind != health.KindHang })
	if len(j.swept) != 2 || !j.swept[1].Resolved || j.swept[1].Rank != 2 {
		t.Errorf("afterwards the fleet says: %+v", j.swept)
	}
}

// Without a fleet a rank is compared with its own past, once it has one.
func TestAFleetThatDoesNotAnswer(t *testing.T) {
	j := newJob(t, 4)
	j.run(90 * time.Second)
	j.down = true
	j.run(60 * time.Second)
	j.members[1].slow = 1.3
	j.run(30 * time.Second)
	s := j.only(1, health.KindSlowVsSelf)
	if s.Mode != health.ModeLocalCached {
		t.Errorf("%+v", s)
	}
	j.down = false
	j.run(30 * time.Second)
	all := j.members[1].said
	if len(all) < 3 || !all[1].Resolved || all[1].ID != s.ID || all[2].Kind != health.KindStraggler || all[2].Resolved {
		t.Errorf("said: %+v", all)
	}
}

func TestWhyARankIsSlow(t *testing.T) {
	for name, tc := range map[string]struct {
		first bool // it is slow from the beginning
		waits bool
		reads bool
		wait  event.Class
		want  event.Class
	}{
		"the disk":                     {waits: true, wait: event.BlockIO, want: event.BlockIO},
		"the disk, from the beginning": {first: true, waits: true, wait: event.BlockIO, want: event.BlockIO},
		"another program has its CPU":  {waits: true, wait: event.RunQueue, want: event.RunQueue},
		"its own code":                 {want: event.OnCPU},
		"its own GPU":                  {reads: true, want: node.GPU},
	} {
		t.Run(name, func(t *testing.T) {
			j := newJob(t, 4)
			m := j.members[1]
			m.waits, m.wait = tc.waits, tc.wait
			for _, m := range j.members {
				m.reads = tc.reads
			}
			if !tc.first {
				j.run(60 * time.Second)
			}
			m.slow = 1.3
			j.run(30 * time.Second)
			s := j.only(1, health.KindStraggler)
			c := s.Cause
			if c == nil || c.Class != tc.want || c.Explained < 0.7 || c.PerStep < 0.03 || c.PerStep > 0.06 ||
				c.Second != c.Class || c.Clock != 0 {
				t.Errorf("cause: %+v", c)
			}
		})
	}
	t.Run("its own code, from the beginning", func(t *testing.T) {
		j := newJob(t, 4)
		j.members[1].slow = 1.3
		j.run(40 * time.Second)
		if s := j.only(1, health.KindStraggler); s.Cause != nil {
			t.Errorf("cause: %+v", s.Cause)
		}
	})
}

// A node whose clock is set back pushes on, at the times of that clock.
func TestANodePushesOnWhenItsClockIsSetBack(t *testing.T) {
	j := newJob(t, 4)
	j.run(30 * time.Second)
	n := j.members[0].node
	for _, back := range []time.Duration{time.Hour, 30 * time.Second} {
		at := time.Duration(j.now) - back
		pushed := 0
		for end := at + 20*time.Second; at < end; at += 100 * time.Millisecond {
			pushes, _ := n.Due(at)
			pushed += len(pushes)
		}
		if pushed < 9 || pushed > 11 {
			t.Errorf("set back by %s: %d pushes in 20 s; 10", back, pushed)
		}
	}
}
