package diagnose

import (
	"context"
	"slices"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/report"
	"github.com/ingero-io/ingero/store"
)

// Explain diagnoses a window of a recording; prepare may adjust the input.
func Explain(ctx context.Context, r store.Reader, w store.Window, prepare func(*Input)) (*report.Report, error) {
	in, err := Load(ctx, r, w)
	if err != nil {
		return nil, err
	}
	prepare(in)
	return Diagnose(in), nil
}

// Only leaves only the given processes' calls to be explained, all if there are
// none. What the others did stays: they may be the cause.
func (in *Input) Only(pids []uint32) {
	if len(pids) == 0 {
		return
	}
	in.Ops = slices.DeleteFunc(in.Ops, func(o store.OpStat) bool { return !slices.Contains(pids, o.PID) })
	in.Calls = slices.DeleteFunc(in.Calls, func(c event.Call) bool { return !slices.Contains(pids, c.PID) })
	in.GapStats = slices.DeleteFunc(in.GapStats, func(g store.GapStat) bool { return !slices.Contains(pids, g.PID) })
	in.Gaps = slices.DeleteFunc(in.Gaps, func(g event.Gap) bool { return !slices.Contains(pids, g.PID) })
}
