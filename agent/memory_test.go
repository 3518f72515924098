package agent_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/ingero-io/ingero/agent"
	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/internal/cudastub"
)

// allocate traces a victim that makes 80 allocations of 1 MB, each through the
// driver, and frees an address that it was never given.
func allocate(t *testing.T, stack probe.StackPolicy) *counter {
	t.Helper()
	files := extract(t)
	v, err := files.Start(context.Background(),
		cudastub.Options{Behaviour: "cudaMalloc:spin=5us,nested;cuMemAlloc_v2:spin=5us"})
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

func TestLiveMemoryIsRecordedWithItsStacks(t *testing.T) {
	c := allocate(t, "")
	if len(c.memory) != 1 {
		t.Fatalf("%d records of memory", len(c.memory))
	}
	m := c.memory[0]
	if m.LiveBytes != 80e6 || m.LiveCount != 80 || m.Allocs != 80 || m.Frees != 1 || m.UnknownFrees != 1 ||
		m.AllocNS < 80*10_000 {
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

func TestNoStacksOfAllocationsWithStacksOff(t *testing.T) {
	c := allocate(t, probe.StackOff)
	if len(c.sites) != 1 || c.sites[0] != (event.MemorySite{
		At: c.sites[0].At, PID: c.sites[0].PID, Op: c.sites[0].Op, Oldest: c.sites[0].Oldest, LiveBytes: 80e6, LiveCount: 80,
	}) {
		t.Errorf("sites %+v, want one, without a stack", c.sites)
	}
}

// Memory of every kind is followed to the code that allocated it, however soon the call
// returned: device, managed, from pools, in pieces that are mapped later, and page-locked.
func TestEveryKindOfMemoryIsFollowed(t *testing.T) {
	files := extract(t)
	v, err := files.Start(context.Background(), cudastub.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	c := newCounter()
	o := c.options()
	o.PIDs = []int{v.PID()}
	bytes := map[string]uint64{
		"cudaMalloc": 1000, "cudaMallocManaged": 2000, "cudaMallocAsync": 3000, "cudaMallocFromPoolAsync": 4000,
		"cudaMallocPitch": 5000,
		"cudaMallocHost":  6000, "cudaHostAlloc": 7000, "cudaHostRegister": 8000, "cuMemCreate": 9000,
		"cuMemAllocManaged": 10000,
	}
	ctx, stop := context.WithCancel(t.Context())
	o.Started = func(agent.Start) {
		defer stop()
		commands := []string{"set cudaMalloc:err=2", "call cudaMalloc 1 bytes=77000", "set cudaMalloc:none"}
		for op, n := range bytes {
			if op == "cudaMallocPitch" { // of two rows
				n /= 2
			}
			commands = append(commands, fmt.Sprintf("call %s 1 bytes=%d ptr=0x5000", op, n))
		}
		for _, command := range append(commands, "call cudaHostUnregister 1 ptr=0x5000") {
			if _, err := v.Do(command); err != nil {
				t.Error(err)
			}
		}
	}
	if _, err := agent.Run(ctx, o); err != nil {
		t.Fatal(err)
	}
	delete(bytes, "cudaHostRegister") // it was given back
	live := [event.NumSpaces]uint64{}
	for op, n := range bytes {
		i, _ := event.ByName(op)
		live[i.Space] += n
		at := slices.IndexFunc(c.sites, func(s event.MemorySite) bool { return s.Op == i.Op })
		if at < 0 {
			t.Errorf("%s: no site", op)
		} else if s := c.sites[at]; s.LiveBytes != n || s.LiveCount != 1 || s.Stack == 0 || s.Space != i.Space {
			t.Errorf("%s: site %+v, want %d bytes", op, s, n)
		}
	}
	for _, m := range c.memory {
		peak, failed := live[m.Space], uint64(0)
		if m.Space == event.PinnedMemory {
			peak += 8000
		} else {
			failed = 1
		}
		if m.LiveBytes != live[m.Space] || m.Failed != failed || m.PeakBytes < live[m.Space] || m.PeakBytes > peak {
			t.Errorf("memory %+v, want %d bytes live, up to %d at most, %d refused", m, live[m.Space], peak, failed)
		}
	}
}
