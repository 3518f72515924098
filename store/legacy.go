package store

import (
	"context"

	"github.com/ingero-io/ingero/event"
)

// Legacy is what a recording by an earlier Ingero has in addition, and how complete its data is.
// Such recordings have no ledgers and no gaps. Their off-CPU intervals do not say whether the
// thread was preempted or waited; this is known only if the thread itself had a disk request.
type Legacy struct {
	Version  string // of the schema, as the file names it
	Chains   []StoredChain
	Switches map[event.Thread]Switches // threads whose context switches were recorded
	IDs      map[CallKey]string        // events.id of calls, which is not made from node and time
	Counted  CountedSwitches
}

// CountedSwitches are context switches that a file counts by process and minute, whether it lists them or not.
type CountedSwitches struct {
	Switches  uint64
	NS        uint64 // the sum of the times off the CPU
	Processes int
}

// CallKey identifies a call.
type CallKey struct {
	event.Thread
	Start uint64 // Unix ns
}

// Switches says how completely a thread's context switches were recorded. A thread without one is
// known to have run only where they were.
type Switches struct {
	From, To uint64 // Unix ns: start of the first off-CPU interval, end of the last
	// Counted says that the file counts all switches, listed or not. Unlisted is the off-CPU
	// time in ns, of all threads of the process, that is counted but not listed one by one.
	Counted  bool
	Unlisted uint64
}

// StoredChain is a causal chain as an earlier Ingero recorded it.
type StoredChain struct {
	ID              string
	At              uint64 // Unix ns of detection
	Node            string // empty if the file has no nodes
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
	Legacy(ctx context.Context, w Window) (*Legacy, error)
}
