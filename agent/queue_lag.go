package agent

import (
	"sync/atomic"
	"time"
)

// queueLag measures how long work items wait. The loop sends them, the recorder finishes them in
// the same order.
type queueLag struct {
	at       [workItems]time.Time // when the last ones were sent
	sent     uint64
	finished atomic.Uint64
}

// maxUnderWay is the age of an unfinished work item from which the recorder is behind: the
// processes whose stacks and kernels it has to name may have exited, and live views are stale.
const maxUnderWay = 500 * time.Millisecond

func (s *queueLag) send(now time.Time) {
	s.at[s.sent%workItems] = now
	s.sent++
}

// late reports whether the oldest unfinished work item is too old.
func (s *queueLag) late(now time.Time) bool {
	n := s.finished.Load()
	return n < s.sent && now.Sub(s.at[n%workItems]) > maxUnderWay
}
