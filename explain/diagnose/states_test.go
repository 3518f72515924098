package diagnose_test

import (
	"testing"

	"github.com/ingero-io/ingero/explain/diagnose"
	"github.com/ingero-io/ingero/explain/diagnose/diagnosetest"
)

// Whatever state a thread's lost time is in, no cause claims it that does not say so, and none of it is left over.
func TestCausesClaimOnlyTheStatesThatTheyDeclare(t *testing.T) {
	t.Parallel()
	for _, path := range cases(t) {
		if wrong := diagnose.Feed(diagnosetest.InputOf(read(t, path))); len(wrong) > 0 {
			t.Errorf("%s: %d times, first: %s", path, len(wrong), wrong[0])
		}
	}
}
