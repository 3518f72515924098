package agent

import (
	"slices"
	"sync"
	"time"

	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/store"
)

// workItem is what the loop passes to the recorder: records, and once a second a status and a
// request to flush.
type workItem struct {
	records probe.Records
	batch   store.Batch
	flush   bool
	looked  bool // the stacks are those of calls in flight
	status  *Status
	made    time.Time
}

func (u *workItem) empty() bool {
	return u.records.Len() == 0 && len(u.records.Code) == 0 && u.batch.Empty() && !u.flush
}

// clear empties a used work item, and keeps its memory.
func (u *workItem) clear() {
	u.records.Reset()
	u.batch.Reset()
	u.flush, u.looked, u.status = false, false, nil
}

// workItems is the maximum number of unfinished work items. When the recorder is behind, calls wait
// in the ring; if it is full, the kernel counts the calls that it drops. Nothing is dropped in
// between.
const workItems = 4

// itemLife is for how long a work item keeps the memory that a burst of records took.
const itemLife = time.Minute

// spareItems are the work items that are not in use. That which was used last is taken first, so that the others
// stay small unless the recorder is behind.
type spareItems struct {
	count chan struct{} // an element for each
	mu    sync.Mutex
	list  []*workItem // guarded by mu; the last was used last
}

func newSpareItems(now time.Time) *spareItems {
	s := &spareItems{count: make(chan struct{}, workItems)}
	for range workItems {
		s.put(&workItem{made: now}, now)
	}
	return s
}

// put takes back an item that nobody uses any more.
func (s *spareItems) put(u *workItem, now time.Time) {
	u.clear()
	s.mu.Lock()
	s.list = append(s.list, u)
	for i, u := range s.list {
		if now.Sub(u.made) > itemLife {
			s.list[i] = &workItem{made: now}
		}
	}
	s.mu.Unlock()
	s.count <- struct{}{}
}

// take returns an empty item. It blocks while there is none.
func (s *spareItems) take() *workItem {
	<-s.count
	return s.pop()
}

// takeReady returns an empty item, nil if there is none.
func (s *spareItems) takeReady() *workItem {
	select {
	case <-s.count:
		return s.pop()
	default:
		return nil
	}
}

func (s *spareItems) pop() *workItem {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := len(s.list) - 1
	u := s.list[last]
	s.list = slices.Delete(s.list, last, last+1)
	return u
}

// used reports whether all items are in use.
func (s *spareItems) used() bool { return len(s.count) == 0 }
