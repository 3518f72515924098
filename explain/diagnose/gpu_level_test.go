package diagnose_test

import (
	"strings"
	"testing"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/diagnose"
	"github.com/ingero-io/ingero/explain/diagnose/diagnosetest"
)

// Waits for more launches are longer and lose nothing, even if hardly any call was recorded one by
// one, so that only the sums of each second show how many launches a wait was for.
func TestWaitsForMoreLaunchesAreNoLoss(t *testing.T) {
	in := diagnosetest.InputOf(read(t, "testdata/control_more_work.txtar"))
	span := in.Spans[0]
	in.Spans = [][]event.CallTime{span[:len(span)/20]}
	if got := diagnose.Diagnose(in).Verdict; !strings.Contains(got, "nothing wrong") {
		t.Error(got)
	}
}
