package diagnose

import (
	"testing"

	"github.com/ingero-io/ingero/account/ledger"
	"github.com/ingero-io/ingero/event"
)

// A thread that held a lock for 30 ms and waited for the disk meanwhile did disk I/O for as long, whether
// its waits were just long enough to have rows, or just too short.
func TestDiskTimeDoesNotDependOnWhichWaitsHaveRows(t *testing.T) {
	const ms = 1_000_000
	for name, c := range map[string]struct {
		waits uint64      // ns, by the totals
		rows  [][2]uint64 // begin and end of those with a row, ns
		want  uint64
	}{
		"none":                          {0, nil, 0},
		"one long wait":                 {20 * ms, [][2]uint64{{5 * ms, 25 * ms}}, 20 * ms},
		"two that are far apart":        {8 * ms, [][2]uint64{{0, 4 * ms}, {20 * ms, 24 * ms}}, 8 * ms},
		"two that are close":            {8 * ms, [][2]uint64{{0, 4 * ms}, {5 * ms, 9 * ms}}, 9 * ms},
		"many, none with a row":         {14 * ms, nil, 28 * ms},
		"many, the first with a row":    {14 * ms, [][2]uint64{{0, 100_000}}, 100_000 + 2*(14*ms-100_000)},
		"many, in a third of the hold":  {5 * ms, nil, 10 * ms},
		"more than half, none with one": {16 * ms, nil, 30 * ms},
		"few short ones":                {2 * ms, nil, 2 * ms},
	} {
		l := ledger.Link{From: 1000 * ms, To: 1030 * ms, Known: true, Split: ledger.Split{Wall: 30 * ms}}
		l.Split.NS[event.BlockIO], l.Split.OnCPU = c.waits, 30*ms-c.waits
		for _, r := range c.rows {
			o := event.OffCPU{Class: event.BlockIO}
			o.Start, o.Duration = l.From+r[0], r[1]-r[0]
			l.Rows = append(l.Rows, &o)
		}
		if got := ioTime(&l); got != c.want {
			t.Errorf("%s: %d ns at the disk, want %d", name, got, c.want)
		}
	}
}
