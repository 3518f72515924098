package pattern

import "time"

// A loss that happens all the time, but mostly in a part of it, is reported as that part: what counts
// is how much was lost in each second, not in how many seconds something was.

const (
	maxFine    = 3600 // parts of a fine timeline
	denser     = 3.0  // times the loss per second outside of a burst
	grewBefore = 1.5  // times the loss of the first half of the time before, if that grows
)

// NewFine makes the empty timeline in which bursts are looked for, of a time from begin to end, Unix
// ns: by the second, or in parts that are a little shorter or longer.
func NewFine(begin, end uint64) Timeline {
	return make(Timeline, min(max(Parts, (end-min(begin, end))/uint64(time.Second)), maxFine))
}

// burst is the part of the time in which most was lost.
type burst struct {
	from, to uint64  // Unix ns
	pct      float64 // of the lost time
}

// burst finds the part of the time in which at least half was lost, at a rate several times as high as
// outside. It is false if there is none, or if it is nearly all of the time.
func (l *Loss) burst() (burst, bool) {
	line := l.Fine
	if len(line) == 0 {
		return burst{}, false
	}
	from, to := line.densest()
	in, all := line[from:to].sum(), line.sum()
	inside, outside := float64(to-from), float64(len(line)-to+from)
	switch {
	case in < half*all || inside > filled*float64(len(line)):
		return burst{}, false
	case in/inside < denser*(all-in)/outside:
		return burst{}, false
	case line.grows() && line[:from].sum() >= notable*all && line[from/2:from].sum() >= grewBefore*line[:from/2].sum():
		return burst{}, false // it grew before, too
	}
	at := func(i int) uint64 { return l.From + uint64(float64(i)*float64(l.To-l.From)/float64(len(line))) }
	return burst{from: at(from), to: at(to), pct: 100 * in / all}, true
}

func (t Timeline) sum() (s float64) {
	for _, v := range t {
		s += v
	}
	return s
}

// densest returns the run of parts with most loss above the mean of all parts.
func (t Timeline) densest() (from, to int) {
	mean := t.sum() / float64(len(t))
	var most, sum float64
	begin := 0
	for i, v := range t {
		if sum <= 0 {
			sum, begin = 0, i
		}
		if sum += v - mean; sum > most {
			most, from, to = sum, begin, i+1
		}
	}
	return from, to
}
