package diagnose

import (
	"fmt"
	"time"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/diagnose/pattern"
)

// A running program is diagnosed from its last seconds (agent.Live), a recording as a whole. Both
// are judged here. A loss of a tenth of a window of the last seconds is HIGH; in an hour the same
// loss is nothing. So the worst such stretch of a recording counts, too: what was reported while
// the program ran is also reported afterwards.

// LiveWindow is how much of the end of a recording the live diagnosis looks at.
const LiveWindow = 5 * time.Second

const highPct = 10.0 // least share of the time for HIGH, percent

// reportable reports whether the finding is large and certain enough to be reported.
func (f *finding) reportable(ev *evidence) bool {
	if f.stall >= uint64(minStall) || f.loading && f.lost >= uint64(minStall) {
		return true
	}
	if f.lostPct() < f.leastPct(ev) && !f.concentrated(ev) || f.negligible(ev) {
		return false
	}
	return f.sample >= minSample || f.sample >= minRelated && f.related >= minSample
}

// A thread that lives for 50 ms, as one that tries algorithms at the start, soon loses a large share of
// its time. Less than this is negligible, whatever the share.
const (
	negligibleNS  = 50e6
	negligiblePct = 0.1 // of the window
)

func (f *finding) negligible(ev *evidence) bool {
	return f.lost < negligibleNS && percent(f.lost, ev.to-ev.from) < negligiblePct
}

// leastPct returns the least share of the thread's time for which a finding is reported, percent.
func (f *finding) leastPct(ev *evidence) float64 {
	if f.cause.leastPct != nil {
		return f.cause.leastPct(ev)
	}
	return minPct
}

// severity depends on the share of the thread's time and on the longest stall. While a program
// runs, a thread that has just begun soon has a large share: there the share is of at least a whole
// live window.
func (f *finding) severity(ev *evidence) event.Severity {
	pct := f.lostPct()
	high := pct >= highPct
	if ev.in.Live {
		high = percent(f.lost, max(f.sub.wall(), uint64(LiveWindow))) >= highPct
	}
	switch {
	case pct < f.cause.mildPct:
		return event.SeverityMedium
	case high || f.stall >= 1e9:
		return event.SeverityHigh
	case pct >= minPct || f.concentrated(ev):
		return event.SeverityMedium
	}
	return event.SeverityLow
}

// concentrated reports whether a live diagnosis would have found the cause HIGH: whether enough was
// lost to it in one live window. What is not explained is never HIGH.
func (f *finding) concentrated(ev *evidence) bool {
	if !f.explains(ev) {
		return false
	}
	lost, _ := f.stretch(ev)
	return percent(lost, uint64(LiveWindow)) >= highPct
}

// stretch returns the time lost in the live window that lost most, and when it began, Unix ns. It
// consists of whole seconds, one more than the live window has, because that may begin within a
// second.
func (l *loss) stretch(ev *evidence) (lost, from uint64) {
	const second = uint64(time.Second)
	if percent(l.lost, uint64(LiveWindow)) < highPct || ev.to <= ev.from {
		return l.lost, ev.from
	}
	line := make(pattern.Timeline, (ev.to-ev.from)/second+1)
	l.claims.fill(line, &ev.calls, ev.from, ev.from+uint64(len(line))*second)
	const seconds = int(LiveWindow/time.Second) + 1
	var sum, most float64
	for i, v := range line {
		sum += v
		if i >= seconds {
			sum -= line[i-seconds]
		}
		if sum > most {
			most, from = sum, ev.from+uint64(max(0, i-seconds+1))*second
		}
	}
	return uint64(most * float64(second)), from
}

// stretchWords says when most was lost, if the finding is reported only because of that stretch.
func (f *finding) stretchWords(ev *evidence) string {
	if f.lostPct() >= minPct || f.stall >= uint64(minStall) || !f.concentrated(ev) {
		return ""
	}
	lost, from := f.stretch(ev)
	seconds := int(LiveWindow/time.Second) + 1
	return fmt.Sprintf("; %s of it within %d seconds from %s on", span(min(lost, f.lost)), seconds, clockOf(from/1e9))
}
