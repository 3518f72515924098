package compare

import (
	"fmt"
	"math"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/difference"
	"github.com/ingero-io/ingero/explain/report"
)

// Part is a part of the difference between the durations of two units. What decides which of the other fields apply.
type Part struct {
	// What is "calls": more or fewer calls of Op; "time in calls": each call of Op took more or less
	// time, of Class; or "between calls": more or less time of Class between calls.
	What  string  `json:"what"`
	Op    string  `json:"op,omitempty"`
	Class string  `json:"class,omitempty"`
	A     float64 `json:"a"` // calls per unit; or ns per call, or per unit
	B     float64 `json:"b"`
	NS    int64   `json:"ns"` // its part of the difference
	Text  string  `json:"text"`
	// Code is what ran between calls on the side that was longer there, for time on a CPU.
	Code *report.Code `json:"code,omitempty"`
}

// The parts to list: at most so many, and none below this share of the difference.
const (
	maxParts  = 8
	leastPart = 0.02
)

// listed returns the parts to list, and the sum of the others, ns. A part far below the noise is not listed.
func listed(parts []difference.Part, whole int64, noise float64) (list []Part, rest int64) {
	list = []Part{}
	rest = whole
	least := math.Max(leastPart*math.Abs(float64(whole)), noise/4)
	for i := range parts {
		p := &parts[i]
		if len(list) == maxParts || math.Abs(p.NS) < least {
			break
		}
		list = append(list, partOf(p))
		rest -= list[len(list)-1].NS
	}
	return list, rest
}

// nameCode says of time on a CPU between calls which code ran in it, on the side where it is longer.
func nameCode(parts []Part, a, b *report.Code) {
	for i := range parts {
		p := &parts[i]
		if p.What != string(difference.BetweenCalls) || p.Class != event.OnCPU.String() {
			continue
		}
		side := "B"
		if p.Code = b; p.NS < 0 {
			side, p.Code = "A", a
		}
		if p.Code != nil {
			p.Text += fmt.Sprintf(" (in %s %s)", side, p.Code.Words())
		}
	}
}

func partOf(p *difference.Part) Part {
	out := Part{What: string(p.What), A: p.A, B: p.B, NS: int64(math.Round(p.NS)), Text: p.Words()}
	if p.Op != 0 {
		out.Op = p.Op.String()
	}
	if p.What != difference.Calls {
		out.Class = p.Class.String()
	}
	return out
}
