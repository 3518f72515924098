package agent

import (
	"github.com/ingero-io/ingero/capture/symbol/gpukernel"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// nestedLaunches learns the names of driver functions in processes that were found too late to see
// these looked up. A runtime launch names its kernel by the host function, and calls a driver
// launch, which has another handle for the same kernel.
type nestedLaunches struct {
	inner  [1 << 8]innerLaunch  // by thread: the driver launch in the runtime call in progress
	recent [1 << 10]kernelNames // the last pairs: most launches repeat one
}

// innerLaunch is a driver launch that is within another call.
type innerLaunch struct {
	event.Thread
	start   uint64
	fn      uint64
	depth   uint8
	several bool // another function was launched in the same call
}

// kernelNames are the two handles of a kernel.
type kernelNames struct {
	pid         uint32
	driver, own uint64
}

// nested handles a launch. A driver launch is kept until the runtime call around it has returned,
// which is recorded after it.
func (k *kernels) nested(c *event.Call) {
	in := &k.nest.inner[c.TID&uint32(len(k.nest.inner)-1)]
	if c.Op.Source() == event.SourceDriver {
		switch {
		case c.Depth == 0:
		case in.Thread != c.Thread || in.depth != c.Depth:
			*in = innerLaunch{c.Thread, c.Start, c.Args[0], c.Depth, false}
		case in.fn != c.Args[0]:
			in.several = true // unknown which of them is the kernel
		}
		return
	}
	if in.Thread == c.Thread && in.depth == c.Depth+1 {
		if in.start >= c.Start && !in.several {
			k.same(c.PID, in.fn, c.Args[0])
		}
		*in = innerLaunch{}
	}
}

// same gives the driver's function the name of the runtime's, if it has none.
func (k *kernels) same(pid uint32, driver, own uint64) {
	pair := kernelNames{pid, driver, own}
	slot := &k.nest.recent[(driver>>4^driver>>14^uint64(pid))&uint64(len(k.nest.recent)-1)]
	if *slot == pair || driver == own {
		return
	}
	*slot = pair
	t := k.table(pid)
	if _, passed := t.passed[driver]; !passed && t.recorded[driver].symbol != "" {
		return // the program looked it up by name
	}
	before := t.launched()
	t.passed[driver] = own // a new one, or the handle was used again
	k.grown(t, before)
	k.pass(pid, t, driver)
}

// pass records the name of a driver's function, if that of the runtime's is known.
func (k *kernels) pass(pid uint32, t *kernelTable, driver uint64) {
	name := t.recorded[t.passed[driver]]
	if name.symbol == "" || t.recorded[driver] == name {
		return
	}
	k.record(t, driver, name)
	k.fresh = append(k.fresh, name.kernel(pid, driver))
}

// named passes on the name of a runtime's function that became known after its launch.
func (k *kernels) named(pid uint32, t *kernelTable, own uint64) {
	before := t.launched()
	delete(t.passed, own) // a driver function with this address has its own name now
	k.told -= before - t.launched()
	for driver, of := range t.passed {
		if of == own {
			k.pass(pid, t, driver)
		}
	}
}

// recordedName is a function's name as it was recorded; the zero value if it is unknown.
type recordedName struct {
	symbol string
	source store.KernelSource
}

func (n recordedName) kernel(pid uint32, fn uint64) store.Kernel {
	return store.Kernel{
		PID: pid, Func: fn, Symbol: gpukernel.Linked(n.symbol), Name: gpukernel.Readable(n.symbol), Source: n.source,
	}
}
