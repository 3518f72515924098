package recording_test

import (
	"context"
	"testing"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/recording"
	"github.com/ingero-io/ingero/store"
)

// crossing are calls, some of which cross a given time.
type crossing []event.Call

func (r crossing) Reaching(
	_ context.Context, at uint64, call func(*event.Call) bool, _ func(*event.Gap) bool,
) error {
	for i := range r {
		if c := &r[i]; c.Start < at && c.End() > at && !call(c) {
			break
		}
	}
	return nil
}

// TestWindowsHaveOnlyTheirPartOfALongWait: if a wait or call crosses one or both ends of a
// window, only the part within the window counts.
func TestWindowsHaveOnlyTheirPartOfALongWait(t *testing.T) {
	const second = uint64(1e9)
	who := event.Thread{PID: 7, TID: 7}
	long := func(start, ns uint64) event.Call {
		return event.Call{
			Start: start, Duration: ns, Thread: who,
			Ledger: event.Ledger{NS: [event.NumClasses]uint64{event.Sleep: ns}},
		}
	}
	for _, c := range []struct {
		name         string
		call         event.Call
		before, want uint64 // by seconds, and in the window
	}{
		{"within", long(10*second, second/2), second / 2, second / 2},
		{"over the end", long(11*second, 4*second), 4 * second, second},
		{"over the begin", long(8*second, 3*second), 0, second},
		{"over both", long(5*second, 20*second), 0, 2 * second},
		{"before", long(5*second, second), 0, 0},
		{"of no length, at the end", long(12*second, 0), 0, 0},
	} {
		b, err := recording.ReadBorders(t.Context(), crossing{c.call}, store.Window{From: 10*second + 5, To: 11*second + 5},
			func(*event.Call) bool { return true })
		if err != nil {
			t.Fatal(err)
		}
		l := event.Ledger{NS: [event.NumClasses]uint64{event.Sleep: c.before}}
		if b.CutCalls(&l, func(event.Thread) bool { return true }); l.NS[event.Sleep] != c.want {
			t.Errorf("%s: %d ns in the window, want %d", c.name, l.NS[event.Sleep], c.want)
		}
	}
}
