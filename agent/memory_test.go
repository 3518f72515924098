package agent_test

import (
	"context"
	"testing"

	"github.com/ingero-io/ingero/agent"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/internal/cudastub"
	"github.com/ingero-io/ingero/probe"
)

// allocate traces a victim that makes 80 allocations of 1 MB, each through the
// driver, and frees an address that it was never given.
func allocate(t *testing.T, stack probe.StackPolicy) *counter {
	t.Helper()
	files := extract(t)
	v, err := files.Start(context.Background(), cudastub.Options{Behaviour: "cudaMalloc:spin=5us,nested;cuMemAlloc_v2:spin=5us"})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	c := newCounter()
	o := c.options()
	o.PIDs, o.Stack = []int{v.PID()}, stack
	ctx, stop := context.WithCancel(t.Context())
	o.Started = func(agent.Start) {
		for _, command := range []string{"call cudaMalloc 80 bytes=1000000", "call cudaFree 1 ptr=4096"} {
			if _, err := v.Do(command); err != nil {
				t.Error(err)
			}
		}
		stop()
	}
	if _, err := agent.Run(ctx, o); err != nil {
		t.Fatal(err)
	}
	if n := c.calls[uint32(v.PID())]["cuMemAlloc"]; n != 80 {
		t.Errorf("%d calls of the driver recorded, want 80", n)
	}
	return c
}

func TestLiveMemoryIsRecordedWithWhereItCameFrom(t *testing.T) {
	c := allocate(t, "")
	if len(c.memory) != 1 {
		t.Fatalf("%d records of memory", len(c.memory))
	}
	m := c.memory[0]
	if m.LiveBytes != 80e6 || m.LiveCount != 80 || m.Allocs != 80 || m.Frees != 1 || m.UnknownFrees != 1 || m.AllocNS < 80*10_000 {
		t.Errorf("memory recorded as %+v", m)
	}
	var bytes, without uint64
	for _, s := range c.sites {
		bytes += s.LiveBytes
		if s.Stack == 0 {
			without += s.LiveBytes
		}
		if s.Op.String() != "cudaMalloc" || s.Oldest == 0 {
			t.Errorf("site %+v", s)
		}
	}
	if bytes != 80e6 || without != 0 {
		t.Errorf("sites hold %d bytes, %d of them without a stack", bytes, without)
	}
}

func TestNoStacksOfAllocationsWhereNoneAreWanted(t *testing.T) {
	c := allocate(t, probe.StackOff)
	if len(c.sites) != 1 || c.sites[0] != (event.MemorySite{
		At: c.sites[0].At, PID: c.sites[0].PID, Op: c.sites[0].Op, Oldest: c.sites[0].Oldest, LiveBytes: 80e6, LiveCount: 80,
	}) {
		t.Errorf("sites %+v, want one, without a stack", c.sites)
	}
}
