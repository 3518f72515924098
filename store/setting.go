package store

// Setting is a setting of the machine or of a process that makes states of threads possible, from a time on: the clock
// source, huge pages, how many threads OpenMP starts. It is recorded once, and when it changes.
type Setting struct {
	At    uint64 // Unix ns: when it was seen
	PID   uint32 // of a process; 0: of the machine
	Name  string // as package setting calls it
	Value string // as the kernel or the environment has it; empty: it is not set any more
}
