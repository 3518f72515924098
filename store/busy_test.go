package store_test

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

func op(t *testing.T, name string) event.Op {
	t.Helper()
	i, ok := event.ByName(name)
	if !ok {
		t.Fatalf("no operation %s", name)
	}
	return i.Op
}

// Calls close together make one stretch, whatever order they come in; calls that
// use no GPU make none, and processes and GPUs are kept apart.
func TestBusySpansJoinCallsThatAreClose(t *testing.T) {
	const ms = 1_000_000
	type call struct {
		pid        uint32
		gpu        int8
		op         string
		start, end uint64
	}
	calls := []call{
		{1, 0, "cudaLaunchKernel", 10 * ms, 11 * ms},
		{1, 0, "cudaStreamSynchronize", 14 * ms, 60 * ms},
		{1, 0, "cudaMemcpyAsync", 20 * ms, 21 * ms},
		{1, 0, "cudaLaunchKernel", 80 * ms, 81 * ms},
		{1, 1, "cudaLaunchKernel", 62 * ms, 63 * ms},
		{2, 0, "cudaLaunchKernel", 62 * ms, 63 * ms},
		{1, 0, "cudaEventQuery", 66 * ms, 79 * ms},
	}
	want := []store.Busy{
		{PID: 1, GPU: 0, Start: 10 * ms, End: 60 * ms},
		{PID: 1, GPU: 0, Start: 80 * ms, End: 81 * ms},
		{PID: 1, GPU: 1, Start: 62 * ms, End: 63 * ms},
		{PID: 2, GPU: 0, Start: 62 * ms, End: 63 * ms},
	}
	for range 20 {
		var b store.BusySpans
		for _, c := range calls {
			b.Add(c.pid, c.gpu, op(t, c.op), c.start, c.end)
		}
		if d := cmp.Diff(want, b.Spans()); d != "" {
			t.Fatalf("spans (-want +got):\n%s", d)
		}
		rand.Shuffle(len(calls), func(i, j int) { calls[i], calls[j] = calls[j], calls[i] })
	}
}
