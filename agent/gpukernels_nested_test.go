package agent

import (
	"testing"

	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// within is a launch of the runtime at a time, behind the driver's launches of the given
// functions within it, as they are recorded: each when it returns.
func within(at uint64, pid uint32, fn uint64, inner ...uint64) []event.Call {
	i, _ := event.ByName("cuLaunchKernel")
	th := event.Thread{PID: pid, TID: pid}
	var calls []event.Call
	for n, f := range inner {
		calls = append(calls, event.Call{
			Thread: th, Op: i.Op, Start: at + uint64(n) + 1, Duration: 1, Depth: 1, Args: [event.NumArgs]uint64{f},
		})
	}
	outer := launch(pid, fn)
	outer.Start, outer.Duration = at, 100
	return append(calls, outer)
}

func add(fn uint64) store.Kernel {
	return store.Kernel{PID: 1, Func: fn, Name: "add", Symbol: "_Z3addPf", Source: store.KernelBySymbol}
}

// Process 1 was found after it had looked its functions up.
func TestADriverLaunchHasTheNameOfTheLaunchAroundIt(t *testing.T) {
	n := newNames(t)
	n.drain(probe.Records{Records: event.Records{Calls: within(1000, 1, 0x100, 0x7000)}}, add(0x100), add(0x7000))
	n.drain(probe.Records{Records: event.Records{Calls: within(2000, 1, 0x100, 0x7000)}})
	// The kernel of another device is another function, with the same name.
	n.drain(probe.Records{Records: event.Records{Calls: within(3000, 1, 0x100, 0x7100)}}, add(0x7100))
	// The two records may come with different drains.
	calls := within(4000, 1, 0x100, 0x7200)
	n.drain(probe.Records{Records: event.Records{Calls: calls[:1]}})
	n.drain(probe.Records{Records: event.Records{Calls: calls[1:]}}, add(0x7200))
}

func TestADriverLaunchGetsTheNameWhenItBecomesKnown(t *testing.T) {
	n := newNames(t)
	n.drain(probe.Records{Records: event.Records{Calls: within(1000, 1, 0x300, 0x7000)}})
	late := store.Kernel{PID: 1, Func: 0x300, Name: "late", Symbol: "late", Source: store.KernelRegistered}
	inner := late
	inner.Func = 0x7000
	n.drain(probe.Records{KernelNames: []probe.KernelName{registered(1, 1, 0x300, "late")}}, late, inner)
}

func TestALaunchOfANamedFunctionKeepsItsName(t *testing.T) {
	n := newNames(t)
	own := store.Kernel{PID: 1, Func: 0x7000, Name: "own", Symbol: "own", Source: store.KernelLoaded}
	loaded := probe.KernelName{At: 1, PID: 1, Kind: probe.NameLoaded, Func: 0x7000, Name: "own"}
	n.drain(probe.Records{
		KernelNames: []probe.KernelName{loaded},
		Records:     event.Records{Calls: within(1000, 1, 0x100, 0x7000)},
	}, own, add(0x100))
	// One that is looked up after all is called what the program calls it.
	n.drain(probe.Records{Records: event.Records{Calls: within(2000, 1, 0x100, 0x7100)}}, add(0x7100))
	loaded.Func, own.Func = 0x7100, 0x7100
	n.drain(probe.Records{
		KernelNames: []probe.KernelName{loaded},
		Records:     event.Records{Calls: within(3000, 1, 0x100, 0x7100)},
	}, own)
}

func TestAHandleThatIsUsedAgainHasItsNewName(t *testing.T) {
	n := newNames(t)
	n.drain(probe.Records{Records: event.Records{Calls: within(1000, 1, 0x100, 0x7000)}}, add(0x100), add(0x7000))
	outer := store.Kernel{PID: 1, Func: 0x200, Name: "copy", Symbol: "_Z4copyPf", Source: store.KernelBySymbol}
	inner := outer
	inner.Func = 0x7000
	n.drain(probe.Records{Records: event.Records{Calls: within(2000, 1, 0x200, 0x7000)}}, outer, inner)
}

func TestALaunchOutsideOfAnotherLaunchTakesNoName(t *testing.T) {
	n := newNames(t)
	// which one is it?
	n.drain(probe.Records{Records: event.Records{Calls: within(1000, 1, 0x100, 0x7000, 0x7100)}}, add(0x100))
	// A launch in a call whose record is missing, and then a runtime call without one.
	calls := append(within(2000, 1, 0x100, 0x7200)[:1], within(3000, 1, 0x100)...)
	n.drain(probe.Records{Records: event.Records{Calls: calls}})
	// An outermost one, and one of another thread.
	outermost := within(4000, 1, 0x100, 0x7300)
	outermost[0].Depth = 0
	other := within(5000, 1, 0x100, 0x7400)
	other[0].TID = 2
	n.drain(probe.Records{Records: event.Records{Calls: append(outermost, other...)}})
}
