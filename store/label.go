package store

// Label is a label of a process, with the time in which it held.
type Label struct {
	From, To uint64 // Unix ns; To of one that held at the end is when the recording ends
	PID      uint32
	Key      string
	Value    string
	Span     bool // the program stated both ends
}
