package store

import (
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/internal/lists"
)

// Batch is what one drain of the ring buffers produced. Slices may be reused by
// the caller once Write returns.
type Batch struct {
	event.Records
	Ended       []uint32 // processes of which no call comes after those of earlier batches: not the same as in Lives
	Stacks      []event.Stack
	Processes   []Process
	Threads     []ThreadInfo
	Throttles   []Throttle
	Limits      []MemoryLimit
	Scheduling  []Scheduling
	Snapshots   []Snapshot
	GPUs        []GPUSnapshot
	GPUDevices  []GPUDevice
	GPUMemory   []GPUProcess // what changed
	Xids        []Xid
	Memory      []event.Memory
	MemorySites []event.MemorySite
	Collectives []event.Collective
	InFlight    []event.InFlight // a row each time a call is looked at; the last one of a call stays
	Kernels     []Kernel         // new ones, and those whose names changed
	Losses      []event.Loss     // increments since the last batch
	RequestSums []event.RequestSum
	Devices     []event.DeviceName
	Files       []event.File
	HostMemory  []event.HostMemory
	Pages       []event.PageSum
	Footprint   *event.Footprint // nil: nothing changed
}

// Reset empties the batch and keeps the memory of its slices.
func (b *Batch) Reset() { lists.Reset(b) }

// Empty reports whether there is nothing in it.
func (b *Batch) Empty() bool { return lists.Len(b) == 0 }
