package peers

import (
	"testing"
	"time"

	"github.com/ingero-io/ingero/cluster/node"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
)

// The others' wait for a rank names what the rank waited for, but not how it waited.
func TestTheCulpritOfASlowRank(t *testing.T) {
	const pid = 70
	now := time.Unix(1_700_000_000, 0)
	for on, want := range map[string]string{
		"sleep": "", "run queue": "", "runq": "", "on CPU": "", "nvme0n1": "nvme0n1", "cudaMemcpy": "cudaMemcpy",
	} {
		l := liveCauses{at: now, last: &report.Report{Chains: []report.Chain{{
			ID: "c1", Cause: report.Cause{Kind: event.CauseCollectiveWait, PID: pid},
			Path: []report.Step{{PID: 80, On: "ncclAllReduce"}, {PID: pid, On: on}},
		}}}}
		c := l.causeOf(pid, &node.Cause{Class: node.GPU, Second: node.GPU, PerStep: 0.02, Explained: 90}, now)
		if c == nil || c.Kind != event.CauseGPUWait || c.Culprit != want || len(c.Evidence) != 1 {
			t.Errorf("%q: %+v, want the culprit %q", on, c, want)
		}
	}
}
