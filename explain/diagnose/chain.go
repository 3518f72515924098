package diagnose

import (
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
)

// newChain begins the chain of a finding with what each one has. key is the same whenever the same is found. As far as
// records were not dropped all of it is explained, no time is lost, and the cause is in the thread that has the effect:
// who knows better sets these. The chain's owners are known when it has its path.
func (ev *evidence) newChain(kind, key string, severity event.Severity, e report.Effect) report.Chain {
	return report.Chain{
		ID: chainID(kind, key), Severity: severity, ExplainedPct: round(100 * (1 - ev.missing)), Effect: e,
		Cause:    report.Cause{Kind: kind, Process: e.Process, PID: e.PID, TID: e.TID, Thread: e.Thread},
		Evidence: report.Evidence{EventIDs: []string{}}, Stack: []string{},
	}
}

func chainID(kind, key string) string {
	h := fnv.New64a()
	h.Write([]byte(key))
	return fmt.Sprintf("%s-%012x", strings.ReplaceAll(kind, "_", "-"), h.Sum64()>>16)
}
