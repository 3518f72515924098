package wire

// Labels are what processes said they work on, by time.
type Labels struct {
	About
	Total  int     `json:"total"` // if more than there are in labels, these are the longest
	Labels []Label `json:"labels"`
}

// Label is a label of a process, cut at the borders of the window.
type Label struct {
	Node       string `json:"node"`
	PID        uint32 `json:"pid"`
	TID        uint32 `json:"tid"` // the thread whose calls have it; 0: all
	Key        string `json:"key"`
	Value      string `json:"value"`
	StartNS    uint64 `json:"start_ns"`
	DurationNS uint64 `json:"duration_ns"`
	Span       bool   `json:"span"` // both ends were stated; others follow each other
}
