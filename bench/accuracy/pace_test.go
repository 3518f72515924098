package accuracy

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/ingero-io/ingero/internal/cudastub"
)

// paced is a run whose steps take before ms, and since ms from the 60th on. Each step waited waited
// ms for its batch.
func paced(before, since, waited int64) *pace {
	p := &pace{after: 60}
	var now int64
	for i := range int64(120) {
		took := before
		if i >= 60 {
			took = since
		}
		now += took * 1e6
		p.ends = append(p.ends, now)
		p.waits = append(p.waits, waited*1e6)
	}
	return p
}

func TestCostOfAFault(t *testing.T) {
	tests := []struct {
		name    string
		pace    *pace
		control bool
		cost    float64
		judged  bool
	}{
		{"a fifth", paced(80, 100, 0), false, 0.2, true},
		{"too little", paced(98, 100, 0), false, 0.02, false},
		{"nothing, as a control", paced(100, 100, 0), true, 0, true},
		{"waits for data without the fault", paced(80, 100, 8), false, 0.2, false},
		{"a control that waits for data", paced(100, 100, 10), true, 0, false},
		{"a control that hardly does", paced(100, 100, 2), true, 0, true},
	}
	for _, tt := range tests {
		if cost, _ := tt.pace.cost(); math.Abs(cost-tt.cost) > 1e-9 {
			t.Errorf("%s: costs %g, want %g", tt.name, cost, tt.cost)
		}
		if why := tt.pace.notJudged(tt.control); (why == "") != tt.judged {
			t.Errorf("%s: not judged: %q", tt.name, why)
		}
	}
}

func TestAFaultFromOutsideBeginsAtItsTime(t *testing.T) {
	p := paced(80, 100, 0)
	p.after = 120 // no fault of its own
	if cost, _ := p.cost(); cost != 0 {
		t.Errorf("costs %g before it began", cost)
	}
	p.since = p.ends[59]
	if cost, _ := p.cost(); math.Abs(cost-0.2) > 0.01 {
		t.Errorf("costs %g, want 0.2", cost)
	}
}

func TestOutputOfFaultyIsParsed(t *testing.T) {
	end, err := json.Marshal(map[string]any{
		"what": "end", "pid": 7, "steps": 3, "after": 2, "ends": []int{10, 20, 40}, "waits": []int{1, 1, 2}, "fault": "item",
	})
	if err != nil {
		t.Fatal(err)
	}
	fault := `{"what":"fault","begin":5,"end":9,"pid":7,"tid":8}` + "\n"
	var p pace
	var truth cudastub.Truth
	if err := p.parseTorch([]byte(fault+fault+string(end)+"\n"), &truth); err != nil {
		t.Fatal(err)
	}
	if truth.FaultCount != 2 || truth.InjectedNS != 8 || truth.CulpritTID != 8 || truth.PID != 7 || truth.Steps != 3 {
		t.Errorf("the truth is %+v", truth)
	}
	if len(p.ends) != 3 || p.after != 2 || p.waits[2] != 2 {
		t.Errorf("the pace is %+v", p)
	}
	if err := p.parseTorch([]byte(fault), &truth); err == nil {
		t.Error("a program that did not come to its end has no error")
	}
}
