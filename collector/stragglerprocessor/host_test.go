package stragglerprocessor

import (
	"context"
	"slices"
	"sync"

	"go.opentelemetry.io/collector/component"

	"github.com/ingero-io/ingero/cluster/cohorts"
	"github.com/ingero-io/ingero/cluster/wire"
)

// fakeFleet records what it is given.
type fakeFleet struct {
	component.StartFunc
	component.ShutdownFunc

	mu      sync.Mutex // guards the rest
	pushes  []wire.Push
	err     error
	refuse  []int
	why     string
	middles []cohorts.Middle
}

func (f *fakeFleet) Take(_ context.Context, pushes []wire.Push, err error) cohorts.Taken {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pushes, f.err = slices.Clone(pushes), err
	t := cohorts.Taken{Rejected: len(f.refuse), Refused: f.refuse, Why: f.why}
	if err != nil {
		t.Rejected, t.Why = t.Rejected+1, err.Error()
	}
	return t
}

func (f *fakeFleet) Middles(int) ([]cohorts.Middle, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.middles, len(f.middles) < 2
}

// host is a host with the extensions of a map.
type host map[component.ID]component.Component

func (h host) GetExtensions() map[component.ID]component.Component { return h }

func hostWithFleet() component.Host { return host{component.MustNewID("threshold"): &fakeFleet{}} }
