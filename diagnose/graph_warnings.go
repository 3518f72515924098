package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/report"
)

// Errors of CUDA that say that a capture met what it does not allow
// (driver_types.h: cudaErrorStreamCaptureUnsupported to …WrongThread).
const (
	captureUnsupported = 900
	captureLast        = 908
)

// What stands out in how a process uses graphs.
const (
	minLeftGraphs = 100 // executable graphs made and not destroyed
	minRates      = 5   // seconds with launches in each half, for their rates to be compared
	minRate       = 10  // launches a second, below which rates say nothing
	fallenShare   = 0.5 // of the rate, that is left
)

// graphWarnings word it.
func (s *scene) graphWarnings(p *report.Process, by map[string]*report.Op) []string {
	var w []string
	if o := by["cudaStreamEndCapture"]; o != nil && o.Errors > 0 {
		w = append(w, fmt.Sprintf("%s of %s graph captures failed%s", report.Count(o.Errors), report.Count(o.Calls), s.spoiled(p.PID)))
	}
	if made := by["cudaGraphInstantiate"]; made != nil {
		gone := uint64(0)
		if o := by["cudaGraphExecDestroy"]; o != nil {
			gone = o.Calls - min(o.Errors, o.Calls)
		}
		ok := made.Calls - min(made.Errors, made.Calls)
		if ok > gone && ok-gone >= minLeftGraphs {
			w = append(w, fmt.Sprintf("graph pool grows: %s executable graphs made and not destroyed; each keeps device memory", report.Count(ok-gone)))
		}
	}
	if before, now := s.launchRates(p.PID); now < fallenShare*before {
		w = append(w, fmt.Sprintf("graph launches fell from %.0f to %.0f a second", before, now))
	}
	return w
}

// spoiled words which call a capture did not allow, and who made it: the first one
// that failed for that reason.
func (s *scene) spoiled(pid uint32) string {
	var first *event.Call
	for i := range s.in.Calls {
		c := &s.in.Calls[i]
		op := c.Op.String()
		if c.PID != pid || c.Ret < captureUnsupported || c.Ret > captureLast || op == "cudaStreamEndCapture" || op == "cudaStreamBeginCapture" {
			continue
		}
		if first == nil || c.Start < first.Start {
			first = c
		}
	}
	if first == nil {
		return ""
	}
	words := fmt.Sprintf(": %s is not allowed in one (error %d)", first.Op, first.Ret)
	st, ok := s.in.Stacks[first.Stack]
	if !ok {
		return words
	}
	i := slices.IndexFunc(st.Frames, func(f event.Frame) bool {
		return f.Kind == event.FrameNative && f.Module != "" && !strings.HasPrefix(f.Module, "libcuda.so") && !strings.HasPrefix(f.Module, "libcudart")
	})
	if i < 0 {
		return words
	}
	module := printable(st.Frames[i].Module)
	words += ", and " + module + " called it"
	makes := first.Op.Role() == event.RoleAlloc || first.Op.Role() == event.RoleLoad || first.Op.Role() == event.RoleOther
	if strings.HasPrefix(module, "lib") && makes {
		words += fmt.Sprintf(": if %s initialises itself at its first use, use it once before the capture", module)
	}
	return words
}

// launchRates are the medians of a process's graph launches a second, in the first
// and the second half of the time in which it launched any; zero if there are too few.
func (s *scene) launchRates(pid uint32) (before, now float64) {
	by := map[uint64]uint64{}
	step := max(s.in.SeriesStep, 1)
	for i := range s.in.Series {
		if o := &s.in.Series[i]; o.PID == pid && o.Op.String() == "cudaGraphLaunch" {
			by[o.Second] += o.Calls
		}
	}
	if len(by) < 2*minRates {
		return 0, 0
	}
	var seconds []uint64
	for at := range by {
		seconds = append(seconds, at)
	}
	slices.Sort(seconds)
	seconds = seconds[1 : len(seconds)-1] // not whole
	rate := func(part []uint64) float64 {
		if len(part) < minRates-1 {
			return 0
		}
		n := make([]uint64, len(part))
		for i, at := range part {
			n[i] = by[at]
		}
		slices.Sort(n)
		return float64(n[len(n)/2]) / float64(step)
	}
	half := len(seconds) / 2
	if before, now = rate(seconds[:half]), rate(seconds[half:]); before < minRate {
		return 0, 0
	}
	return before, now
}
