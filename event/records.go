package event

// Records are the records that the kernel writes one by one, a slice per kind, each in the order
// in which they were written per thread.
type Records struct {
	Calls       []Call
	Gaps        []Gap
	OffCPU      []OffCPU
	ThreadTimes []ThreadTime
	Lives       []Life
	Stalls      []Stall
	Reclaims    []Reclaim
	Requests    []Request
	Connections []Connection
	Marks       []Mark
	CodeSamples []CodeSample
}

// Stall is a span in which a CPU did not even take its timer interrupts: the
// hypervisor ran another guest on it, or the kernel had interrupts disabled.
type Stall struct {
	Start    uint64 // Unix ns
	Duration uint64 // ns
	CPU      uint16
}
