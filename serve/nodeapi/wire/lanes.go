package wire

// Lanes are what threads did in a window, for drawing: each call and wait or, if there are more
// than requested, sums in time buckets. All times but StartNS and ReadNS are relative to StartNS.
type Lanes struct {
	About
	StartNS  uint64   `json:"start_ns"`
	BucketNS uint64   `json:"bucket_ns"` // a power of two, begins at a multiple of it; 0: one by one
	Buckets  int      `json:"buckets"`
	Rows     uint64   `json:"rows"`    // stored calls and waits that begin in the window, about
	ReadNS   uint64   `json:"read_ns"` // the recording was read up to here, ask again; 0: all of it
	Ops      []string `json:"ops"`     // indexed by the operation numbers of calls
	Classes  []string `json:"classes"` // indexed by the class numbers of waits
	Total    int      `json:"total"`   // threads, of which skip and limit select some
	// Estimate says what in the answer is estimated, and how; empty: nothing. Waits are those of
	// 0.1 ms or more, without usual ones for the GPU: all of them are in off_cpu_times.
	Estimate string `json:"estimate,omitempty"`
	Lanes    []Lane `json:"lanes"` // by machine, process and thread
}

// Lane is a thread. Items of its lists have so many numbers each: a call or wait in buckets
// is bucket, op or class, ns in it, how many began (calls inside of others are in neither);
// a call one by one is start, duration, op, depth, calls that it stands for, ns that these took
// together; a wait one by one is start, duration, class.
type Lane struct {
	Node    string  `json:"node"`
	PID     uint32  `json:"pid"`
	TID     uint32  `json:"tid"`
	Process string  `json:"process"`
	Thread  string  `json:"thread"`
	Rank    int     `json:"rank"`  // -1 if it has none
	Depth   int     `json:"depth"` // of the calls that go deepest; -1 if it made none
	Calls   []int64 `json:"calls"`
	Waits   []int64 `json:"waits"`
}
