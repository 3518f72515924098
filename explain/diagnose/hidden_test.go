package diagnose_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/diagnose"
	"github.com/ingero-io/ingero/explain/diagnose/diagnosetest"
)

// A long recording has few of the usual waits one by one, but a row for each delay. The sums of the
// waits in each second show whether the GPU was busy.
func TestDelaysBeforeUnlistedWaitsAreHidden(t *testing.T) {
	for name, want := range map[string]string{
		"control_hidden_delays":      "nothing wrong",
		"cpu_contention_before_work": "runnable while worker",
	} {
		in := diagnosetest.InputOf(read(t, "testdata/"+name+".txtar"))
		span := in.Spans[0]
		in.Spans = [][]event.CallTime{span[:len(span)/5]}
		listed := span[len(span)/5].Start
		in.Calls = slices.DeleteFunc(in.Calls, func(c event.Call) bool {
			return c.Op.Role() == event.RoleSync && c.Start > listed
		})
		if got := diagnose.Diagnose(in).Verdict; !strings.Contains(got, want) {
			t.Errorf("%s: %s; want %q", name, got, want)
		}
	}
}
