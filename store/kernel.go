package store

// Kernel is the name of a function that a process launches on a GPU.
type Kernel struct {
	PID    uint32
	Func   uint64 // the first argument of its launches: a host function, or a handle
	Name   string // for people, without parameters: "softmax_kernel<float>"
	Symbol string // as linked: "_Z14softmax_kernelIfEvPT_"
	Source KernelSource
}

// KernelSource says how a kernel's name became known. The numbers are stored.
type KernelSource uint8

// The sources, the most reliable first.
const (
	KernelRegistered KernelSource = 1 // the program registered it when it started
	KernelLoaded     KernelSource = 2 // the program looked it up in a module by this name
	KernelBySymbol   KernelSource = 3 // its host function has this symbol
)
