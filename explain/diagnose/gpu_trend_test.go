package diagnose_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/diagnose"
	"github.com/ingero-io/ingero/explain/diagnose/diagnosetest"
	"github.com/ingero-io/ingero/store/eventtext"
)

// waits returns a recording in which the thread waits for the device. Each value of us is the length of
// the waits, in us, for about one second.
func waits(t *testing.T, us ...int) *eventtext.Recording {
	t.Helper()
	var b strings.Builder
	b.WriteString("process engine pid=100 parent=1 cgroup=/jobs/train traced\nthread main pid=100 tid=100 comm=engine " +
		"dispatch\n")
	for _, d := range us {
		fmt.Fprintf(&b, `repeat %d {
  repeat 5 {
    call . thread=main op=cudaLaunchKernel dur=4us..6us
    skip thread=main dur=1us
  }
  call . thread=main op=cudaStreamSynchronize dur=%dus..%dus sleep=%dus vol=1
  skip thread=main dur=100us
}
`, 1_000_000/(d+130), d-5, d+5, d-100)
	}
	r, err := eventtext.Parse(b.String())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestGrowingWaits(t *testing.T) {
	for name, tc := range map[string]struct {
		us    []int
		grows bool
	}{
		"from the start":        {[]int{1000, 1100, 1200, 1300, 1400, 1500, 1600, 1700}, true},
		"after a healthy while": {[]int{1000, 1001, 1005, 1020, 1150, 1250, 1400, 1550}, true},
		"at once":               {[]int{1000, 1001, 1002, 1003, 1500, 1501, 1502, 1503}, false},
		"and gets better":       {[]int{1000, 1200, 1400, 1600, 1600, 1400, 1200, 1000}, false},
		"a little":              {[]int{1000, 1010, 1020, 1030, 1040, 1050, 1060, 1070}, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := diagnose.Diagnose(diagnosetest.InputOf(waits(t, tc.us...)))
			found := false
			for _, c := range r.Chains {
				found = found || c.Cause.Kind == event.CauseGPUWait && strings.Contains(c.Summary, "which grew from")
			}
			if found != tc.grows {
				t.Errorf("growth reported: %v; %d chains", found, len(r.Chains))
			}
		})
	}
}
