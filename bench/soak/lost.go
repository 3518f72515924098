package soak

import "slices"

// second is what the steady program counted in a second of the machine's clock.
type second struct {
	unix     int64
	steps    int64
	calls    int64
	excessNS int64 // its steps beyond the fastest one, and how much too late they began
}

// span is a time, in Unix seconds, in which the recording may lack rows, because something was done to it.
type span struct {
	from, to float64
	why      string
}

func excused(spans []span, unix int64) bool {
	return slices.ContainsFunc(spans, func(s span) bool { return float64(unix+1) > s.from && float64(unix) < s.to })
}

// recorded is what a recording has of the steady program, by Unix second.
type recorded struct {
	calls  map[int64]int64
	losses map[int64]int64 // of records, of any process
}

// lost is the comparison of the two.
type lost struct {
	judged, excused int     // seconds
	seconds         []int64 // without a row, though the program made calls and no loss is stated
	missing         int64   // calls that are neither recorded nor a stated loss
	surplus         int64   // calls that are recorded and were not made
}

// edgeSteps is how many steps' calls may be in the second before or after where seconds that are judged begin or end:
// the program reads its clock before a call, and the tracer within.
const edgeSteps = 2

// compareSeconds judges the seconds that are not excused. The first and last second are not whole.
func compareSeconds(truth []second, r recorded, spans []span) lost {
	var l lost
	var run []second
	flush := func() {
		l.judge(run, r)
		run = nil
	}
	for i, s := range merged(truth) {
		switch {
		case i == 0 || excused(spans, s.unix):
			l.excused++
			flush()
			continue
		case len(run) > 0 && run[len(run)-1].unix != s.unix-1:
			flush()
		}
		run = append(run, s)
	}
	if len(run) > 0 {
		run = run[:len(run)-1]
	}
	flush()
	return l
}

// judge compares seconds that follow each other.
func (l *lost) judge(run []second, r recorded) {
	var made, steps, has, stated int64
	for _, s := range run {
		l.judged++
		made, steps, has = made+s.calls, steps+s.steps, has+r.calls[s.unix]
		stated += r.losses[s.unix]
		near := r.losses[s.unix-1] + r.losses[s.unix] + r.losses[s.unix+1]
		if s.calls > 0 && r.calls[s.unix] == 0 && near < s.calls {
			l.seconds = append(l.seconds, s.unix)
		}
	}
	if steps == 0 {
		return
	}
	stated += r.losses[run[0].unix-1] + r.losses[run[len(run)-1].unix+1]
	edge := edgeSteps * made / steps
	l.missing += max(0, made-has-stated-edge)
	l.surplus += max(0, has-made-edge)
}

// merged adds up seconds that the clock had twice, and sorts them.
func merged(truth []second) []second {
	by := map[int64]*second{}
	for _, s := range truth {
		if by[s.unix] == nil {
			by[s.unix] = &second{unix: s.unix}
		}
		m := by[s.unix]
		m.steps, m.calls, m.excessNS = m.steps+s.steps, m.calls+s.calls, m.excessNS+s.excessNS
	}
	all := make([]second, 0, len(by))
	for _, s := range by {
		all = append(all, *s)
	}
	slices.SortFunc(all, func(a, b second) int { return int(a.unix - b.unix) })
	return all
}
