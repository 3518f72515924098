package live_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/tui/live"
)

func chains(ids ...string) *report.Report {
	r := &report.Report{}
	for _, id := range ids {
		c := report.Chain{ID: id, Severity: "LOW"}
		if id == "worst" {
			c.Severity = "HIGH"
		}
		r.Chains = append(r.Chains, c)
	}
	return r
}

func TestPastFindingsAreKept(t *testing.T) {
	var f live.Findings
	at := time.Unix(1000, 0)
	f.Add(chains("a", "b"), at)
	f.Add(chains("b", "worst"), at.Add(time.Second))
	list, last, when := f.List()
	if len(list) != 3 || len(last.Chains) != 2 || !when.Equal(at.Add(time.Second)) {
		t.Fatalf("%+v", list)
	}
	for i, want := range []struct {
		id    string
		times int
		now   bool
	}{{"worst", 1, true}, {"b", 2, true}, {"a", 1, false}} {
		if x := &list[i]; x.Chain.ID != want.id || x.Times != want.times || x.Now != want.now || x.Now &&
			!x.Last.Equal(when) {
			t.Errorf("%d: %+v, want %+v", i, x, want)
		}
	}
	if !list[1].First.Equal(at) {
		t.Errorf("b was first seen %s", list[1].First)
	}
}

func TestFindingsAreBounded(t *testing.T) {
	var f live.Findings
	for i := range 1000 {
		f.Add(chains(fmt.Sprint(i)), time.Unix(int64(i), 0))
	}
	list, _, _ := f.List()
	if len(list) != 100 || list[0].Chain.ID != "999" || !list[0].Now || list[99].Chain.ID != "900" {
		t.Errorf("%d findings, from %s to %s", len(list), list[0].Chain.ID, list[len(list)-1].Chain.ID)
	}
}
