package store

import (
	"context"

	"github.com/ingero-io/ingero/event"
)

// Tables has a slice for each kind of record: the one list of them. A Batch is written from it, a diagnosis reads into
// it, and package eventtext has it as text. A new kind is a slice here, and a kind in store/sqlite.
type Tables struct {
	event.Records
	Processes   []Process
	Threads     []ThreadInfo
	Libraries   []Library // the files of CUDA and of frameworks that processes use
	Throttles   []Throttle
	Limits      []MemoryLimit
	Scheduling  []Scheduling
	Settings    []Setting
	Snapshots   []Snapshot
	GPUs        []GPUSnapshot
	GPUClocks   []GPUClockChange
	GPUDevices  []GPUDevice  // of a GPU that several sessions saw, the latest last
	GPUMemory   []GPUProcess // a row for each change
	Xids        []Xid
	Memory      []event.Memory
	MemorySites []event.MemorySite
	Collectives []event.Collective
	InFlight    []event.InFlight // calls that last a second or more: a row each time one is read; the last one is kept
	Kernels     []Kernel         // new ones, and those with a new name
	Losses      []event.Loss     // in a batch: increments since the last one
	RequestSums []event.RequestSum
	Devices     []event.DeviceName
	Files       []event.File
	HostMemory  []event.HostMemory
	Pages       []event.PageSum
	Labels      []event.Label
	RankEvents  []RankEvent
	RankSteps   []RankSteps
}

// TableReader reads what comes at a low rate.
type TableReader interface {
	// Tables fills lists with the rows of the window, by time. A list is a pointer to a slice of a type that Tables
	// has, such as *[]Throttle, or of OpStat, GapStat, KernelLaunches, Label, Loss or Pause. A *Tables is filled with all
	// that a diagnosis needs of it, except Losses (see Summary) and what has visitors. Rows that have no time, such as
	// a Process, are in every window.
	Tables(ctx context.Context, w Window, lists ...any) error
}

// List returns the rows of one type in the window; see TableReader.
func List[T any](ctx context.Context, r TableReader, w Window) (list []T, err error) {
	err = r.Tables(ctx, w, &list)
	return list, err
}
