package wire

// Waits are places in the kernel in which threads waited, most time first.
type Waits struct {
	About
	Total int        `json:"total"` // places
	Waits []WaitSite `json:"waits"`
}

// WaitSite is where a process waited in an operation.
type WaitSite struct {
	PID     uint32   `json:"pid"`
	Process string   `json:"process"`
	Op      string   `json:"op,omitempty"` // empty: between calls
	Class   string   `json:"class"`
	Waits   uint64   `json:"waits"`
	MaxNS   uint64   `json:"max_ns"`
	TotalNS uint64   `json:"total_ns"`
	Frames  []string `json:"frames"` // innermost first
}
