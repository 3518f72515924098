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
}
