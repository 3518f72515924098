package store

import "github.com/ingero-io/ingero/event"

// Kernel is the name of a function that a process launches on a GPU.
type Kernel struct {
	PID    uint32
	Func   uint64 // the first argument of its launches: a host function, or a handle
	Name   string // for people, without parameters: "softmax_kernel<float>"
	Symbol string // as linked: "_Z14softmax_kernelIfEvPT_"
	Source KernelSource
}

// KernelLaunches is how often a thread launched a kernel.
type KernelLaunches struct {
	event.Thread
	Func   uint64 // as in Kernel
	Calls  uint64 // thinned ones included: an estimate if it is more than Stored
	Stored uint64 // calls that were stored one by one
}

// KernelSource says how a kernel's name became known. The numbers are stored.
type KernelSource uint8

// The sources, the most reliable first.
const (
	KernelRegistered KernelSource = 1 // the program registered it when it started
	KernelLoaded     KernelSource = 2 // the program looked it up in a module by this name
	KernelBySymbol   KernelSource = 3 // its host function has this symbol
)
