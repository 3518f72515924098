package wire

// CallSites are the places in processes' code that wait for the GPU, most time first. Calls of other
// operations do not tell theirs.
type CallSites struct {
	About
	Total    int        `json:"total"`          // places
	Unplaced uint64     `json:"unplaced_calls"` // waits of which an earlier Ingero did not record the place
	Sites    []CallSite `json:"sites"`
}

// CallSite is what calls of an operation from one place took, exactly, in the whole seconds of the window. What
// the place is called is told by the calls that have a stack: slow ones and few others.
type CallSite struct {
	PID       uint32   `json:"pid"`
	Process   string   `json:"process"`
	Op        string   `json:"op"`
	Site      string   `json:"call_site"` // address that the calls return to; 0x0: places that are not told apart
	Place     string   `json:"place"`     // function and library, or library and offset; empty: not known
	Callers   []string `json:"callers"`   // the program's own code that leads there, if others
	Calls     uint64   `json:"calls"`
	P50NS     uint64   `json:"p50_ns"`
	P95NS     uint64   `json:"p95_ns"`
	P99NS     uint64   `json:"p99_ns"`
	MaxNS     uint64   `json:"max_ns"`
	TotalNS   uint64   `json:"total_ns"`
	OpTotalNS uint64   `json:"op_total_ns"` // of all calls of the operation
}
