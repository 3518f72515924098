package mcptool

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ingero-io/ingero/explain/report"
)

// TestRecordedChainsThatAreLeftOutAreCounted: a list that ends silently is taken for all.
func TestRecordedChainsThatAreLeftOutAreCounted(t *testing.T) {
	r := &report.Report{}
	for i := range 7 {
		r.StoredChains = append(r.StoredChains,
			report.StoredChain{ID: fmt.Sprint(i), Op: fmt.Sprint("op", i), Severity: "HIGH", Summary: "slow"})
	}
	var out chainsOut
	out.rest(r)
	if n := len(out.Recorded); n != maxRecorded+1 || !strings.HasPrefix(string(out.Recorded[n-1]), "3 more kinds") {
		t.Errorf("%d lines: %q", n, out.Recorded)
	}
}
