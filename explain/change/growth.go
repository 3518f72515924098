package change

import (
	"math"
	"slices"
	"time"

	"github.com/ingero-io/ingero/event/stats"
	"github.com/ingero-io/ingero/explain/report"
)

// Which growth of memory is reported. Programs fill caches and load in their first seconds, and memory that is freed
// now and then goes up and down: neither is a straight line up to the end.
const (
	growthLasts = 30 * time.Second
	growthLeast = 64 << 20 // bytes
	growthSteps = 240      // greatest number of examined steps
)

// Held is how much memory a process has from a time on.
type Held struct {
	At    uint64 // Unix ns
	Bytes uint64
}

// Growth finds out since when memory grows, up to the time to. The readings are by time; each holds until the next.
// what names the memory. It returns false if memory does not grow.
func Growth(process string, pid uint32, what string, readings []Held, to uint64) (report.Change, bool) {
	var c report.Change
	if len(readings) == 0 || to < readings[0].At+uint64(growthLasts) {
		return c, false
	}
	from := readings[0].At
	width := max(uint64(time.Second), (to-from)/growthSteps)
	bytes := everyStep(readings, to, width)
	usual := stats.Middle(bytes)
	if usual == 0 {
		return c, false
	}
	shares := make([]float64, len(bytes))
	for i, b := range bytes {
		shares[i] = b / usual
	}
	least := max(2, int((minSeconds*uint64(time.Second)+width-1)/width))
	d, ok := stats.FindDrift(shares, least, noise)
	n := float64(len(bytes) - 1 - d.From) // steps
	level, end := d.Level*usual, d.Level*usual+d.Slope*usual*n
	if !ok || n*float64(width) < float64(growthLasts) || end-level < growthLeast || end < minRatio*level {
		return c, false
	}
	c = report.Change{
		Kind: report.ChangeMemory, AtNS: from + uint64(d.From)*width, Process: process, PID: pid, TID: pid,
		Parts: []report.ChangePart{}, Of: what,
		Memory: &report.Growth{
			BeforeBytes: uint64(math.Max(0, level)), AfterBytes: uint64(end),
			PerMinuteBytes: uint64(d.Slope * usual * float64(time.Minute) / float64(width)),
		},
	}
	c.Summary = c.Sentence()
	return c, true
}

// everyStep returns the memory held in each step of width ns.
func everyStep(readings []Held, to, width uint64) (bytes []float64) {
	for at := readings[0].At; at <= to; at += width {
		i, found := slices.BinarySearchFunc(readings, at, func(h Held, at uint64) int {
			switch {
			case h.At < at:
				return -1
			case h.At > at:
				return 1
			}
			return 0
		})
		if !found {
			i--
		}
		bytes = append(bytes, float64(readings[i].Bytes))
	}
	return bytes
}
