package event

// PageSum is the memory that a process was given in one second, by the kernel's page
// allocator: for its own use, and for what the kernel did in its name. PID 0 is that of
// idle CPUs, and stands for the processes there was no room for.
type PageSum struct {
	At          uint64 // Unix ns, end of the second
	PID         uint32
	Comm        string
	Allocations uint64
	Pages       uint64
	Bytes       uint64 // of these pages
	NoWaitBytes uint64 // of Bytes, for who must not wait: interrupts take theirs in the name of the thread that runs
	Failed      uint64 // allocations that got nothing
}
