package main

import (
	"testing"
	"time"

	"github.com/ingero-io/ingero/explain/report"
)

func TestAFindingIsPrintedAgainOnlyAfterItWasGone(t *testing.T) {
	var f findings
	now := time.Unix(100, 0)
	r := &report.Report{Chains: []report.Chain{{ID: "a"}, {ID: "b"}}}
	if n := len(f.fresh(r, now)); n != 2 {
		t.Errorf("%d fresh findings at first, want 2", n)
	}
	for range 3 {
		now = now.Add(50 * time.Second)
		if l := f.fresh(&report.Report{Chains: r.Chains[:1]}, now); len(l) != 0 {
			t.Errorf("printed again: %v", l)
		}
	}
	if l := f.fresh(r, now); len(l) != 1 || l[0].ID != "b" {
		t.Errorf("fresh after a while: %v, want the one that was gone", l)
	}
}
