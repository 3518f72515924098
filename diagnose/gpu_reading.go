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

// maxAge is how far from a reading its values are believed. There is one each second
// (host/nvml), less where the driver was slow; older recordings have one in five.
const maxAge = 5 * time.Second

// readGPUs indexes the readings, the series, and which GPU each process uses: that of
// whose memory it has some, if the driver tells. Else what it says, or the first; but
// processes renumber GPUs (CUDA_VISIBLE_DEVICES), which is not seen. A single GPU is the
// one in any case.
func (s *scene) readGPUs() {
	s.series, s.gpus, s.chosen = map[threadOp][]store.OpSecond{}, map[int][]store.GPUSnapshot{}, map[uint32]int{}
	for _, o := range s.in.Series {
		k := threadOp{o.Thread, o.Op}
		s.series[k] = append(s.series[k], o)
	}
	for _, g := range s.in.GPUs {
		s.gpus[g.GPU] = append(s.gpus[g.GPU], g)
	}
	for _, list := range s.gpus {
		slices.SortFunc(list, func(a, b store.GPUSnapshot) int { return cmp.Compare(a.At, b.At) })
	}
	for i := range s.in.Calls {
		c := &s.in.Calls[i]
		s.chosen[c.PID] = max(s.chosen[c.PID], int(c.GPU))
	}
	s.holds = map[uint32][]int{}
	for _, m := range s.in.GPUMemory {
		if !slices.Contains(s.holds[m.PID], m.GPU) {
			s.holds[m.PID] = append(s.holds[m.PID], m.GPU)
		}
	}
	s.xids = slices.Clone(s.in.Xids)
	slices.SortFunc(s.xids, func(a, b store.Xid) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.GPU, b.GPU), cmp.Compare(a.Code, b.Code))
	})
}

// mayUse reports whether a process may use a GPU: it does if it has memory there, and
// does not if it has memory elsewhere only.
func (s *scene) mayUse(pid uint32, gpu int) bool {
	held := s.holds[pid]
	return len(held) == 0 || gpu < 0 || slices.Contains(held, gpu)
}

// readings are those of the GPU that a process's call is for, by time.
func (s *scene) readings(pid uint32, gpu int8) []store.GPUSnapshot {
	if len(s.gpus) == 1 {
		for _, list := range s.gpus {
			return list
		}
	}
	if held := s.holds[pid]; len(held) == 1 {
		return s.gpus[held[0]]
	}
	if gpu == event.NoGPU {
		return s.gpus[s.chosen[pid]]
	}
	return s.gpus[int(gpu)]
}

// reading is the one nearest to a moment of the GPU that a call is for, nil if
// none is near enough.
func (s *scene) reading(pid uint32, gpu int8, at uint64) *store.GPUSnapshot {
	list := s.readings(pid, gpu)
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

// highUtil is the utilisation in percent that people take for a busy GPU.
const highUtil = 80

// onDevice are the causes that lie on the GPU, or whose loss is no idle GPU.
var onDevice = []string{GPUWait, GPUContention, ThermalThrottle, Unknown}

// busyMeanwhile says, of a cause on the host, that the readings showed a busy GPU
// while the time was lost, if it did: people conclude from it that the GPU was the
// limit. Without readings of that time it says nothing.
func (s *scene) busyMeanwhile(f *finding) string {
	if len(s.in.GPUs) == 0 || slices.Contains(onDevice, f.kind) {
		return ""
	}
	var sum, weight float64
	for _, p := range f.pieces {
		util, ok := s.utilisation(f.sub, p)
		if ok {
			sum += float64(p.lost) * util
			weight += float64(p.lost)
		}
	}
	if weight < half*float64(f.lost) || sum < highUtil*weight {
		return ""
	}
	return fmt.Sprintf("GPU utilisation read %.0f %% meanwhile: it counts time with any kernel resident, not work done", sum/weight)
}

// utilisation is what was read in percent while a piece's time was lost: for one
// that is spread over the thread's time, the mean.
func (s *scene) utilisation(t *subject, p *piece) (pct float64, ok bool) {
	gpu := int8(event.NoGPU)
	if p.acc.Call != nil {
		gpu = p.acc.Call.GPU
	}
	if !p.standing {
		g := s.reading(t.PID, gpu, p.acc.Start)
		if g == nil || !g.Known(store.GPUUtil) {
			return 0, false
		}
		return float64(g.UtilPct), true
	}
	var sum, n float64
	for _, g := range s.readings(t.PID, gpu) {
		if g.At >= t.from && g.At < t.to && g.Known(store.GPUUtil) {
			sum += float64(g.UtilPct)
			n++
		}
	}
	return sum / max(n, 1), n > 0
}
