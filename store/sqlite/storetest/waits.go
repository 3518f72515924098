package storetest

import (
	"fmt"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// loader is the thread that loads data for a dispatching one.
func loader(n int) event.Thread { return event.Thread{PID: 4100, TID: 4100 + uint32(n)} }

func (g *generator) nameLoaders(b *store.Batch) {
	b.Processes = append(b.Processes,
		store.Process{
			PID: 4100, Parent: 4000, Name: "loader", Command: "python3 loader.py", Rank: -1, LocalRank: -1,
			WorldSize: -1,
		},
		store.Process{PID: 900, Parent: 1, Name: "backup", Command: "backup /home", Rank: -1, LocalRank: -1, WorldSize: -1})
	for t := range g.Threads {
		b.Threads = append(b.Threads, store.ThreadInfo{Thread: loader(t), Comm: fmt.Sprintf("loader-%d", t)})
	}
}

// addWaits has a synchronization wait in the driver, woken by the loader; and the loader
// read from disk, and hand over under a lock.
func (g *generator) addWaits(b *store.Batch, t int, c *event.Call) {
	const lead = 500 // ns from the begin of the call
	if c.Duration < 20*lead {
		return
	}
	wait := func(who event.Thread, comm string, class event.Class, start, ns uint64) *event.OffCPU {
		b.OffCPU = append(b.OffCPU, event.OffCPU{
			Start: start, Duration: ns, Thread: who, Comm: comm, Class: class, Syscall: -1, WakerSyscall: -1, Followed: true,
		})
		return &b.OffCPU[len(b.OffCPU)-1]
	}
	in := wait(thread(t), "trainer", event.Ioctl, c.Start+lead, c.Duration*8/10)
	in.Op, in.Dispatch, in.RunQueue = c.Op, true, c.Duration/50
	in.Waker, in.WakerComm = loader(t), fmt.Sprintf("loader-%d", t)
	classes := [...]event.Class{event.BlockIO, event.Fault, event.Pipe, event.Network}
	half := g.step / 3
	comm := fmt.Sprintf("loader-%d", t)
	wait(loader(t), comm, classes[g.steps/50%len(classes)], c.Start+1, half-10)
	lock := wait(loader(t), comm, event.Futex, c.Start+half, half/2)
	lock.Holder, lock.RunQueue = thread(t).TID, half/10
	lock.Culprits = []event.Culprit{{Thread: event.Thread{PID: 900, TID: 900}, Comm: "backup", NS: half / 10}}
	lock.Waker, lock.WakerComm = thread(t), "trainer"
}
