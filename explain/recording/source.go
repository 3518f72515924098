package recording

import (
	"context"
	"runtime"
	"time"

	"github.com/ingero-io/ingero/store"
)

// Source gives read access to a recording. Its methods may be called by several goroutines. A
// missing or damaged recording is an error of each call, not of creating the source: it may exist
// later. Package explain/source has the source for files.
type Source interface {
	// Name is the recording's name for users.
	Name() string
	// Read calls f with the recording as it is now. f must not keep it.
	Read(ctx context.Context, f func(store.Recording) error) error
	// Query runs one reading SQL statement. Rows must be closed.
	Query(ctx context.Context, sql string, l store.Limits) (store.Rows, error)
	// State changes whenever the result of Read may have changed; empty if unknown.
	State() string
	// Close ends the source once the reads in progress have ended. It is safe to
	// call twice.
	Close() error
}

// UntrustedLimits returns the limits on an SQL statement from an untrusted client. The limit on its length bounds its
// memory: the number of values it computes at once times the length of a value. The caller limits the number of rows.
func UntrustedLimits() store.Limits {
	return store.Limits{Value: 256 << 10, Time: 5 * time.Second, Statement: 16 << 10, Columns: 100}
}

// UntrustedAtOnce returns how many such statements run at the same time; further ones wait. One CPU is kept free, so
// that other questions are answered meanwhile.
func UntrustedAtOnce() int { return max(1, min(runtime.GOMAXPROCS(0)-1, 4)) }
