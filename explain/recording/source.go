package recording

import (
	"context"
	"runtime"
	"time"

	"github.com/ingero-io/ingero/store"
)

// Source gives read access to a recording. Its methods may be called by several
// goroutines. A recording that is missing or damaged is an error of each call, not of
// making the source: it may be there the next time. Package store/source has the one for
// files.
type Source interface {
	// Name says which recording it is, for people.
	Name() string
	// Read calls f with the recording as it is now. f must not keep it.
	Read(ctx context.Context, f func(store.Recording) error) error
	// Query runs one reading SQL statement. Rows must be closed.
	Query(ctx context.Context, sql string, l store.Limits) (store.Rows, error)
	// State changes when what Read would show may have changed; empty if unknown.
	State() string
	// Close ends the source once the reads in progress have ended. It is safe to
	// call twice.
	Close() error
}

// UntrustedLimits are what an SQL statement of somebody else's may cost. It is at most so
// long because the memory it takes is bounded by the number of values it computes at once
// times the length of a value. How many rows are of use is for the caller to say.
func UntrustedLimits() store.Limits {
	return store.Limits{Value: 256 << 10, Time: 5 * time.Second, Statement: 16 << 10, Columns: 100}
}

// UntrustedAtOnce is how many such statements run at the same time; more wait. One CPU is
// left for everything else, so that other questions are answered meanwhile.
func UntrustedAtOnce() int { return max(1, min(runtime.GOMAXPROCS(0)-1, 4)) }
