package source

import (
	"runtime"
	"time"

	"github.com/ingero-io/ingero/store/sqlite"
)

// Served is what a statement of somebody else's may cost. It is at most so long because
// the memory it takes is bounded by the number of values it computes at once times the
// length of a value. How many rows are of use is for the caller to say.
func Served() sqlite.Limits {
	return sqlite.Limits{Value: 256 << 10, Time: 5 * time.Second, Statement: 16 << 10, Columns: 100}
}

// AtOnce is how many such statements run at the same time; more wait. One CPU is left
// for everything else, so that other questions are answered meanwhile.
func AtOnce() int { return max(1, min(runtime.GOMAXPROCS(0)-1, 4)) }
