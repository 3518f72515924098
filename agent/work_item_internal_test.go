package agent

import (
	"testing"
	"time"

	"github.com/ingero-io/ingero/event"
)

// A burst of records takes memory for a minute, and work items that nobody needs have none.
func TestWorkItemsGiveMemoryBack(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_700_000_000, 0)
	s := newSpareItems(at)
	size := func() (n int) {
		for _, u := range s.list {
			n += cap(u.records.Calls)
		}
		return n
	}
	var all []*workItem
	for range workItems { // the recorder is behind
		u := s.take()
		u.records.Calls = append(u.records.Calls, make([]event.Call, 1000)...)
		all = append(all, u)
	}
	if u := s.takeReady(); u != nil || !s.used() {
		t.Fatalf("a fifth item: %v, all are used: %v", u, s.used())
	}
	for _, u := range all {
		s.put(u, at.Add(time.Second))
	}
	if s.used() || size() < 4000 {
		t.Fatalf("all are used: %v; room for %d calls is kept, want 4000", s.used(), size())
	}
	for range 3 {
		u := s.take()
		if u != all[3] || u.records.Len() != 0 {
			t.Fatalf("an item with %d records; the one used last: %v", u.records.Len(), u == all[3])
		}
		s.put(u, at.Add(2*time.Second))
	}
	s.put(s.take(), at.Add(itemLife+time.Second))
	if n := size(); n != 0 {
		t.Errorf("room for %d calls is kept after a minute", n)
	}
}

// What records refer to is not kept with their memory.
func TestResetDropsWhatRecordsReferTo(t *testing.T) {
	t.Parallel()
	u := &workItem{}
	u.records.OffCPU = append(u.records.OffCPU, event.OffCPU{Culprits: make([]event.Culprit, 4)})
	u.clear()
	if all := u.records.OffCPU[:1]; all[0].Culprits != nil {
		t.Errorf("%+v is kept", all[0])
	}
}
