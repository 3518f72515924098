package store

import (
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/internal/lists"
)

// Batch is the result of one drain of the ring buffers. The caller may reuse its slices after Write
// returns.
type Batch struct {
	event.Records
	Ended       []uint32 // processes from which no more calls come in later batches; not the same as ends in Lives
	Reused      []Reuse  // processes whose end nobody reported
	Stacks      []event.Stack
	Processes   []Process
	Threads     []ThreadInfo
	Libraries   []Library
	Throttles   []Throttle
	Limits      []MemoryLimit
	Scheduling  []Scheduling
	Snapshots   []Snapshot
	GPUs        []GPUSnapshot
	GPUClocks   []GPUClockChange
	GPUDevices  []GPUDevice
	GPUMemory   []GPUProcess // changes only
	Xids        []Xid
	Memory      []event.Memory
	MemorySites []event.MemorySite
	Collectives []event.Collective
	InFlight    []event.InFlight // a row each time a call in flight is read; the last one of a call is kept
	Kernels     []Kernel         // new ones, and those with a new name
	Losses      []event.Loss     // increments since the last batch
	RequestSums []event.RequestSum
	Devices     []event.DeviceName
	Files       []event.File
	HostMemory  []event.HostMemory
	Pages       []event.PageSum
	Labels      []event.Label
	RankEvents  []RankEvent
	RankSteps   []RankSteps
	Footprint   *event.Footprint // nil: nothing changed
}

// Reset empties the batch and keeps the memory of its slices.
func (b *Batch) Reset() { lists.Reset(b) }

// Empty reports whether the batch has no records.
func (b *Batch) Empty() bool { return lists.Len(b) == 0 }
