package diagnose

import (
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

type processFunc struct {
	pid uint32
	fn  uint64
}

func (s *scene) readKernels() {
	s.kernels = map[processFunc]string{}
	for i := range s.in.Kernels {
		k := &s.in.Kernels[i]
		s.kernels[processFunc{k.PID, k.Func}] = k.Name
	}
}

// kernelOf is what the kernel is called that a call launches, empty if it launches
// none or nobody knows.
func (s *scene) kernelOf(c *event.Call) string {
	if c == nil || !c.Op.LaunchesKernel() {
		return ""
	}
	return printable(s.kernels[processFunc{c.PID, c.Args[0]}])
}

// kernel is the kernel whose launches lost most of the finding's time in calls,
// empty if none stands out.
func (f *finding) kernel(s *scene) string {
	by := map[string]uint64{}
	var all uint64
	for _, p := range f.pieces {
		if c := p.acc.Call; c != nil && p.lost >= uint64(store.SlowExcess) {
			by[s.kernelOf(c)] += p.lost
			all += p.lost
		}
	}
	for name, lost := range by {
		if name != "" && lost > all/2 {
			return name
		}
	}
	return ""
}
