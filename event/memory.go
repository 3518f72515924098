package event

import "fmt"

// Space is where allocated memory is. The numbers are in databases and append-only.
type Space uint8

// The spaces.
const (
	DeviceMemory Space = iota // on a GPU, or managed: shared with it
	PinnedMemory              // page-locked memory of the host
	NumSpaces
)

var spaceNames = [NumSpaces]string{"device", "pinned"}

// String returns the name used in SQL and text.
func (s Space) String() string {
	if s < NumSpaces {
		return spaceNames[s]
	}
	return fmt.Sprintf("space-%d", uint8(s))
}

// SpaceByName is the inverse of String.
func SpaceByName(name string) (Space, bool) {
	for i, n := range spaceNames {
		if n == name {
			return Space(i), true
		}
	}
	return 0, false
}

// Memory is what one process has allocated in one space, by its own traced
// calls, and what happened since its previous record. Allocations made before
// tracing began are not in it. A call inside another allocating call counts
// once.
type Memory struct {
	At        uint64 // Unix ns
	PID       uint32
	Space     Space
	LiveBytes uint64 // allocated and not freed at At
	LiveCount uint64
	PeakBytes uint64 // most LiveBytes so far

	// Since the process's previous record:
	Allocs       uint64 // that succeeded
	Frees        uint64 // that succeeded, UnknownFrees included
	Failed       uint64 // allocations that returned an error
	Bytes        uint64 // allocated
	AllocNS      uint64 // spent in allocating calls, failed ones included
	FreeNS       uint64 // spent in freeing calls
	UnknownFrees uint64 // of memory whose allocation was not seen
	Untracked    uint64 // allocations not followed for lack of memory; never in Live…
}

// MemorySite is one of the places in a process's code whose allocations hold most
// memory.
type MemorySite struct {
	At        uint64 // Unix ns
	PID       uint32
	Space     Space
	Op        Op     // the allocating operation
	Stack     uint64 // StackID of its caller, 0 if none was taken
	LiveBytes uint64 // allocated there and not freed at At
	LiveCount uint64
	Oldest    uint64 // Unix ns at which the oldest of them was allocated
}
