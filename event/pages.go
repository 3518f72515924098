package event

// PageSum is the memory that a process was given in one second by the kernel's page
// allocator: for its own use, and for the kernel's work on its behalf. PID 0 is for
// idle CPUs, and for the processes for which there was no room.
type PageSum struct {
	At          uint64 // Unix ns, end of the second
	PID         uint32
	Comm        string
	Allocations uint64
	Pages       uint64
	Bytes       uint64 // of these pages
	NoWaitBytes uint64 // of Bytes, for allocations that must not wait; those of interrupts count for the running thread
	Failed      uint64 // allocations that failed
}
