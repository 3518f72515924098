package node_test

import (
	"testing"
	"time"

	"github.com/ingero-io/ingero/cluster/ownwork"
	"github.com/ingero-io/ingero/event"
)

// A rank has a row a second, and its steps follow each other without gaps.
func TestARankHasARowASecond(t *testing.T) {
	j := newJob(t, 3)
	j.members[1].waits, j.members[1].wait, j.members[1].slow = true, event.BlockIO, 1.1
	j.run(30 * time.Second)
	m := j.members[1]
	var at, seq, waited uint64
	for i := range m.rows {
		r := &m.rows[i]
		if r.Rank < 0 { // nothing is known yet
			continue
		}
		if at != 0 && r.At != at+1e9 || r.PID != pid(1) || r.Rank != 1 || r.Ranks != 3 || r.Key == 0 || r.Entered == 0 || r.Why != "" {
			t.Fatalf("after %d: %+v", at, r)
		}
		at = r.At
		for _, s := range r.Steps {
			if seq != 0 && s.Seq != seq+1 || s.End > r.At || s.OwnNS == 0 || s.WaitNS == 0 || s.Work < 10 || s.Clock != 1 {
				t.Fatalf("after step %d: %+v", seq, s)
			}
			seq = s.Seq
		}
		waited += r.Waits[event.BlockIO]
	}
	if at != j.second || seq < 100 || waited < 1e9 {
		t.Errorf("the last row is of %d, of %d; step %d; it waited %d ns", at, j.second, seq, waited)
	}
}

// A process that is not compared with peers gets a row when its reason changes.
func TestWhyAProcessIsNoRankIsMeasuredOnce(t *testing.T) {
	j := newJob(t, 1)
	j.run(60 * time.Second)
	m := j.members[0]
	if n := len(m.rows); n == 0 || n > 3 {
		t.Fatalf("%d rows: %+v", n, m.rows)
	}
	for i := range m.rows {
		if r := &m.rows[i]; r.Rank >= 0 || len(r.Steps) > 0 || r.Key != 0 {
			t.Errorf("%+v", r)
		}
	}
	if why := m.rows[len(m.rows)-1].Why; why != ownwork.Alone.String() {
		t.Errorf("at last it says: %s", why)
	}
	if s := m.node.Status([]uint32{pid(0)}); len(s) != 1 || s[0].Reason != ownwork.Alone || s[0].Unmeasured() == "" {
		t.Errorf("status: %+v", s)
	}
	m.batch.Ended = append(m.batch.Ended, pid(0))
	j.second += 1e9
	m.ended = true
	j.feed()
	if s := m.node.Status(nil); len(s) != 0 {
		t.Errorf("status after its end: %+v", s)
	}
}
