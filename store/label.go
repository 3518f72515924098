package store

// Label is a label of a process, with the time in which it held.
type Label struct {
	From, To uint64 // Unix ns; To of one that held at the end is when the recording ends
	PID      uint32
	TID      uint32 // of the thread whose calls have it; 0: all threads
	Key      string
	Value    string
	Span     bool // both ends were stated: a span, or a range of NVTX
}
