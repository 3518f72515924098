package agent

import (
	"sync/atomic"
	"time"
)

// queueLag knows how long work items are under way. The loop sends, the recorder finishes
// in the same order.
type queueLag struct {
	at       [workItems]time.Time // when the last ones were sent
	sent     uint64
	finished atomic.Uint64
}

// maxUnderWay is how long a work item may be under way before the recorder is behind: the
// processes whose stacks and kernels it is to name may end, and live views show what
// has been.
const maxUnderWay = 500 * time.Millisecond

func (s *queueLag) send(now time.Time) {
	s.at[s.sent%workItems] = now
	s.sent++
}

// late reports whether the oldest work item under way is so for too long.
func (s *queueLag) late(now time.Time) bool {
	n := s.finished.Load()
	return n < s.sent && now.Sub(s.at[n%workItems]) > maxUnderWay
}
