package agent

import (
	"math"
	"testing"
	"time"
)

// TestTheCPUTimeOfTheLiveDiagnosisIsLimited: it may use some at the start, a small share in
// the long run, and more if it is urgent.
func TestTheCPUTimeOfTheLiveDiagnosisIsLimited(t *testing.T) {
	const took = 90 * time.Millisecond
	run := func(urgent bool) (first, all int) {
		var a allowance
		at := time.Unix(1000, 0)
		for s := range 1000 {
			if a.may(at, urgent) {
				a.left -= took
				all++
				if s < 10 {
					first++
				}
			}
			at = at.Add(time.Second)
		}
		return first, all
	}
	usual, most := 0, int(math.Ceil(liveShare*1000*float64(time.Second)/float64(took)))+int(liveCredit/took)+1
	for _, urgent := range []bool{false, true} {
		first, all := run(urgent)
		if first < 4 {
			t.Errorf("urgent %v: %d diagnoses in the first ten seconds", urgent, first)
		}
		if all > most || all < most-3 {
			t.Errorf("urgent %v: %d diagnoses of %v in 1000 s, want at most %d", urgent, all, took, most)
		}
		if !urgent {
			usual = all
		} else if all <= usual {
			t.Errorf("%d urgent diagnoses, not more than the %d usual ones", all, usual)
		}
	}
	// What is urgent does not wait for what was used before.
	var a allowance
	at := time.Unix(1000, 0)
	for a.may(at, false) {
		a.left -= took
	}
	if !a.may(at, true) {
		t.Error("nothing is left for what is urgent")
	}
}
