package diagnose_test

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ingero-io/ingero/explain/report"
)

// TestAReportOfOneFindingFitsATerminal: 24 lines of 80 columns.
func TestAReportOfOneFindingFitsATerminal(t *testing.T) {
	t.Parallel()
	one := 0
	for _, path := range cases(t) {
		_, r := diagnosed(t, path)
		if len(r.Chains) != 1 || len(r.NotExplained)+len(r.InFlight)+len(r.GPUErrors)+len(r.Ended)+len(r.Idle) > 0 {
			continue
		}
		one++
		var brief, full bytes.Buffer
		for _, o := range []struct {
			to    *bytes.Buffer
			brief bool
		}{{&brief, true}, {&full, false}} {
			if err := report.WriteText(o.to, r, report.TextOptions{Brief: o.brief}); err != nil {
				t.Fatal(err)
			}
		}
		lines := strings.Split(strings.TrimSuffix(brief.String(), "\n"), "\n")
		if len(lines) > 24 {
			t.Errorf("%s: %d lines:\n%s", filepath.Base(path), len(lines), &brief)
		}
		c := &r.Chains[0]
		if said := strings.Join(strings.Fields(brief.String()), " "); !strings.Contains(said, c.Summary) ||
			!strings.Contains(said, c.Cause.Kind) {
			t.Errorf("%s: the summary or the cause is missing:\n%s", filepath.Base(path), &brief)
		}
		if brief.Len() < full.Len() && !strings.Contains(lines[len(lines)-1], "--verbose") && len(c.Stack) > 1 {
			t.Errorf("%s: it does not say that there is more:\n%s", filepath.Base(path), &brief)
		}
	}
	if one < 50 {
		t.Errorf("only %d cases have one finding", one)
	}
}
