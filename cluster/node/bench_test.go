package node_test

import (
	"testing"

	"github.com/ingero-io/ingero/cluster/node"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/event/eventtest"
	"github.com/ingero-io/ingero/store"
)

// BenchmarkMeterWithoutNCCL measures the cost of a call of a program that is not a rank.
func BenchmarkMeterWithoutNCCL(b *testing.B) {
	batch, m := &store.Batch{}, node.NewMeter()
	for i := range uint64(1000) {
		batch.Calls = append(batch.Calls, event.Call{
			Start: began + i*1000, Duration: 5000, Thread: event.Thread{PID: 100, TID: 100}, Op: eventtest.Op(b, "cudaLaunchKernel"),
		})
	}
	for n := 0; n < b.N; n += len(batch.Calls) {
		m.Batch(batch)
	}
}
