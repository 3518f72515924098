package compare

import (
	"math"

	"github.com/ingero-io/ingero/explain/difference"
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
