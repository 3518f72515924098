package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// maxAge is how far from a reading its values are used. There is one each second
// (capture/host/nvml), fewer where the driver was slow; older recordings have one every five
// seconds.
const maxAge = 5 * time.Second

// readGPUs indexes the readings and the series, and finds the GPU of each process: the one on which it has memory, if
// the driver reports that. Otherwise it is the one that the process chose, or the first; but CUDA_VISIBLE_DEVICES
// renumbers GPUs, which is not recorded. On a machine with a single GPU it is that one.
func (ev *evidence) readGPUs() {
	ev.calls.series = map[threadOp][]store.OpSecond{}
	ev.gpus.byIndex, ev.gpus.chosen = map[int][]store.GPUSnapshot{}, map[uint32]int{}
	for _, o := range ev.in.Series {
		k := threadOp{o.Thread, o.Op}
		ev.calls.series[k] = append(ev.calls.series[k], o)
	}
	for _, g := range ev.in.GPUs {
		ev.gpus.byIndex[g.GPU] = append(ev.gpus.byIndex[g.GPU], g)
	}
	for _, list := range ev.gpus.byIndex {
		slices.SortFunc(list, func(a, b store.GPUSnapshot) int { return cmp.Compare(a.At, b.At) })
	}
	for i := range ev.in.Calls {
		c := &ev.in.Calls[i]
		ev.gpus.chosen[c.PID] = max(ev.gpus.chosen[c.PID], int(c.GPU))
	}
	ev.gpus.holds = map[uint32][]int{}
	for _, m := range ev.in.GPUMemory {
		if !slices.Contains(ev.gpus.holds[m.PID], m.GPU) {
			ev.gpus.holds[m.PID] = append(ev.gpus.holds[m.PID], m.GPU)
		}
	}
	ev.gpus.xids = slices.Clone(ev.in.Xids)
	slices.SortFunc(ev.gpus.xids, func(a, b store.Xid) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.GPU, b.GPU), cmp.Compare(a.Code, b.Code))
	})
}

// mayUse reports whether a process may use a GPU: yes if it has memory there, no if it has memory
// on other GPUs only.
func (gs *gpuReadings) mayUse(pid uint32, gpu int) bool {
	held := gs.holds[pid]
	return len(held) == 0 || gpu < 0 || slices.Contains(held, gpu)
}

// readings returns the readings of the GPU that a process's call is for, by time.
func (gs *gpuReadings) readings(pid uint32, gpu int8) []store.GPUSnapshot {
	if len(gs.byIndex) == 1 {
		for _, list := range gs.byIndex {
			return list
		}
	}
	if held := gs.holds[pid]; len(held) == 1 {
		return gs.byIndex[held[0]]
	}
	if gpu == event.NoGPU {
		return gs.byIndex[gs.chosen[pid]]
	}
	return gs.byIndex[int(gpu)]
}

// reading returns the reading of the call's GPU nearest to a time, nil if none is within maxAge.
func (gs *gpuReadings) reading(pid uint32, gpu int8, at uint64) *store.GPUSnapshot {
	list := gs.readings(pid, gpu)
	after := sort.Search(len(list), func(i int) bool { return list[i].At >= at })
	var best *store.GPUSnapshot
	nearest := uint64(maxAge)
	for i := max(0, after-1); i < min(len(list), after+1); i++ {
		if d := max(list[i].At, at) - min(list[i].At, at); d <= nearest {
			best, nearest = &list[i], d
		}
	}
	return best
}

// highUtil is the utilisation from which on people take a GPU for busy, percent.
const highUtil = 80

// busyMeanwhile says that the readings showed a busy GPU while time was lost to a cause on the
// host, if so. Users would conclude from the readings that the GPU was the limit. Without readings
// of that time it is empty.
func (gs *gpuReadings) busyMeanwhile(f *finding) string {
	if len(gs.in.GPUs) == 0 || f.cause.busyGPU {
		return ""
	}
	var sum, weight float64
	for _, cl := range f.claims {
		util, ok := gs.utilisation(f.sub, cl)
		if ok {
			sum += float64(cl.lost) * util
			weight += float64(cl.lost)
		}
	}
	if weight < half*float64(f.lost) || sum < highUtil*weight {
		return ""
	}
	return fmt.Sprintf("GPU utilisation read %.0f %% meanwhile: it counts time with any kernel resident, not work done",
		sum/weight)
}

// utilisation returns the GPU utilisation while a claim's time was lost, percent; for an aggregate claim
// the mean over the thread's time.
func (gs *gpuReadings) utilisation(t *subject, cl *claim) (pct float64, ok bool) {
	gpu := int8(event.NoGPU)
	if cl.acc.Call != nil {
		gpu = cl.acc.Call.GPU
	}
	if !cl.aggregate {
		g := gs.reading(t.PID, gpu, cl.acc.Start)
		if g == nil || !g.Known(store.GPUUtil) {
			return 0, false
		}
		return float64(g.UtilPct), true
	}
	var sum, n float64
	for _, g := range gs.readings(t.PID, gpu) {
		if g.At >= t.from && g.At < t.to && g.Known(store.GPUUtil) {
			sum += float64(g.UtilPct)
			n++
		}
	}
	return sum / max(n, 1), n > 0
}
