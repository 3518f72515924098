package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/ingero-io/ingero/event"
)

// Plural returns "1 call", "2 calls".
func Plural(n uint64, one string) string {
	switch stem, ok := strings.CutSuffix(one, "y"); {
	case n == 1:
		return "1 " + one
	case ok:
		return Count(n) + " " + stem + "ies"
	case strings.HasSuffix(one, "s"):
		return Count(n) + " " + one + "es"
	}
	return Count(n) + " " + one + "s"
}

// Rate returns a number of something in a second.
func Rate(perSecond float64) string {
	if perSecond < 9.95 {
		return fmt.Sprintf("%.1f", perSecond)
	}
	return Count(uint64(perSecond + 0.5))
}

// Elapsed formats a time as 01:05 or 1:00:00.
func Elapsed(d time.Duration) string {
	s := int(d.Seconds())
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%02d:%02d", s/60, s%60)
}

// Losses lists what was dropped, the worst first: missing data before less exact data.
func Losses(losses []event.Loss) string {
	var missing, approximate []string
	for _, l := range losses {
		if l.Count == 0 || l.Kind >= event.NumLossKinds {
			continue
		}
		info := event.Losses[l.Kind]
		if l.Kind == event.InnerCalls || l.Kind == event.FootprintOver {
			continue // no record was dropped: the calls around them have the time; the footprint says when it ended
		}
		text := Count(l.Count) + " " + info.Name
		if info.Unit == "milliseconds" {
			text = Count(l.Count) + " ms " + info.Name
		}
		if info.Approximate {
			approximate = append(approximate, text)
		} else {
			missing = append(missing, text)
		}
	}
	text := "nothing dropped"
	if len(missing) > 0 {
		text = "DROPPED: " + strings.Join(missing, ", ")
	}
	if len(approximate) > 0 {
		text += ", estimated: " + strings.Join(approximate, ", ")
	}
	return text
}

// Flight describes a call that has not returned, in one line. now is Unix ns; where is the place in
// the program's own code that called it, empty if unknown.
func Flight(f *event.InFlight, now uint64, where string) string {
	age := f.Age()
	if f.End == 0 && now > f.Start {
		age = now - f.Start
	}
	line := fmt.Sprintf("in flight: %s (tid %d) in %s for %s, %s", OneLine(f.Comm), f.TID, f.Op, Duration(age),
		OneLine(f.Waits()))
	if where != "" {
		line += ", called at " + OneLine(where)
	}
	return line
}

// OutOfMemory describes a process that the kernel killed for lack of memory.
func OutOfMemory(l *event.Life) string {
	name := l.Comm
	if name == "" {
		name = "process"
	}
	return OneLine(fmt.Sprintf("[OUT OF MEMORY] the kernel ended %s (%d)", name, l.PID))
}
