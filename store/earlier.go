package store

import (
	"context"

	"github.com/ingero-io/ingero/event"
)

// Earlier is what a recording by an earlier Ingero holds beyond one of ours, and
// how far the evidence in it reaches. Such recordings have no ledgers and no
// gaps; their off-CPU intervals do not say whether the thread was preempted or
// waited, unless its own disk request tells.
type Earlier struct {
	Version  string // of the schema, as the file names it
	Chains   []StoredChain
	Switches map[event.Thread]Switches // threads whose context switches were recorded
	IDs      map[CallKey]string        // events.id of calls: not made of node and time
}

// CallKey finds a call.
type CallKey struct {
	event.Thread
	Start uint64 // Unix ns
}

// Switches says how completely a thread's context switches were recorded. Only
// where they were does the lack of one mean that the thread ran.
type Switches struct {
	From, To uint64 // Unix ns: begin of the first interval off the CPU, end of the last
	// Counted says that the file counts all of them, whatever it lists, and
	// Unlisted is the time off the CPU in ns that is counted, for all threads of
	// the process, but not listed one by one.
	Counted  bool
	Unlisted uint64
}

// StoredChain is a causal chain as an earlier Ingero recorded it.
type StoredChain struct {
	ID              string
	At              uint64 // Unix ns at which it was detected
	Node            string // empty if the file knows no nodes
	Severity        string
	Summary         string
	RootCause       string
	Explanation     string
	Op              string   // as recorded
	Call            event.Op // the operation that Op names
	Recommendations []string
}

// LegacyReader reads a recording by an earlier Ingero.
type LegacyReader interface {
	Reader
	Earlier(ctx context.Context, w Window) (*Earlier, error)
}
