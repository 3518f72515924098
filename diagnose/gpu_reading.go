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

// maxAge is how far from a reading its values are believed: the time between two
// readings (host/nvsmi).
const maxAge = 5 * time.Second

// readGPUs indexes the readings, the series, and which GPU each process uses: the
// first, if it has not said. Processes renumber GPUs (CUDA_VISIBLE_DEVICES), which
// is not seen; a single GPU is the one in any case.
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
}

// readings are those of the GPU that a process's call is for, by time.
func (s *scene) readings(pid uint32, gpu int8) []store.GPUSnapshot {
	if len(s.gpus) == 1 {
		for _, list := range s.gpus {
			return list
		}
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

// busyMeanwhile says, of a cause on the host, that nvidia-smi showed a busy GPU
// while the time was lost, if it did: people conclude from it that the GPU was the
// limit. Without readings of that time it says nothing.
func (s *scene) busyMeanwhile(f *finding) string {
	if len(s.in.GPUs) == 0 || slices.Contains(onDevice, f.kind) {
		return ""
	}
	var sum, weight float64
	for _, p := range f.pieces {
		util, ok := s.utilisation(f.sub, &p)
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
		if g == nil {
			return 0, false
		}
		return float64(g.UtilPct), true
	}
	var sum, n float64
	for _, g := range s.readings(t.PID, gpu) {
		if g.At >= t.from && g.At < t.to {
			sum += float64(g.UtilPct)
			n++
		}
	}
	return sum / max(n, 1), n > 0
}
