package agent

import (
	"testing"
	"time"
)

func TestTheOldestUnfinishedItemMakesTheRecorderLate(t *testing.T) {
	var s queueLag
	at := func(d time.Duration) time.Time { return time.Unix(1, 0).Add(d) }
	expect := func(d time.Duration, want bool, when string) {
		t.Helper()
		if s.late(at(d)) != want {
			t.Errorf("late %v %s", !want, when)
		}
	}
	expect(time.Hour, false, "with nothing under way")
	for i := range time.Duration(3 * workItems) {
		now := i * maxUnderWay
		s.send(at(now))
		expect(now+maxUnderWay, false, "in time")
		expect(now+maxUnderWay+1, true, "after that")
		s.send(at(now + maxUnderWay/2))
		s.finished.Add(1)
		expect(now+maxUnderWay+1, false, "with a second one under way")
		expect(now+2*maxUnderWay, true, "with a second one under way too long")
		s.finished.Add(1)
		expect(time.Hour, false, "when all are finished")
	}
}
