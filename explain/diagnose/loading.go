package diagnose

import (
	"fmt"

	"github.com/ingero-io/ingero/explain/report"
)

// A process that starts reads its weights, code and data. That is the time from its first traced
// call to its first launch. In a long recording it is a small share, but users who wait for a
// server to start want to know the reason.

// WhileLoading is part of the summary of a finding about a process's start.
const WhileLoading = "while it loaded"

// loads reports whether an episode is before its process's first launch. That is not known if the
// recording began before the window, or if the process launches nothing.
func (ev *evidence) loads(a *account) bool {
	if ev.in.First != 0 && ev.from > ev.in.First && ev.procs.born[a.Thread.PID] == 0 {
		return false
	}
	return a.Start < ev.calls.firstLaunch[a.Thread.PID]
}

// describeLoading describes a finding about a process's start.
func (ev *evidence) describeLoading(f *finding, c *report.Chain) {
	how := ""
	switch ev.host.flavour(f.claims) {
	case flavours.mapped:
		how = ", in page faults of mapped files"
	case flavours.read:
		how = ", for what it read"
	case flavours.writeback:
		how = ", for what it wrote"
	}
	c.Summary = fmt.Sprintf("%s waited %s for the disk %s%s", f.process(ev), span(f.lost), WhileLoading, how)
	began, launched := ev.calls.firstUse[f.sub.PID], ev.calls.firstLaunch[f.sub.PID]
	took := span(launched - min(launched, began))
	c.Cause.Detail += "; from its first CUDA call to its first launch it took " + took
	c.Recommendations = []string{
		"have the files in the page cache before it starts (cat FILES >/dev/null), or on a faster disk",
		"read files in large pieces by several threads instead of page by page as they are touched: " +
			"without mmap, or with MADV_POPULATE_READ",
	}
}
