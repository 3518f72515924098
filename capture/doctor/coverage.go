package doctor

import (
	"os"
	"slices"

	"github.com/ingero-io/ingero/capture/probe/all"
	"github.com/ingero-io/ingero/capture/probe/coverage"
)

// Coverage lists the processes that use CUDA, and what of each would be traced.
func Coverage(o Options) (*coverage.Report, error) {
	got, err := open(o.Backend, true)
	reasons := Why(o)
	if err != nil && !slices.ContainsFunc(reasons, func(r coverage.Reason) bool { return r.What == Everything }) {
		reasons = append(reasons, coverage.Reason{Code: "not_loaded", What: Everything, Why: err.Error(), Next: remedy(err)})
	}
	return coverage.Examine(&coverage.Options{
		Proc: o.Proc, Libraries: all.Libraries(), Backend: string(got), Reasons: reasons, Self: os.Getpid(),
	})
}

// Why says why tracing does not work here, or not fully.
func Why(o Options) []coverage.Reason {
	o.defaults()
	return Reasons(ReadHardening(o.Proc, o.Sys), Try())
}
