package agent

import (
	"time"

	"github.com/ingero-io/ingero/event"
)

// maxMarks is how many marks of programs are recorded of a second: at some 60 bytes and 3 us each, as
// much as calls may cost that are stored one by one.
const maxMarks = 10_000

// marks bounds how many marks programs set by NVTX are recorded. The loop owns it.
type marks struct {
	at      uint64 // the second in progress
	n       int    // marks in it
	dropped uint64
}

func (m *marks) follower() follower {
	return follower{
		records: func(u *workItem) { u.records.Marks = m.bound(u.records.Marks) },
		second:  func(s *second) { s.lost[event.LostMark] += m.dropped },
	}
}

// bound leaves out what is beyond the bound of a second, in place.
func (m *marks) bound(list []event.Mark) []event.Mark {
	kept := list[:0]
	for i := range list {
		if at := list[i].Start / uint64(time.Second); at > m.at { // marks of several CPUs come nearly in order
			m.at, m.n = at, 0
		}
		if m.n++; m.n > maxMarks {
			m.dropped++
			continue
		}
		kept = append(kept, list[i])
	}
	return kept
}
