package diagnose

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/store"
)

// xidLead is how much later than its effect on calls the driver may report an error, ns.
const xidLead = 1_000_000_000

// soonFailed is how soon after an error that the GPU recovers from calls must fail to be attributed
// to it, ns.
const soonFailed = 60_000_000_000

// gpuErrors lists the GPU errors that the driver reported, each kind once, with the calls that
// failed after it.
func (ev *evidence) gpuErrors() []report.GPUError {
	var list []report.GPUError
	at := map[store.Xid]int{}
	for i := range ev.gpus.xids {
		x := &ev.gpus.xids[i]
		k := store.Xid{GPU: x.GPU, Code: x.Code}
		if n, ok := at[k]; ok {
			list[n].Times++
			continue
		}
		at[k] = len(list)
		e := report.GPUError{AtNS: x.At, Xid: x.Code, Description: x.String(), Times: 1, Failed: ev.failedAfter(x)}
		if x.GPU >= 0 {
			e.GPU = &x.GPU
		}
		list = append(list, e)
	}
	return list
}

// failedAfter returns the operations that failed after an error, in processes that use that GPU.
func (ev *evidence) failedAfter(x *store.Xid) []report.FailedAfter {
	type key struct {
		pid uint32
		op  event.Op
	}
	by := map[key]*report.FailedAfter{}
	first := map[key]uint64{}
	for i := range ev.in.Calls {
		c := &ev.in.Calls[i]
		if !c.Failed() || c.End()+xidLead < x.At || !ev.gpus.mayUse(c.PID, x.GPU) {
			continue
		}
		k := key{c.PID, c.Op}
		f := by[k]
		if f == nil {
			f = &report.FailedAfter{
				Process: ev.procs.name(c.PID, ""), PID: c.PID, Op: c.Op.String(), Ret: c.Ret,
				AfterNS: after(c.End(), x.At),
			}
			by[k], first[k] = f, c.End()
		}
		f.Calls += int(max(c.Weight, 1))
		if c.End() < first[k] || c.End() == first[k] && c.Ret < f.Ret {
			first[k], f.Ret, f.AfterNS = c.End(), c.Ret, after(c.End(), x.At)
		}
	}
	var list []report.FailedAfter
	for _, f := range by {
		if x.Fatal() || f.AfterNS <= soonFailed {
			list = append(list, *f)
		}
	}
	slices.SortFunc(list, func(a, b report.FailedAfter) int {
		return cmp.Or(cmp.Compare(a.AfterNS, b.AfterNS), cmp.Compare(a.PID, b.PID), cmp.Compare(a.Op, b.Op))
	})
	return list
}

// xidOf returns the error that a call in flight hangs after: the first error since the call began, or
// else the last fatal one before it; nil if there is none. A thread that waits for another thread's
// lock, a file or the network does not wait for a GPU.
func (gs *gpuReadings) xidOf(f *inFlightCall) *store.Xid {
	root := f.InFlight
	if n := len(f.chain); n > 0 {
		root = f.chain[n-1]
	}
	elsewhere := root.Doing == event.Blocked && root.Op.Role() != event.RoleSync && slices.Contains(
		[]event.Class{event.Futex, event.BlockIO, event.Fault, event.Network, event.Pipe}, root.Class)
	if f.cycle || elsewhere {
		return nil
	}
	var before *store.Xid
	for i := range gs.xids {
		x := &gs.xids[i]
		switch {
		case x.At > f.At+xidLead || !gs.mayUse(root.PID, x.GPU):
		case x.At+xidLead >= root.Start:
			return x
		case x.Fatal():
			before = x
		}
	}
	return before
}

// describeXid names the error that a hang came with.
func (gs *gpuReadings) describeXid(f *inFlightCall, c *report.Chain) {
	x := gs.xidOf(f)
	if x == nil {
		return
	}
	when := span(after(x.At, f.Start)) + " after the call began"
	if x.At < f.Start {
		when = span(f.Start-x.At) + " before the call began"
	}
	gpu := "a GPU"
	fix := "end the process, which cannot go on with that GPU, and see what NVIDIA says of the error: " +
		"https://docs.nvidia.com/deploy/xid-errors"
	if x.GPU >= 0 {
		gpu = fmt.Sprintf("GPU %d", x.GPU)
		fix += fmt.Sprintf("; before new work goes there, reset it (nvidia-smi --gpu-reset -i %d) or reboot; if it comes "+
			"again, have the GPU examined", x.GPU)
	}
	c.Summary += fmt.Sprintf("; %s %s", x, when)
	c.Path = append(c.Path, report.Step{
		Layer: "HOST", Process: gpu, State: "failed",
		On: fmt.Sprintf("Xid %d %s", x.Code, x.Name()), NS: after(f.At, x.At),
	})
	c.Recommendations = append([]string{fix}, c.Recommendations...)
}

// memoryUsed says how much of a GPU's memory was in use when a process's allocation failed, and
// which other process had most of it; empty if that was not read.
func (ev *evidence) memoryUsed(pid uint32, at uint64) string {
	g := ev.gpus.reading(pid, event.NoGPU, at)
	if g == nil || g.TotalMB == 0 || !g.Known(store.GPUMem) {
		return ""
	}
	const mib = 1 << 20
	used := fmt.Sprintf("GPU %d had %s of %s in use", g.GPU, report.Bytes(g.MemMB*mib), report.Bytes(g.TotalMB*mib))
	last := map[uint32]*store.GPUProcess{}
	for i := range ev.in.GPUMemory {
		if m := &ev.in.GPUMemory[i]; m.GPU == g.GPU && m.At <= at && (last[m.PID] == nil || last[m.PID].At < m.At) {
			last[m.PID] = m
		}
	}
	delete(last, pid)
	var most *store.GPUProcess
	for _, m := range last {
		if m.Bytes > 0 && (most == nil || m.Bytes > most.Bytes || m.Bytes == most.Bytes && m.PID < most.PID) {
			most = m
		}
	}
	if most != nil {
		used += fmt.Sprintf(", %s of it by %s (pid %d)", report.Bytes(most.Bytes), ev.procs.name(most.PID, ""), most.PID)
	}
	return used
}
